/* share.c: work on much memory is done by shares, so that no call keeps the processor for long. A request that changes
 * mappings in more than one run owns the space until it is done; other changes wait. Pages are dropped first, then the
 * regions that have none left. */
#include "vm_internal.h"
#include "endpoints.h"
#include "pm.h"
#include "vfs.h"

void change_claim(struct space *s, uint32_t task)
{
	s->changer = task + 1;
	s->change_weight = SHARE_PAGES + 1;
}

void change_end(struct space *s)
{
	s->changer = 0;
	s->change_weight = 0;
	unpark(&s->changers);
	if (s->others_wait) {
		s->others_wait = false;
		notify(ENDPOINT_VFS, VFS_DISK_READY);
		notify(ENDPOINT_PM, PM_DISK_READY);
	}
}

int64_t share_of(struct space *s, struct share *share, uint64_t end, region_act act)
{
	int64_t result = 0;

	while (result == 0 && share->at < end) {
		struct region *r = region_after(s, share->at);

		if (r->begin >= end) {
			share->gaps = true;
			break;
		}
		if (share->work <= 0)
			return UNDER_WAY;
		share->gaps |= r->begin > share->at;
		share->at = MAX(share->at, r->begin);
		share->work -= REGION_WORK;
		result = act(s, r, MIN(r->end, end), share);
	}
	return result;
}

/* Continues where the request's last share ended. Returns false for the first one. */
static inline bool resume(const struct request *r, struct share *share)
{
	if (!r->again || r->scratch[SHARES] == SHARES_NONE)
		return false;
	share->at = r->scratch[SHARE_AT];
	share->gaps = r->scratch[SHARES] == SHARES_WITH_GAPS;
	return true;
}

/* Returns as share_of(). */
static inline int64_t next_share(struct space *s, struct request *r, struct share *share, uint64_t end, region_act act)
{
	int64_t result = share_of(s, share, end, act);

	r->scratch[SHARE_AT] = share->at;
	r->scratch[SHARES] = share->gaps ? SHARES_WITH_GAPS : SHARES_BEGUN;
	return result;
}

int64_t change_by_shares(struct space *s, struct request *r, uint64_t begin, uint64_t end, uint32_t most,
			 region_act act, uint32_t with)
{
	bool large = space_is_large(s);
	struct share share = { .at = begin, .work = large ? (int64_t)SHARE_PAGES : INT64_MAX, .with = with };
	int64_t result = -ENOMEM;

	if (large && change_is_anothers(s, r->task)) {
		(void)park_hard(&s->changers, r);
		return UNDER_WAY;
	}
	if (large)
		change_claim(s, r->task);
	/* Cuts regions before anything changes; the next share finds them cut. */
	if (resume(r, &share) || regions_isolate(s, region_after(s, begin), begin, end, most)) {
		begin = share.at;
		result = next_share(s, r, &share, end, act);
		regions_merge(s, begin, result == UNDER_WAY ? share.at - 1 : end);
	}
	if (result == UNDER_WAY) {
		r->scratch[MAPPED] = 0;
		(void)give_way(r, BY_NOTHING);
	} else if (large) {
		change_end(s);
	}
	return result;
}

verdict begin_anew(struct request *r)
{
	r->scratch[SHARES] = SHARES_NONE;
	r->scratch[MAPPED] = 0;
	return give_way(r, BY_THE_END);
}

verdict each_by_shares(struct space *s, struct request *r, uint64_t begin, uint64_t end, enum ends ends, region_act act)
{
	struct share share = { .at = begin, .work = SHARE_PAGES };
	int64_t result;

	(void)resume(r, &share);
	result = next_share(s, r, &share, end, act);
	if (result == UNDER_WAY)
		return give_way(r, ends);
	/* If a page has to be read first, the request continues there, as after a share. */
	r->again = true;
	return answer_or_wait(r, result == 0 && share.gaps ? -ENOMEM : result, BY_THE_END);
}

int64_t act_nothing(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	share->at = end;
	return 0;
}

int64_t act_drop(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	share->work -= drop_pages(s, share->at, end, (uint64_t)(share->work + REGION_WORK), &share->at);
	/* If it stopped in the middle the share is used up. */
	if (share->at < end)
		share->work = 0;
	return 0;
}

int64_t act_populate(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	uint32_t access = counts_as_data(r->bits) ? VM_ACCESS_WRITE : 0;
	uint64_t frame;
	uint32_t protection;

	for (; share->at < end && share->work > -REGION_WORK; share->at += PAGE, share->work--) {
		int64_t result = 0;

		if (kernel_space_find(s->number, share->at, &frame, &protection) != 0)
			result = space_fault(s, share->at, access);
		if (result != 0)
			return result == -EWAIT ? result : -ENOMEM;
	}
	return 0;
}
