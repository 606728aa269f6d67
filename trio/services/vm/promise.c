/* promise.c: how much memory the regions of a space can come to need. It is promised to the space before they are
 * mapped, so that who touches a page never finds that there is none left.
 *
 * Pages: one for each page of a region that is private and can be written, or is private zeros: a page of its own, once
 * it is made by space_zero or space_private. That suffices, and all of it can be needed, with pages that are shared
 * since a fork too: let each frame that was so made stand for one of the pages that hold it. A page that is not there
 * stands for none. One that is to be copied holds a frame that another page, or an object, holds too, so that the frame
 * can be the other's. So before each making there are fewer such frames than pages that are promised; when none but the
 * page itself holds the frame, it is not copied.
 *
 * Tables: one for each span of 2 MiB, 1 GiB, 512 GiB that a region reaches into which was ever accessible, and each
 * counts once where neighbours share it. What is merely reserved needs none, however large. */
#include "vm_internal.h"

/* Of the level whose tables reach so many bits of an address: those that a region needs and its neighbours do not. */
static inline int64_t tables_at(unsigned bits, uint64_t below_end, uint64_t begin, uint64_t end, uint64_t above)
{
	uint64_t first = begin >> bits, last = (end - 1) >> bits;
	int64_t tables = (int64_t)(last - first) + 1;

	tables -= (below_end - 1) >> bits == first;
	tables -= above >> bits == last;
	/* Both neighbours have the same one. */
	return MAX(tables, 0);
}

static int64_t tables_for(uint64_t below_end, uint64_t begin, uint64_t end, uint64_t above)
{
	return tables_at(21, below_end, begin, end, above) + tables_at(30, below_end, begin, end, above) +
	       tables_at(39, below_end, begin, end, above);
}

/* What lies between the two ends is in one span of 2 MiB with them, and needs no table more. */
static bool are_close(uint64_t end, uint64_t other)
{
	return ((end - 1) ^ (other - 1)) >> 21 == 0;
}

static int64_t pages_of(uint64_t begin, uint64_t end, uint32_t bits)
{
	return bits & REGION_PROMISED ? (int64_t)((end - begin) / PAGE) : 0;
}

int64_t promise_for(const struct space *s, struct region *at, uint64_t begin, uint64_t end, uint32_t bits)
{
	struct region *below = region_previous(s, at);
	int64_t pages = pages_of(begin, end, bits);

	if (!(bits & REGION_REACHED))
		return pages;
	while (!(below->bits & REGION_REACHED))
		below = region_previous(s, below);
	if (are_close(below->end, end))
		return pages;
	while (!(at->bits & REGION_REACHED))
		at = region_next(s, at);
	return pages + tables_for(below->end, begin, end, at->begin);
}

int64_t promise_for_all(const struct space *s, uint32_t without)
{
	const struct region *below = s->list;
	int64_t sum = 0;

	REGION_EACH (r, s) {
		if (!(r->bits & REGION_REACHED) || r->bits & without)
			continue;
		sum += pages_of(r->begin, r->end, r->bits);
		if (!are_close(below->end, r->end))
			sum += tables_for(below->end, r->begin, r->end, s->list_end->begin);
		below = r;
	}
	return sum;
}

bool space_promise(struct space *s, int64_t pages)
{
	int64_t kept = MAX(MIN(pages, s->kept), 0);

	if (pages != kept && kernel_memory_promise(pages - kept) != 0)
		/* What was dropped and is not free yet may suffice. */
		if (vm_reap() == 0 || kernel_memory_promise(pages - kept) != 0)
			return false;
	s->kept -= kept;
	s->promised += pages - kept;
	return true;
}
