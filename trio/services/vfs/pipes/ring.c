/* ring.c: a ring buffer in pages, for pipes and stream sockets. */
#include "pipes/ring.h"

void ring_begin(struct ring *g)
{
	g->pages = g->few;
	g->size = RING_PAGES * PAGE;
}

void ring_end(struct ring *g)
{
	for (uint32_t i = 0; i < g->size / PAGE; i++)
		if (g->pages[i] != NULL)
			pages_give(g->pages[i], 1);
	if (g->pages != g->few)
		pages_give(g->pages, 1);
}

int64_t ring_resize(struct ring *g, uint32_t size)
{
	struct ring from = *g, to = { .size = size };

	if (g->used > size)
		return -EBUSY;
	to.pages = size / PAGE <= RING_PAGES ? to.few : pages_take(1);
	if (to.pages == NULL)
		return -ENOMEM;
	/* The bytes move to the beginning of the new ring. */
	for (char **page = to.pages; from.used > 0; page++) {
		uint32_t n = MIN(from.used, (uint32_t)PAGE);

		*page = pages_take(1);
		if (*page == NULL) {
			ring_end(&to);
			return -ENOMEM;
		}
		(void)ring_look(&from, grant_write(*page, n), 0, n);
		ring_drop(&from, n);
		to.used += n;
	}

	/* committed */
	ring_end(g);
	*g = to;
	if (to.pages == to.few)
		g->pages = g->few;
	return 0;
}

int64_t ring_put_pieces(struct ring *g, struct grant from, uint64_t offset, uint32_t n, bool whole)
{
	uint32_t done = 0;
	int64_t error = 0;

	while (done < n && error == 0) {
		uint32_t at = (g->head + g->used + done) & (g->size - 1);
		uint32_t part = MIN(n - done, (uint32_t)PAGE - at % (uint32_t)PAGE);
		char **page = &g->pages[at / PAGE];

		if (*page == NULL)
			*page = pages_take(1);
		error = *page == NULL ? -ENOMEM : copy_in(*page + at % PAGE, from, offset + done, part);
		done += error == 0 ? part : 0;
	}
	if (error != 0 && (whole || done == 0))
		return error;
	g->used += done;
	return done;
}

long ring_look_pieces(const struct ring *g, struct grant to, uint64_t offset, uint32_t n)
{
	for (uint32_t done = 0, part; done < n; done += part) {
		uint32_t at = (g->head + done) & (g->size - 1);

		part = MIN(n - done, (uint32_t)PAGE - at % (uint32_t)PAGE);
		TRY(copy_out(to, offset + done, g->pages[at / PAGE] + at % PAGE, part));
	}
	return 0;
}
