/* promise.c: how much memory the regions of a space may come to need. It is promised before they are mapped, so that an
 * access never finds memory used up.
 *
 * Pages: one for each page of a region that is private and writable, or private zeros. Such a page needs one frame,
 * which space_zero or space_private makes. One promise each suffices, also for pages shared since a fork. Assign each
 * frame made in this way to one of the pages that map it; an absent page has none. A page that must be copied maps a
 * frame that another page or an object maps too, so the frame can be assigned to the other one. So before each making
 * there are fewer such frames than promised pages. If only this page maps the frame, it is not copied.
 *
 * Tables: one for each span of 2 MiB, 1 GiB and 512 GiB that a region which was ever accessible reaches into;
 * neighbours that share a table count it once. Address space that is only reserved needs none, however large. */
#include "vm_internal.h"

/* Counts tables of the level with `bits`: those that a region needs and its neighbours do not. */
static inline int64_t tables_at(unsigned bits, uint64_t below_end, uint64_t begin, uint64_t end, uint64_t above)
{
	uint64_t first = begin >> bits, last = (end - 1) >> bits;
	int64_t tables = (int64_t)(last - first) + 1;

	tables -= (below_end - 1) >> bits == first;
	tables -= above >> bits == last;
	/* Both neighbours may have the same table. */
	return MAX(tables, 0);
}

static int64_t tables_for(uint64_t below_end, uint64_t begin, uint64_t end, uint64_t above)
{
	return tables_at(21, below_end, begin, end, above) + tables_at(30, below_end, begin, end, above) +
	       tables_at(39, below_end, begin, end, above);
}

/* Whether both ends are in the same span of 2 MiB, so that what is between needs no further table. */
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
		/* Dropped memory may suffice once it is freed. */
		if (vm_reap() == 0 || kernel_memory_promise(pages - kept) != 0)
			return false;
	s->kept -= kept;
	s->promised += pages - kept;
	return true;
}
