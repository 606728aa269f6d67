/* vector.h: an iovec that a route took over from a program, which one grant then stands for. */
#ifndef TRIO_VECTOR_H
#define TRIO_VECTOR_H

#include "port.h"

/* UIO_MAXIOV of Linux. */
#define SEGMENTS 1024

struct segment {
	uint64_t address, length;
};

/* So many need no pages; more of them lie in pages that the task keeps. */
#define FEW_SEGMENTS 8
#define SEGMENTS_PAGES (SEGMENTS * sizeof(struct segment) / PAGE)

struct vector {
	/* How many there are; the one that was looked for last, and the bytes before it. */
	uint32_t count, last;
	uint64_t before;
	/* `few` or `many`. */
	struct segment *segments, *many;
	struct segment few[FEW_SEGMENTS];
};

/* A grant's id says that it is one; the bits below are where in it the grant begins. */
#define VECTOR_BIT (1UL << 62)

static inline bool is_vector(uint64_t id)
{
	return id >> 62 == 1;
}

/* Where the byte at `offset` of the grant `id` is, and how many follow in its segment; length 0: beyond the end. */
struct segment vector_piece(struct vector *v, uint64_t id, uint64_t offset);

#endif
