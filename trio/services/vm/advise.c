/* advise.c: madvise, mlock, mincore, msync: what programs say and ask about pages that are mapped. */
#include "vm.h"

/* Private pages are dropped, and come again as zeros or as the object has them. */
static void drop_pages(struct space *s, uint64_t begin, uint64_t end)
{
	space_resident(s, -kernel_space_unmap(s->number, begin, (end - begin) / PAGE));
}

/* All of a range, `act` for each part that is mapped: 0, -ENOMEM where there are gaps, or the first error of `act`. */
static int64_t each_region(struct space *s, uint64_t begin, uint64_t end,
			   int64_t (*act)(struct space *s, const struct region *r, uint64_t begin, uint64_t end))
{
	struct cursor at = region_after(s, begin);
	uint64_t reached = begin;
	int64_t gaps = 0, result;

	for (const struct region *r; (r = region_at(s, at)) != NULL && r->begin < end; cursor_next(s, &at)) {
		if (r->begin > reached)
			gaps = -ENOMEM;
		result = act(s, r, MAX(r->begin, begin), MIN(r->end, end));
		if (result != 0)
			return result;
		reached = r->end;
	}
	return reached < end ? -ENOMEM : gaps;
}

static int64_t act_nothing(struct space *s, const struct region *r, uint64_t begin, uint64_t end)
{
	(void)s;
	(void)r;
	(void)begin;
	(void)end;
	return 0;
}

static int64_t act_drop(struct space *s, const struct region *r, uint64_t begin, uint64_t end)
{
	(void)r;
	drop_pages(s, begin, end);
	return 0;
}

/* MADV_FREE: the pages may go at any time; here they go at once. */
static int64_t act_free(struct space *s, const struct region *r, uint64_t begin, uint64_t end)
{
	if (r->object != 0 || r->bits & REGION_SHARED)
		return -EINVAL;
	drop_pages(s, begin, end);
	return 0;
}

verdict vm_advise(struct vm *self, struct request *r, uint64_t address, uint64_t length, uint32_t advice)
{
	struct space *s = space_of(r->task);
	uint64_t end = address + PAGE_UP(length);

	(void)self;
	if (address % PAGE != 0 || end < address)
		return refuse(r, EINVAL);
	switch (advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_DONTDUMP:
	case MADV_DODUMP:
	case MADV_COLD:
	case MADV_PAGEOUT:
		return settle(r, each_region(s, address, end, act_nothing));
	case MADV_DONTNEED:
		return settle(r, each_region(s, address, end, act_drop));
	case MADV_FREE:
		return settle(r, each_region(s, address, end, act_free));
	case MADV_DONTFORK:
		s->some_stay = true;
		return settle(r, change_bits(s, address, end, 0, REGION_NO_FORK));
	case MADV_DOFORK:
		return settle(r, change_bits(s, address, end, REGION_NO_FORK, 0));
	}
	return refuse(r, EINVAL);
}

static int64_t act_lock(struct space *s, const struct region *r, uint64_t begin, uint64_t end)
{
	return populate(s, r, begin, end);
}

/* What cannot be there stays away. */
static int64_t act_populate(struct space *s, const struct region *r, uint64_t begin, uint64_t end)
{
	(void)populate(s, r, begin, end);
	return 0;
}

verdict vm_lock(struct vm *self, struct request *r, uint64_t address, uint64_t length, uint32_t now)
{
	uint64_t begin = PAGE_DOWN(address), end = PAGE_UP(address + length);

	(void)self;
	if (end < begin)
		return refuse(r, EINVAL);
	if (check_range(begin, end - begin) != 0)
		return refuse(r, ENOMEM);
	return settle(r, each_region(space_of(r->task), begin, end, now ? act_lock : act_nothing));
}

verdict vm_lock_all(struct vm *self, struct request *r, uint32_t present, uint32_t future)
{
	struct space *s = space_of(r->task);

	(void)self;
	s->populates = future != 0;
	if (present)
		(void)each_region(s, 0, USER_TOP, act_populate);
	return answer(r, 0);
}

/* 1: the page is there, or is in the object that it would come from. */
static uint8_t is_resident(struct space *s, const struct region *r, uint64_t at)
{
	uint64_t frame;
	uint32_t protection;

	if (kernel_space_find(s->number, at, &frame, &protection) == 0)
		return 1;
	return r->object != 0 && object_frame(object_of(r->object), r->index + (at - r->begin) / PAGE, false) != 0;
}

verdict vm_resident(struct vm *self, struct request *r, uint64_t address, uint64_t length, struct grant to)
{
	struct space *s = space_of(r->task);
	uint64_t pages = PAGE_UP(length) / PAGE;
	uint8_t part[256];

	(void)self;
	if (address % PAGE != 0)
		return refuse(r, EINVAL);
	if (check_range(address, length) != 0)
		return refuse(r, ENOMEM);
	for (uint64_t done = 0; done < pages;) {
		uint64_t count = MIN(pages - done, sizeof part);

		for (uint64_t i = 0; i < count; i++) {
			uint64_t at = address + (done + i) * PAGE;
			const struct region *in = region_find(s, at);

			if (in == NULL)
				return refuse(r, ENOMEM);
			part[i] = is_resident(s, in, at);
		}
		if (copy_out(to, done, part, count) != 0)
			return refuse(r, EFAULT);
		done += count;
	}
	return answer(r, 0);
}

/* Objects are memory: there is nothing to be written back to. */
verdict vm_synchronise(struct vm *self, struct request *r, uint64_t address, uint64_t length, uint32_t flags)
{
	uint64_t end = address + PAGE_UP(length);

	(void)self;
	if (flags & ~(uint32_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || address % PAGE != 0 ||
	    (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
		return refuse(r, EINVAL);
	if (end < address)
		return refuse(r, ENOMEM);
	return settle(r, each_region(space_of(r->task), address, end, act_nothing));
}
