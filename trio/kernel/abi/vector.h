/* vector.h: an iovec that a route took over from a program, which one grant then stands for. */
#ifndef TRIO_VECTOR_H
#define TRIO_VECTOR_H

#include "port.h"

/* UIO_MAXIOV of Linux. */
#define SEGMENTS 1024

struct segment {
	uint64_t address, length;
};

/* Lies in pages of its own that the task keeps. `ends[i]`: offset in the whole where segment i ends. */
struct vector {
	uint32_t count;
	uint32_t last;
	struct segment segments[SEGMENTS];
	uint64_t ends[SEGMENTS];
};
#define VECTOR_PAGES 8

struct piece {
	uint64_t address, length;
};

/* A grant's id says that it is one; the bits below are where in it the grant begins. */
#define VECTOR_BIT (1UL << 62)

static inline bool is_vector(uint64_t id)
{
	return id >> 62 == 1;
}

/* Where the byte at `offset` of the grant `id` is, and how many follow in its segment; length 0: beyond the end. */
struct piece vector_piece(struct vector *v, uint64_t id, uint64_t offset);

#endif
