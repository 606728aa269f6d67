/* radix.c: a sparse array of pointers, as a tree of branches of 64. It is as high as the highest index needs. A branch
 * has nothing in it only where memory ended on the way down; radix_cut() gives it back. */
#include "radix.h"
#include "vfs_internal.h"

#define MASK ((1U << RADIX_BITS) - 1)

/* One level more, what there is standing at 0. */
static int64_t grow(struct radix *r)
{
	struct radix_branch *b;

	if (r->top != NULL) {
		b = vfs_take(sizeof *b);
		if (b == NULL)
			return -ENOMEM;
		b->at[0] = r->top;
		b->used = 1;
		r->top = b;
	}
	r->height++;
	return 0;
}

/* Levels that hold but what stands at 0 go. */
static void shrink(struct radix *r)
{
	while (r->height > 0) {
		struct radix_branch *b = r->top;

		if (b != NULL && b->used > 0 && (b->used > 1 || b->at[0] == NULL))
			return;
		if (b != NULL) {
			r->top = b->at[0];
			vfs_give(b, sizeof *b);
		}
		r->height--;
	}
}

int64_t radix_put(struct radix *r, uint64_t index, void *p)
{
	struct radix_branch *above = NULL;
	void **at;

	while (index >> (r->height * RADIX_BITS) != 0)
		if (grow(r) != 0)
			return -ENOMEM;
	at = &r->top;
	for (uint32_t shift = r->height * RADIX_BITS; shift > 0; at = &above->at[index >> shift & MASK]) {
		if (*at == NULL) {
			*at = vfs_take(sizeof(struct radix_branch));
			if (*at == NULL)
				return -ENOMEM;
			if (above != NULL)
				above->used++;
		}
		above = *at;
		shift -= RADIX_BITS;
	}
	if (*at == NULL && above != NULL)
		above->used++;
	*at = p;
	return 0;
}

/* Takes out of a place that stands for `height` levels what is at `index` or after; the place is empty then where
 * nothing is left. `*end`: behind the last, from the first that the place stands for. */
static uint64_t branch_cut(void **place, uint32_t height, uint64_t index, uint64_t *end)
{
	struct radix_branch *b = *place;
	uint32_t shift = (height - 1) * RADIX_BITS;
	uint64_t count = 0;

	if (*place == NULL)
		return 0;
	if (height == 0) {
		*place = NULL;
		*end = 1;
		return 1;
	}
	for (uint64_t i = index >> shift; i <= MASK; i++) {
		uint64_t inside = i == index >> shift ? index & ((1UL << shift) - 1) : 0, reach = 0, here;

		if (b->at[i] == NULL)
			continue;
		here = branch_cut(&b->at[i], height - 1, inside, &reach);
		if (here > 0)
			*end = (i << shift) + reach;
		count += here;
		b->used -= b->at[i] == NULL;
	}
	if (b->used > 0)
		return count;
	vfs_give(b, sizeof *b);
	*place = NULL;
	return count;
}

uint64_t radix_cut(struct radix *r, uint64_t index, uint64_t *end)
{
	uint64_t count;

	*end = index;
	if (r->top == NULL || index >> (r->height * RADIX_BITS) != 0)
		return 0;
	count = branch_cut(&r->top, r->height, index, end);
	shrink(r);
	return count;
}

void *radix_next(const struct radix *r, uint64_t *index)
{
	uint64_t i = *index;

	while (i >> (r->height * RADIX_BITS) == 0) {
		uint32_t shift = r->height * RADIX_BITS;
		void *p = r->top;

		while (p != NULL && shift > 0) {
			shift -= RADIX_BITS;
			p = ((struct radix_branch *)p)->at[i >> shift & MASK];
		}
		if (p != NULL) {
			*index = i;
			return p;
		}
		/* Nothing below this branch's place: on to the next place of that level. */
		i = ((i >> shift) + 1) << shift;
	}
	return NULL;
}
