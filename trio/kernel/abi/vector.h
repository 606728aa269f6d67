/* vector.h: an iovec that a route has read from a program, for which one grant stands. */
#ifndef TRIO_VECTOR_H
#define TRIO_VECTOR_H

#include "port.h"

/* UIO_MAXIOV of Linux. */
#define SEGMENTS 1024

struct segment {
	uint64_t address, length;
};

/* So many segments need no pages; more of them lie in pages that the task keeps. */
#define FEW_SEGMENTS 8
#define SEGMENTS_PAGES (SEGMENTS * sizeof(struct segment) / PAGE)

struct vector {
	/* How many segments there are; the one that was found last, and the bytes before it. */
	uint32_t count, last;
	uint64_t before;
	/* `segments` is `few` or `many`. */
	struct segment *segments, *many;
	struct segment few[FEW_SEGMENTS];
};

/* This bit of a grant's id says that it is a vector; the bits below are where in the vector the grant begins. */
#define VECTOR_BIT (1UL << 62)

static inline bool is_vector(uint64_t id)
{
	return id >> 62 == 1;
}

/* Finds the byte at `offset` of the grant `id`, and how many bytes follow in its segment; length 0: it is beyond the
 * end. */
struct segment vector_piece(struct vector *v, uint64_t id, uint64_t offset);

#endif
