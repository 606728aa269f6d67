/* map.c: mmap and munmap. */
#include "vm_internal.h"
#include "endpoints.h"
#include "switches.h"
#include "vfs.h"

int64_t check_range(uint64_t address, uint64_t length)
{
	if (address % PAGE != 0 || address > USER_TOP || length > USER_TOP - address)
		return -EINVAL;
	return 0;
}

int64_t drop_regions(struct space *s, uint64_t begin, uint64_t end)
{
	struct region *r = region_after(s, begin);
	int64_t promised = 0;

	while (r->begin < end) {
		struct region gone = *r;
		uint64_t next;

		(void)drop_pages(s, gone.begin, gone.end, UINT64_MAX, &next);
		space_account(s, -(int64_t)region_pages(&gone), gone.bits);
		object_unmapped(gone.object);
		r = region_erase(s, r);
		promised += promise_for(s, r, gone.begin, gone.end, gone.bits);
	}
	s->place_from = MAX(s->place_from, MIN(r->begin, s->place_top));
	return promised;
}

/* A hole in a region needs one region more. */
static uint32_t most_to_unmap(const struct region *first, uint64_t begin, uint64_t end)
{
	return first->begin < begin && first->end > end ? REGIONS_MOST + 1 : UINT32_MAX;
}

/* -ENOMEM: nothing has changed. */
static int64_t unmap_range(struct space *s, uint64_t begin, uint64_t end)
{
	struct region *first = region_after(s, begin);

	if (first->begin >= end)
		return 0;
	if (!regions_isolate(s, first, begin, end, most_to_unmap(first, begin, end)))
		return -ENOMEM;
	/* committed */
	(void)space_promise(s, -drop_regions(s, begin, end));
	return 0;
}

static int64_t act_unmap(struct space *s, struct region *r, uint64_t end, struct share *share)
{
	uint64_t begin = share->at;

	TRY(act_drop(s, r, end, share));
	return unmap_range(s, begin, share->at);
}

int64_t unmap_share(struct space *s, uint64_t begin, uint64_t end)
{
	struct share share = { .at = begin, .work = SHARE_PAGES };

	return share_of(s, &share, end, act_unmap);
}

int64_t unmap_for(struct space *s, struct request *r, uint64_t begin, uint64_t end)
{
	if (!space_is_large(s))
		return unmap_range(s, begin, end);
	return change_by_shares(s, r, begin, end, most_to_unmap(region_after(s, begin), begin, end), act_unmap, 0);
}

/* Pages of a range that are already mapped. */
static uint64_t pages_mapped(const struct space *s, uint64_t begin, uint64_t end)
{
	uint64_t pages = 0;

	for (struct region *r = region_after(s, begin); r->begin < end; r = region_next(s, r))
		pages += (MIN(r->end, end) - MAX(r->begin, begin)) / PAGE;
	return pages;
}

/* The address below which a mapping must end to fit below a region. */
static uint64_t floor_of(const struct region *r)
{
	uint64_t gap = r->bits & REGION_DOWN ? STACK_GAP : 0;

	return r->begin > gap ? r->begin - gap : 0;
}

/* Finds the highest hole of `length` bytes below `top`; 0: none. *most becomes the largest hole passed over. */
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

/* Remembers the last search, so that many mappings one below the other do not search through each other. */
uint64_t space_place(struct space *s, uint64_t length, uint64_t top)
{
	uint64_t ignored = 0, address;

	if (top != 0)
		return hole_below(s, length, top, &ignored);
	if (length <= s->hole_most) {
		s->place_from = s->place_top;
		s->hole_most = 0;
	}
	address = hole_below(s, length, s->place_from, &s->hole_most);
	if (address != 0) {
		s->place_from = address;
		return address;
	}
	/* Looks in the area that is usually left free for the stack. */
	return hole_below(s, length, USER_TOP, &ignored);
}

static bool is_empty(const struct space *s, uint64_t begin, uint64_t end)
{
	return region_after(s, begin)->begin >= end;
}

/* Chooses a mapping's address by flags and hint, or returns a negative errno. */
static int64_t choose(struct space *s, uint64_t hint, uint64_t length, uint32_t flags)
{
	uint64_t placed;

	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		if (hint % PAGE != 0)
			return -EINVAL;
		if (hint > USER_TOP || length > USER_TOP - hint)
			return -ENOMEM;
		if (hint < USER_LOW)
			return -EPERM;
		if (flags & MAP_FIXED_NOREPLACE && !is_empty(s, hint, hint + length))
			return -EEXIST;
		return (int64_t)hint;
	}
	if (hint != 0 && hint < USER_TOP) {
		hint = MAX(PAGE_UP(hint), USER_LOW);
		if (length <= USER_TOP - hint && is_empty(s, hint, hint + length))
			return (int64_t)hint;
	}
	placed = space_place(s, length, flags & MAP_32BIT ? 1UL << 31 : 0);
	return placed == 0 ? -ENOMEM : (int64_t)placed;
}

int64_t make_place(struct space *s, uint64_t hint, uint64_t length, uint32_t flags, uint32_t bits)
{
	int64_t chosen = choose(s, hint, length, flags);
	uint64_t begin = (uint64_t)chosen, pages = length / PAGE;

	TRY(chosen);
	if (!space_may_grow(s, pages, bits) && !space_may_grow(s, pages - pages_mapped(s, begin, begin + length), bits))
		return -ENOMEM;
	if (s->regions >= REGIONS_MOST || unmap_range(s, begin, begin + length) != 0 || !regions_reserve(s, 1))
		return -ENOMEM;
	return chosen;
}

struct region *place_region(struct space *s, uint64_t begin, uint64_t length, struct region *new, int64_t already)
{
	struct region *at = region_after(s, begin);

	new->bits = promised_bits(new->bits, new->object);
	new->begin = begin;
	new->end = begin + length;
	if (!space_promise(s, promise_for(s, at, begin, new->end, new->bits) - already))
		return NULL;
	/* committed */
	object_mapped(new->object);
	space_account(s, (int64_t)(length / PAGE), new->bits);
	return region_insert(s, at, new);
}

int64_t map_region(struct space *s, uint64_t address, uint64_t length, uint32_t flags, struct region new)
{
	struct region *placed;
	int64_t chosen;

	if (length == 0)
		return -EINVAL;
	if (length > USER_TOP)
		return -ENOMEM;
	length = PAGE_UP(length);
	chosen = make_place(s, address, length, flags, new.bits);
	TRY(chosen);
	placed = place_region(s, (uint64_t)chosen, length, &new, 0);
	if (placed == NULL)
		return -ENOMEM;
	/* committed */
	regions_merge_from(s, region_previous(s, placed), (uint64_t)chosen + length);
	return chosen;
}

/* Converts mmap's flags to a region's bits. Returns a negative errno if it cannot. */
static int64_t bits_for(uint32_t protection, uint32_t flags)
{
	uint32_t type = flags & MAP_TYPE;

	if (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (flags & MAP_HUGETLB)
		return -ENOMEM;
	return (protection & PROT_ALL) | (type == MAP_PRIVATE ? 0 : REGION_SHARED);
}

static int64_t map_shared(struct space *s, uint64_t address, uint64_t length, uint32_t flags, struct region new)
{
	int64_t result;

	TRY(vm_object_create(&new.object));
	(void)vm_object_resize(new.object, PAGE_UP(length));
	result = object_promise(new.object, PAGE_UP(length) / PAGE);
	if (result == 0)
		result = map_region(s, address, length, flags, new);
	(void)vm_object_drop(new.object);
	return result;
}

/* In a large space, what a fixed mapping replaces is unmapped first, by shares. */
static bool replaces(uint64_t address, uint64_t length, uint32_t flags)
{
	return flags & MAP_FIXED && length != 0 && check_range(address, length) == 0;
}

static inline bool is_populated(const struct space *s, uint32_t flags)
{
	return flags & (MAP_POPULATE | MAP_LOCKED) || s->populates || (PAGES_AT_ONCE && !(flags & MAP_NORESERVE));
}

/* Populates a new mapping if the flags or the space want it, and answers `value`. */
static verdict populate_new(struct space *s, struct request *r, uint32_t flags, int64_t value, uint64_t length)
{
	uint64_t begin = (uint64_t)value;

	if (value <= 0 || !is_populated(s, flags))
		return answer(r, value);
	/* mmap succeeds even if not all pages can be populated. */
	r->again = r->again && r->scratch[MAPPED] != 0;
	r->done = r->scratch[MAPPED] = begin;
	if (each_by_shares(s, r, begin, begin + PAGE_UP(length), BY_THE_END, act_populate) == PARKED)
		return PARKED;
	return answer(r, value);
}

verdict vm_map_anonymous(struct request *r, uint64_t address, uint64_t length, uint32_t protection, uint32_t flags)
{
	struct space *s = space_of(r->task);
	int64_t bits = bits_for(protection, flags), result;
	struct region new = { .bits = (uint32_t)bits };

	if (r->again && r->scratch[MAPPED] != 0)
		return populate_new(s, r, flags, (int64_t)r->scratch[MAPPED], length);
	if (bits < 0)
		return answer(r, bits);
	/* Without a file nobody can validate flags. */
	if ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE)
		return refuse(r, EINVAL);
	if (space_is_large(s) && change_is_anothers(s, r->task))
		return park_hard(&s->changers, r);
	if (space_is_large(s) && replaces(address, length, flags)) {
		result = unmap_for(s, r, address, address + PAGE_UP(length));
		if (result != 0)
			return result == UNDER_WAY ? PARKED : answer(r, result);
	}
	if (flags & MAP_GROWSDOWN && !(bits & REGION_SHARED))
		new.bits |= REGION_DOWN;
	if (bits & REGION_SHARED)
		result = map_shared(s, address, length, flags, new);
	else
		result = map_region(s, address, length, flags, new);
	if (result == -ENOMEM && vm_reap() > 0)
		return begin_anew(r);
	return populate_new(s, r, flags, result, length);
}

verdict vm_unmap(struct request *r, uint64_t address, uint64_t length)
{
	int64_t result;

	if (length == 0 || check_range(address, length) != 0)
		return refuse(r, EINVAL);
	result = unmap_for(space_of(r->task), r, address, address + PAGE_UP(length));
	return result == UNDER_WAY ? PARKED : answer(r, result);
}

int64_t vm_map_object(uint32_t task, uint64_t address, uint64_t length, uint32_t protection, uint32_t flags,
		      uint32_t object, uint64_t offset, uint32_t writable, uint64_t *out_address)
{
	struct space *s = space_of(task);
	int64_t bits = bits_for(protection, flags), result;
	struct region new = { .object = object, .index = offset / PAGE, .bits = (uint32_t)bits };

	if (s == NULL || object_of(object) == NULL || offset % PAGE != 0)
		return -EINVAL;
	TRY(bits);
	if (bits & REGION_SHARED && !writable) {
		if (protection & PROT_WRITE)
			return -EACCES;
		new.bits |= REGION_NO_WRITE;
	}
	if (offset + PAGE_UP(length) < offset)
		return -EOVERFLOW;
	if (space_is_large(s) && change_is_under_way(s, task))
		return -EWAIT;
	if (space_is_large(s) && replaces(address, length, flags) &&
	    unmap_share(s, address, address + PAGE_UP(length)) == UNDER_WAY)
		return ask_again(ENDPOINT_VFS, VFS_DISK_READY);
	result = map_region(s, address, length, flags, new);
	if (result == -ENOMEM && vm_reap() > 0)
		return ask_again(ENDPOINT_VFS, VFS_DISK_READY);
	TRY(result);
	*out_address = (uint64_t)result;
	return is_populated(s, flags);
}

int64_t vm_populate(uint32_t task, uint64_t address, uint64_t length, uint64_t *out_next)
{
	struct space *s = space_of(task);
	struct share share = { .at = address, .work = SHARE_PAGES };
	uint64_t end = address + PAGE_UP(length);

	*out_next = end;
	if (s == NULL || check_range(address, length) != 0)
		return -EINVAL;
	if (share_of(s, &share, end, act_populate) == UNDER_WAY)
		*out_next = share.at;
	return 0;
}

int64_t vm_map_zeros(uint32_t task, uint64_t address, uint64_t length, uint32_t protection)
{
	struct space *s = space_of(task);

	if (s == NULL)
		return -EINVAL;
	TRY(map_region(s, address, length, MAP_FIXED_NOREPLACE, (struct region){ .bits = protection & PROT_ALL }));
	return 0;
}
