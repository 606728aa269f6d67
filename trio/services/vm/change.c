/* change.c: changes of existing mappings: mprotect, brk, mremap. */
#include "vm_internal.h"

/* Applies `act` to each region of a range. Answers 0, ENOMEM if there are gaps, or the first error. */
static verdict change_regions(struct space *s, struct request *r, uint64_t begin, uint64_t end, region_act act,
			      uint32_t with)
{
	int64_t result;

	if (begin == end)
		return answer(r, 0);
	result = change_by_shares(s, r, begin, end, REGIONS_MOST, act, with);
	if (result == UNDER_WAY)
		return PARKED;
	return answer(r, result == 0 && r->scratch[SHARES] == SHARES_WITH_GAPS ? -ENOMEM : result);
}

static int64_t act_protect(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	uint32_t bits = promised_bits((r->bits & ~(uint32_t)PROT_ALL) | share->with, r->object);
	int64_t pages = (int64_t)region_pages(r);

	/* Regions behind a gap are not changed. */
	if (share->gaps)
		return -ENOMEM;
	share->at = end;
	if (share->with & PROT_WRITE && bits & REGION_NO_WRITE)
		return -EACCES;
	if (counts_as_data(bits) && !counts_as_data(r->bits) && s->data + (uint64_t)pages > s->limit_data / PAGE)
		return -ENOMEM;
	if (bits == r->bits)
		return 0;
	if (!space_promise(s, promise_for(s, r, r->begin, r->end, bits & ~r->bits)))
		return -ENOMEM;
	/* committed */
	space_account(s, -pages, r->bits);
	space_account(s, pages, bits);
	r->bits = bits;
	return kernel_space_protect(s->number, r->begin, (uint64_t)pages, share->with, !(bits & REGION_SHARED));
}

verdict vm_protect(struct request *r, uint64_t address, uint64_t length, uint32_t protection)
{
	struct space *s = space_of(r->task);
	uint64_t end = address + PAGE_UP(length);

	if (address % PAGE != 0 || protection & ~(uint32_t)PROT_ALL)
		return refuse(r, EINVAL);
	if (length == 0)
		return answer(r, 0);
	if (check_range(address, length) != 0)
		return refuse(r, ENOMEM);
	return change_regions(s, r, address, end, act_protect, protection);
}

static int64_t act_keep(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	r->bits = share->with ? r->bits | REGION_NO_FORK : r->bits & ~(uint32_t)REGION_NO_FORK;
	share->at = end;
	return 0;
}

verdict keep_from_child(struct space *s, struct request *r, uint64_t begin, uint64_t end, uint32_t kept)
{
	s->some_stay |= kept;
	return change_regions(s, r, begin, end, act_keep, kept);
}

verdict vm_break_at(struct request *r, uint64_t address)
{
	struct space *s = space_of(r->task);
	uint64_t old_end = PAGE_UP(s->heap_end), new_end = PAGE_UP(address);
	int64_t result = 0;

	if (s->changer == 0) {
		if (address < s->heap || address >= USER_TOP || address - s->heap > s->limit_data)
			return answer(r, (int64_t)s->heap_end);
	} else if (s->changer != r->task + 1) {
		return park_hard(&s->changers, r);
	}
	/* A request that gave way shrinks the heap whatever the limit is by now. */
	if (new_end < old_end)
		result = unmap_for(s, r, new_end, old_end);
	else if (new_end > old_end)
		result = map_region(s, old_end, new_end - old_end, MAP_FIXED_NOREPLACE,
				    (struct region){ .bits = PROT_READ | PROT_WRITE });
	if (result == UNDER_WAY)
		return PARKED;
	if (result == -ENOMEM && vm_reap() > 0)
		return begin_anew(r);
	if (result >= 0)
		s->heap_end = address;
	return answer(r, (int64_t)s->heap_end);
}

/* The moved pages stay promised. While they are moved, both ranges have promised tables. */
static int64_t move_region(struct space *s, uint64_t address, uint64_t old_length, uint64_t new_length, uint64_t to)
{
	uint64_t end = address + old_length, moved = MIN(old_length, new_length) / PAGE;
	struct region new;
	int64_t already, result;

	if (!regions_isolate(s, region_after(s, address), address, end, REGIONS_MOST))
		return -ENOMEM;
	new = *region_find(s, address);
	already = new.bits & REGION_PROMISED ? (int64_t)moved : 0;
	result = make_place(s, to, new_length, MAP_FIXED, new.bits);
	if (result >= 0 && !place_region(s, to, new_length, &new, already))
		result = -ENOMEM;
	if (result < 0) {
		regions_merge(s, address, end);
		return result;
	}
	/* committed */
	(void)kernel_space_move(s->number, address, to, moved);
	(void)space_promise(s, already - drop_regions(s, address, end));
	regions_merge(s, to, to + new_length);
	return result;
}

static int64_t remap_fixed(struct space *s, uint64_t address, uint64_t old_length, uint64_t new_length, uint64_t to)
{
	if (check_range(to, new_length) != 0 || to < USER_LOW)
		return -EINVAL;
	if (to < address + old_length && address < to + new_length)
		return -EINVAL;
	return move_region(s, address, old_length, new_length, to);
}

/* Extends the mapping in place. Returns false if that is impossible. */
static bool grow_in_place(struct space *s, struct region *old, uint64_t end, uint64_t more)
{
	uint64_t begin = old->begin;
	struct region *next = region_next(s, old);

	if (old->end != end || more > USER_TOP - end || next->begin < end + more)
		return false;
	if (!space_promise(s, promise_for(s, next, end, end + more, old->bits)))
		return false;
	/* committed */
	old->end += more;
	space_account(s, (int64_t)(more / PAGE), old->bits);
	regions_merge(s, begin, end + more);
	return true;
}

verdict vm_remap(struct request *r, uint64_t address, uint64_t old_length, uint64_t new_length, uint32_t flags,
		 uint64_t new_address)
{
	struct space *s = space_of(r->task);
	struct region *old;
	uint64_t to;

	old_length = PAGE_UP(old_length);
	new_length = PAGE_UP(new_length);
	if (flags & ~(uint32_t)(MREMAP_MAYMOVE | MREMAP_FIXED) ||
	    (flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == MREMAP_FIXED || new_length == 0 || old_length == 0 ||
	    address % PAGE != 0)
		return refuse(r, EINVAL);
	if (change_is_anothers(s, r->task))
		return park_hard(&s->changers, r);
	old = region_find(s, address);
	/* The mapping of a request that gave way is already shorter. */
	if (!r->again && (old == NULL || old_length > old->end - address))
		return refuse(r, EFAULT);
	if (flags & MREMAP_FIXED)
		return answer(r, remap_fixed(s, address, old_length, new_length, new_address));
	if (new_length == old_length)
		return answer(r, (int64_t)address);
	if (new_length < old_length) {
		int64_t result = unmap_for(s, r, address + new_length, address + old_length);

		return result == UNDER_WAY ? PARKED : answer(r, result < 0 ? result : (int64_t)address);
	}
	if (!space_may_grow(s, (new_length - old_length) / PAGE, old->bits))
		return refuse(r, ENOMEM);
	if (grow_in_place(s, old, address + old_length, new_length - old_length))
		return answer(r, (int64_t)address);
	to = flags & MREMAP_MAYMOVE && new_length <= USER_TOP ? space_place(s, new_length, 0) : 0;
	if (to == 0)
		return refuse(r, ENOMEM);
	return answer(r, move_region(s, address, old_length, new_length, to));
}
