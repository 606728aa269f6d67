/* radix.h: a sparse array of pointers: a file's pages by number. */
#ifndef TRIO_VFS_RADIX_H
#define TRIO_VFS_RADIX_H

#include "port.h"

#define RADIX_BITS 6

/* Zero-initialised is empty. At height 0 `top` is what stands at 0; above, `top` is a branch. */
struct radix {
	void *top;
	uint32_t height;
};

struct radix_branch {
	uint32_t used;
	void *at[1 << RADIX_BITS];
};

/* NULL where nothing stands. */
static inline void *radix_get(const struct radix *r, uint64_t index)
{
	void *p = r->top;
	uint32_t shift = r->height * RADIX_BITS;

	if (index >> shift != 0)
		return NULL;
	while (shift > 0 && p != NULL) {
		shift -= RADIX_BITS;
		p = ((struct radix_branch *)p)->at[index >> shift & ((1 << RADIX_BITS) - 1)];
	}
	return p;
}

/* `index` is below 2^54, `p` is not NULL. 0 or -ENOMEM, and then `index` is as it was. */
int64_t radix_put(struct radix *r, uint64_t index, void *p);
/* Nothing stands at `index` or after any more: branches go as a whole. Returns how much stood there; *end: behind the
 * last of it, `index` where nothing was. */
uint64_t radix_cut(struct radix *r, uint64_t index, uint64_t *end);
/* What stands first at `*index` or after, which then is its place; NULL: nothing. */
void *radix_next(const struct radix *r, uint64_t *index);

#endif
