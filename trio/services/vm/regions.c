/* regions.c: a space's regions by address, in an array with a gap, which moves to where regions are added and removed;
 * that is usually the same place for a while. */
#include "vm_internal.h"

/* Sentinels at the ends of the list: a search for an accessible neighbour ends there. The top is above any range that a
 * program can name, because madvise gets ranges far above the end of user space. */
static const struct region bottom = { .bits = REGION_REACHED };
static const struct region top = { .begin = UINT64_MAX, .end = UINT64_MAX, .bits = REGION_REACHED };

void regions_start(struct space *s)
{
	s->list = s->own;
	s->list_end = &s->own[REGIONS_OWN - 1];
	s->gap = s->list + 1;
	s->above = s->list_end;
	*s->list = bottom;
	*s->list_end = top;
	s->some_stay = s->populates = false;
	s->regions = 0;
}

static void list_give(struct space *s)
{
	if (s->list != s->own)
		pages_give(s->list, (size_t)(s->list_end + 1 - s->list) * sizeof *s->list / PAGE);
}

void regions_end(struct space *s)
{
	list_give(s);
	regions_start(s);
}

bool regions_reserve(struct space *s, uint32_t more)
{
	size_t below = (size_t)(s->gap - s->list), behind = (size_t)(s->list_end + 1 - s->above), pages;
	struct region *wider;

	if (s->above - s->gap >= more)
		return true;
	pages = pages_for((below + behind + more) * sizeof *wider);
	wider = pages_take(pages);
	if (wider == NULL)
		return false;
	/* committed */
	memcpy(wider, s->list, below * sizeof *wider);
	s->gap = wider + below;
	wider += pages * PAGE / sizeof *wider - behind;
	memcpy(wider, s->above, behind * sizeof *wider);
	list_give(s);
	s->above = wider;
	s->list = s->gap - below;
	s->list_end = wider + behind - 1;
	return true;
}

bool regions_copy(struct space *to, const struct space *from, uint32_t without)
{
	if (!regions_reserve(to, from->regions))
		return false;
	REGION_EACH (r, from)
		if (!(r->bits & without)) {
			*to->gap++ = *r;
			to->regions++;
			object_mapped(r->object);
			space_account(to, (int64_t)region_pages(r), r->bits);
		}
	return true;
}

struct region *region_after(const struct space *s, uint64_t address)
{
	bool upper = s->gap[-1].end <= address;
	struct region *low = upper ? s->above : s->list, *high = upper ? s->list_end : s->gap - 1;

	while (low < high) {
		struct region *middle = low + (high - low) / 2;

		if (middle->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Moves the gap to just before `at`. */
static void gap_before(struct space *s, const struct region *at)
{
	while (at < s->gap)
		*--s->above = *--s->gap;
	while (at > s->above)
		*s->gap++ = *s->above++;
}

struct region *region_insert(struct space *s, struct region *at, const struct region *new)
{
	gap_before(s, at);
	*s->gap = *new;
	s->regions++;
	return s->gap++;
}

struct region *region_erase(struct space *s, struct region *at)
{
	gap_before(s, at);
	s->regions--;
	return ++s->above;
}

/* Splits the region that contains `address`. */
static void region_cut(struct space *s, uint64_t address)
{
	struct region *r = region_after(s, address), lower = *r;

	lower.end = r->begin = address;
	if (r->object != 0)
		r->index += region_pages(&lower);
	object_mapped(r->object);
	(void)region_insert(s, r, &lower);
}

static bool are_alike(const struct region *a, const struct region *b)
{
	return a->end == b->begin && a->bits == b->bits && a->object == b->object &&
	       (a->object == 0 || a->index + region_pages(a) == b->index);
}

void regions_merge_from(struct space *s, struct region *r, uint64_t end)
{
	while (r->begin <= end) {
		struct region *other = region_next(s, r);

		if (are_alike(r, other)) {
			other->begin = r->begin;
			other->index = r->index;
			object_unmapped(r->object);
			other = region_erase(s, r);
		}
		r = other;
	}
}

void regions_merge(struct space *s, uint64_t begin, uint64_t end)
{
	regions_merge_from(s, region_after(s, begin == 0 ? 0 : begin - 1), end);
}

bool regions_isolate(struct space *s, const struct region *first, uint64_t begin, uint64_t end, uint32_t most)
{
	const struct region *last = first->end >= end ? first : region_after(s, end);
	bool low = first->begin < begin, high = last->begin < end && last->end > end;

	INVARIANT(begin < end);
	if ((low || high) && (s->regions + low + high > most || !regions_reserve(s, 2)))
		return false;
	/* committed */
	if (low)
		region_cut(s, begin);
	if (high)
		region_cut(s, end);
	return true;
}

bool space_may_grow(const struct space *s, uint64_t pages, uint32_t bits)
{
	if (s->pages + pages > s->limit_space / PAGE)
		return false;
	return !counts_as_data(bits) || s->data + pages <= s->limit_data / PAGE;
}

void space_account(struct space *s, int64_t pages, uint32_t bits)
{
	s->pages += (uint64_t)pages;
	if (counts_as_data(bits))
		s->data += (uint64_t)pages;
}
