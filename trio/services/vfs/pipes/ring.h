/* ring.h: a ring buffer in pages, for pipes and stream sockets. */
#ifndef TRIO_VFS_RING_H
#define TRIO_VFS_RING_H

#include "vfs_internal.h"

/* Pages are allocated at the first write to them and kept until the ring is freed. */
#define RING_PAGES 16
#define RING_PAGES_MOST 256
struct ring {
	/* RING_PAGES pointers in `few`, or a page of pointers. */
	char **pages;
	/* The size in bytes (a power of two of pages), the index of the first byte, the number of bytes. */
	uint32_t size, head, used;
	char *few[RING_PAGES];
};

void ring_begin(struct ring *g);
void ring_end(struct ring *g);
/* Sets the size, a power of two of pages up to RING_PAGES_MOST. Returns 0, -EBUSY if more bytes are in it, -ENOMEM. */
int64_t ring_resize(struct ring *g, uint32_t size);
static inline uint32_t ring_room(const struct ring *g)
{
	return g->size - g->used;
}
int64_t ring_put_pieces(struct ring *g, struct grant from, uint64_t offset, uint32_t n, bool whole);
long ring_look_pieces(const struct ring *g, struct grant to, uint64_t offset, uint32_t n);
/* Puts in `n` bytes of `from` from `offset` on, for which there is room. Returns how many: fewer if the source cannot
 * be read or memory is short, and -EFAULT or -ENOMEM in place of 0. `whole`: all or none. */
static inline int64_t ring_put(struct ring *g, struct grant from, uint64_t offset, uint32_t n, bool whole)
{
	uint32_t at = (g->head + g->used) & (g->size - 1);
	char *page = g->pages[at / PAGE];

	/* Most messages lie in one allocated page. */
	if (page == NULL || n > PAGE - at % PAGE)
		return ring_put_pieces(g, from, offset, n, whole);
	if (copy_in(page + at % PAGE, from, offset, n) != 0)
		return -EFAULT;
	g->used += n;
	return n;
}
/* Copies the first `n` bytes, which the ring has, to `to` at `offset` without removing them. Returns 0 or -EFAULT. */
static inline long ring_look(const struct ring *g, struct grant to, uint64_t offset, uint32_t n)
{
	if (n > PAGE - g->head % PAGE)
		return ring_look_pieces(g, to, offset, n);
	return copy_out(to, offset, g->pages[g->head / PAGE] + g->head % PAGE, n);
}
static inline void ring_drop(struct ring *g, uint32_t n)
{
	g->used -= n;
	/* An empty ring starts at 0 again, so that small messages stay in one page. */
	g->head = g->used == 0 ? 0 : (g->head + n) & (g->size - 1);
}

#endif
