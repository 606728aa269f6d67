/* place.c: where a mapping without a fixed address goes: as high as there is a hole, as on Linux. What the last search
 * saw is remembered, so that many mappings one below the other are not searched through each time. */
#include "vm.h"

bool space_is_empty(const struct space *s, uint64_t begin, uint64_t end)
{
	return region_after(s, begin)->begin >= end;
}

/* Where what is placed below a region has to end. */
static uint64_t floor_of(const struct region *r)
{
	uint64_t gap = r->bits & REGION_DOWN ? STACK_GAP : 0;

	return r->begin > gap ? r->begin - gap : 0;
}

/* The highest hole of `length` bytes below `top`; 0: none. *most: becomes the size of the largest one passed over. */
static uint64_t hole_below(const struct space *s, uint64_t length, uint64_t top, uint64_t *most)
{
	struct region *r = region_after(s, top);

	while (r != s->list) {
		uint64_t end = MIN(top, floor_of(r)), low;

		r = region_previous(s, r);
		low = MAX(USER_LOW, r->end);
		if (end > low && end - low >= length)
			return end - length;
		if (end > low)
			*most = MAX(*most, end - low);
	}
	return 0;
}

uint64_t space_place(struct space *s, uint64_t length, uint64_t top)
{
	uint64_t ignored = 0, found;

	if (top != 0)
		return hole_below(s, length, top, &ignored);
	if (length <= s->hole_most) {
		s->place_from = s->place_top;
		s->hole_most = 0;
	}
	found = hole_below(s, length, s->place_from, &s->hole_most);
	if (found != 0) {
		s->place_from = found;
		return found;
	}
	/* Between what is usually left free for the stack and the stack. */
	return hole_below(s, length, USER_TOP, &ignored);
}

void place_freed(struct space *s, const struct region *above)
{
	s->place_from = MAX(s->place_from, MIN(above->begin, s->place_top));
}
