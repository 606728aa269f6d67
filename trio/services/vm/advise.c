/* advise.c: madvise, mlock, mincore, msync: what programs say and ask about mapped pages. */
#include "vm_internal.h"

/* MADV_FREE allows to drop the pages at any time; they are dropped at once. */
static int64_t act_free(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	if (r->object != 0 || r->bits & REGION_SHARED)
		return -EINVAL;
	return act_drop(s, r, end, share);
}

/* The action on each region, by advice. */
static const region_act advised[] = {
	[MADV_NORMAL] = act_nothing,   [MADV_RANDOM] = act_nothing,     [MADV_SEQUENTIAL] = act_nothing,
	[MADV_WILLNEED] = act_nothing, [MADV_DONTNEED] = act_drop,      [MADV_FREE] = act_free,
	[MADV_HUGEPAGE] = act_nothing, [MADV_NOHUGEPAGE] = act_nothing, [MADV_DONTDUMP] = act_nothing,
	[MADV_DODUMP] = act_nothing,   [MADV_COLD] = act_nothing,       [MADV_PAGEOUT] = act_nothing,
};

verdict vm_advise(struct request *r, uint64_t address, uint64_t length, uint32_t advice)
{
	struct space *s = space_of(r->task);
	uint64_t end = address + PAGE_UP(length);

	if (address % PAGE != 0 || end < address)
		return refuse(r, EINVAL);
	if (advice == MADV_DONTFORK || advice == MADV_DOFORK)
		return keep_from_child(s, r, address, end, advice == MADV_DONTFORK);
	if (advice >= COUNT_OF(advised) || advised[advice] == NULL)
		return refuse(r, EINVAL);
	if (advice == MADV_WILLNEED)
		paged_need(s, r->task, address, end);
	return each_by_shares(s, r, address, end, BY_NOTHING, advised[advice]);
}

/* Pages that cannot be populated stay absent. */
static int64_t act_try_to_populate(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	int64_t result = act_populate(s, r, end, share);

	if (result == -EWAIT)
		return result;
	if (result != 0)
		share->at = end;
	return 0;
}

verdict vm_lock(struct request *r, uint64_t address, uint64_t length, uint32_t now)
{
	uint64_t begin = PAGE_DOWN(address), end = PAGE_UP(address + length);

	if (end < begin)
		return refuse(r, EINVAL);
	if (check_range(begin, end - begin) != 0)
		return refuse(r, ENOMEM);
	r->done = 0;
	return each_by_shares(space_of(r->task), r, begin, end, BY_THE_END, now ? act_populate : act_nothing);
}

verdict vm_lock_all(struct request *r, uint32_t present, uint32_t future)
{
	struct space *s = space_of(r->task);

	s->populates = future != 0;
	r->done = 0;
	if (present && each_by_shares(s, r, 0, USER_TOP, BY_THE_END, act_try_to_populate) == PARKED)
		return PARKED;
	return answer(r, 0);
}

/* Returns 1 if the page is mapped or its object has it. */
static uint8_t is_resident(struct space *s, const struct region *r, uint64_t at)
{
	uint64_t frame;
	uint32_t protection;

	if (kernel_space_find(s->number, at, &frame, &protection) == 0)
		return 1;
	return r->object != 0 && object_frame(object_of(r->object), r->index + (at - r->begin) / PAGE, false) != 0;
}

verdict vm_resident(struct request *r, uint64_t address, uint64_t length, uint64_t to)
{
	struct space *s = space_of(r->task);
	uint64_t pages = PAGE_UP(length) / PAGE, done = r->scratch[0], share = done + SHARE_PAGES;
	uint8_t part[256];

	if (address % PAGE != 0)
		return refuse(r, EINVAL);
	if (check_range(address, length) != 0)
		return refuse(r, ENOMEM);
	while (done < pages) {
		uint64_t most = MIN(MIN(pages - done, sizeof part), PAGE - (to + done) % PAGE), count = 0;
		const struct region *in;
		int64_t result;
		void *place;

		r->scratch[0] = done;
		if (done >= share)
			return give_way(r, BY_THE_END);
		for (; count < most; count++) {
			uint64_t at = address + (done + count) * PAGE;

			in = region_find(s, at);
			if (in == NULL)
				break;
			part[count] = is_resident(s, in, at);
		}
		/* Pages before a gap are reported all the same, as on Linux. */
		if (count == 0)
			return refuse(r, ENOMEM);
		result = user_place(s, to + done, true, &place);
		if (result != 0)
			return answer_or_wait(r, result, BY_THE_END);
		memcpy(place, part, count);
		done += count;
	}
	return answer(r, 0);
}

/* Objects are in memory, so there is nothing to write back. */
verdict vm_synchronise(struct request *r, uint64_t address, uint64_t length, uint32_t flags)
{
	uint64_t end = address + PAGE_UP(length);

	if (flags & ~(uint32_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || address % PAGE != 0 ||
	    (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
		return refuse(r, EINVAL);
	if (end < address)
		return refuse(r, ENOMEM);
	return each_by_shares(space_of(r->task), r, address, end, BY_NOTHING, act_nothing);
}
