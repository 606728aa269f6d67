/* ring.c: a ring of bytes in pages, for pipes and stream sockets. */
#include "io.h"

void ring_begin(struct ring *g)
{
	g->pages = g->few;
	g->size = RING_PAGES * PAGE;
}

static void pages_drop(char **pages, uint32_t size)
{
	for (uint32_t i = 0; i < size / PAGE; i++)
		if (pages[i] != NULL)
			pages_give(pages[i], 1);
}

void ring_end(struct ring *g)
{
	pages_drop(g->pages, g->size);
	if (g->pages != g->few)
		pages_give(g->pages, 1);
}

int64_t ring_resize(struct ring *g, uint32_t size)
{
	struct ring to = { .size = size };
	uint32_t left = g->used;

	if (left > size)
		return -EBUSY;
	to.pages = size / PAGE <= RING_PAGES ? to.few : pages_take(1);
	if (to.pages == NULL)
		return -ENOMEM;
	/* The bytes move to the new ring's beginning, a page or what is left of one at a time. */
	for (uint32_t done = 0; done < left;) {
		uint32_t n = MIN(left - done, (uint32_t)PAGE);
		char *page = pages_take(1);

		if (page == NULL || ring_look_pieces(g, done, grant_write(page, n), 0, n) != 0) {
			if (page != NULL)
				pages_give(page, 1);
			pages_drop(to.pages, size);
			if (to.pages != to.few)
				pages_give(to.pages, 1);
			return -ENOMEM;
		}
		to.pages[done / PAGE] = page;
		done += n;
	}

	/* committed */
	ring_end(g);
	memcpy(g->few, to.few, sizeof g->few);
	g->pages = to.pages == to.few ? g->few : to.pages;
	g->size = size;
	g->head = 0;
	return 0;
}

int64_t ring_put_pieces(struct ring *g, struct grant from, uint64_t offset, uint32_t n, bool whole)
{
	uint32_t done = 0;
	int64_t error = 0;

	while (done < n) {
		uint32_t at = (g->head + g->used + done) & (g->size - 1);
		uint32_t part = MIN(n - done, (uint32_t)PAGE - at % (uint32_t)PAGE);
		char **page = &g->pages[at / PAGE];

		if (*page == NULL && (*page = pages_take(1)) == NULL) {
			error = -ENOMEM;
			break;
		}
		error = copy_in(*page + at % PAGE, from, offset + done, part);
		if (error != 0)
			break;
		done += part;
	}
	if (error != 0 && (whole || done == 0))
		return error;
	g->used += done;
	return done;
}

long ring_look_pieces(const struct ring *g, uint32_t skip, struct grant to, uint64_t offset, uint32_t n)
{
	for (uint32_t done = 0; done < n;) {
		uint32_t at = (g->head + skip + done) & (g->size - 1);
		uint32_t part = MIN(n - done, (uint32_t)PAGE - at % (uint32_t)PAGE);
		long error = copy_out(to, offset + done, g->pages[at / PAGE] + at % PAGE, part);

		if (error != 0)
			return error;
		done += part;
	}
	return 0;
}
