/* radix.c: a sparse array of pointers, as a tree of branches of 64. It is as high as the highest index needed that was
 * in it since it was empty. A branch has nothing in it only where memory ended on the way down; radix_cut() gives it
 * back. */
#include "tmpfs.h"

#define MASK ((1U << RADIX_BITS) - 1)
#define BRANCH ((1UL << RADIX_BITS) * sizeof(void *))

int64_t radix_put(struct radix *r, uint64_t index, void *p)
{
	void **at = &r->top, **b;

	/* One level more, what there is standing at 0. */
	for (; index >> (r->height * RADIX_BITS) != 0; r->height++) {
		if (r->top == NULL)
			continue;
		b = vfs_take(BRANCH);
		if (b == NULL)
			return -ENOMEM;
		b[0] = r->top;
		r->top = b;
	}
	for (uint32_t shift = r->height * RADIX_BITS; shift > 0;) {
		if (*at == NULL)
			*at = vfs_take(BRANCH);
		if (*at == NULL)
			return -ENOMEM;
		shift -= RADIX_BITS;
		at = &((void **)*at)[index >> shift & MASK];
	}
	*at = p;
	return 0;
}

/* Takes out of a place that stands for `height` levels what is at `index` or after; the place is empty then where
 * nothing is left. */
static uint64_t branch_cut(void **place, uint32_t height, uint64_t index)
{
	uint32_t shift = (height - 1) * RADIX_BITS;
	uint64_t count = 0, first;
	void **b = *place;

	if (b == NULL)
		return 0;
	if (height == 0) {
		*place = NULL;
		return 1;
	}
	first = index >> shift;
	for (uint64_t i = first; i <= MASK; i++)
		count += branch_cut(&b[i], height - 1, i == first ? index & ((1UL << shift) - 1) : 0);
	for (uint64_t i = 0; i <= first; i++)
		if (b[i] != NULL)
			return count;
	vfs_give(b, BRANCH);
	*place = NULL;
	return count;
}

uint64_t radix_cut(struct radix *r, uint64_t index)
{
	uint64_t count = index >> (r->height * RADIX_BITS) != 0 ? 0 : branch_cut(&r->top, r->height, index);

	if (r->top == NULL)
		r->height = 0;
	return count;
}
