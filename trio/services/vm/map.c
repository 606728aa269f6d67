/* map.c: mappings come and go: mmap and munmap. */
#include "vm.h"

int64_t check_range(uint64_t address, uint64_t length)
{
	if (address % PAGE != 0 || address > USER_TOP || length > USER_TOP - address)
		return -EINVAL;
	return 0;
}

int64_t drop_regions(struct space *s, uint64_t begin, uint64_t end)
{
	struct cursor at = region_after(s, begin);
	const struct region *r;
	int64_t promised = 0;

	while ((r = region_at(s, at)) != NULL && r->begin < end) {
		struct region gone = *r;

		space_resident(s, -kernel_space_unmap(s->number, gone.begin, region_pages(&gone)));
		space_account(s, -(int64_t)region_pages(&gone), gone.bits);
		object_unmapped(gone.object);
		region_erase(s, at);
		at = region_after(s, begin);
		promised += promise_for(s, at, gone.begin, gone.end, gone.bits);
	}
	place_freed(s, r);
	return promised;
}

int64_t unmap_range(struct space *s, uint64_t begin, uint64_t end)
{
	const struct region *r = region_at(s, region_after(s, begin));

	if (r == NULL || r->begin >= end)
		return 0;
	/* For a moment there is one more. */
	if (!regions_isolate(s, begin, end, r->begin < begin && r->end > end ? REGIONS_MOST + 1 : UINT32_MAX))
		return -ENOMEM;
	/* committed */
	(void)space_promise(s, -drop_regions(s, begin, end));
	return 0;
}

/* Pages of a range that are mapped already. */
static uint64_t pages_mapped(const struct space *s, uint64_t begin, uint64_t end)
{
	struct cursor at = region_after(s, begin);
	uint64_t pages = 0;

	for (const struct region *r; (r = region_at(s, at)) != NULL && r->begin < end; cursor_next(s, &at))
		pages += (MIN(r->end, end) - MAX(r->begin, begin)) / PAGE;
	return pages;
}

/* The address for a mapping, as flags and hint say, or a negative errno. */
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
		if (flags & MAP_FIXED_NOREPLACE && !space_is_empty(s, hint, hint + length))
			return -EEXIST;
		return (int64_t)hint;
	}
	if (hint != 0 && hint < USER_TOP) {
		hint = MAX(PAGE_UP(hint), USER_LOW);
		if (length <= USER_TOP - hint && space_is_empty(s, hint, hint + length))
			return (int64_t)hint;
	}
	placed = space_place(s, length, flags & MAP_32BIT ? 1UL << 31 : 0);
	return placed == 0 ? -ENOMEM : (int64_t)placed;
}

int64_t make_place(struct space *s, uint64_t hint, uint64_t length, uint32_t flags, uint32_t bits)
{
	int64_t chosen = choose(s, hint, length, flags);
	uint64_t begin = (uint64_t)chosen, pages = length / PAGE;

	if (chosen < 0)
		return chosen;
	if (!space_may_grow(s, pages, bits) && !space_may_grow(s, pages - pages_mapped(s, begin, begin + length), bits))
		return -ENOMEM;
	if (s->regions >= REGIONS_MOST || unmap_range(s, begin, begin + length) != 0 || !regions_reserve(s, begin))
		return -ENOMEM;
	return chosen;
}

bool place_region(struct space *s, uint64_t begin, uint64_t length, struct region *new, int64_t already,
		  struct cursor *at)
{
	new->bits = promised_bits(new->bits, new->object);
	new->begin = begin;
	new->end = begin + length;
	*at = region_after(s, begin);
	if (!space_promise(s, promise_for(s, *at, begin, new->end, new->bits) - already))
		return false;
	/* committed */
	object_mapped(new->object);
	*at = region_insert(s, *at, new);
	space_account(s, (int64_t)(length / PAGE), new->bits);
	return true;
}

int64_t map_region(struct space *s, uint64_t address, uint64_t length, uint32_t flags, struct region new)
{
	struct cursor at;
	int64_t chosen;
	uint64_t begin;

	if (length == 0)
		return -EINVAL;
	if (length > USER_TOP)
		return -ENOMEM;
	length = PAGE_UP(length);
	chosen = make_place(s, address, length, flags, new.bits);
	if (chosen < 0)
		return chosen;
	begin = (uint64_t)chosen;
	if (!place_region(s, begin, length, &new, 0, &at))
		return -ENOMEM;
	/* committed */
	(void)cursor_previous(s, &at);
	regions_merge_from(s, at, begin + length);
	/* That all of it is there is no condition of mmap's. */
	if (flags & (MAP_POPULATE | MAP_LOCKED) || s->populates)
		(void)populate(s, region_find(s, begin), begin, begin + length);
	return chosen;
}

/* Bits of a region for mmap's flags, or a negative errno. */
static int64_t bits_for(uint32_t protection, uint32_t flags)
{
	uint32_t type = flags & MAP_TYPE;

	if (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (flags & MAP_HUGETLB)
		return -ENOMEM;
	return (protection & PROT_ALL) | (type == MAP_PRIVATE ? 0 : REGION_SHARED);
}

verdict vm_map_anonymous(struct vm *self, struct request *r, uint64_t address, uint64_t length, uint32_t protection,
			 uint32_t flags)
{
	struct space *s = space_of(r->task);
	int64_t bits = bits_for(protection, flags), result;
	struct region new = { .bits = (uint32_t)bits };

	if (bits < 0)
		return settle(r, bits);
	/* Without a file there is nobody to validate flags. */
	if ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE)
		return refuse(r, EINVAL);
	if (flags & MAP_GROWSDOWN && !(bits & REGION_SHARED))
		new.bits |= REGION_DOWN;
	if (!(bits & REGION_SHARED))
		return settle(r, map_region(s, address, length, flags, new));
	result = vm_object_create(self, &new.object);
	if (result != 0)
		return settle(r, result);
	(void)vm_object_resize(self, new.object, PAGE_UP(length));
	result = object_promise(new.object, PAGE_UP(length) / PAGE);
	if (result == 0)
		result = map_region(s, address, length, flags, new);
	(void)vm_object_drop(self, new.object);
	return settle(r, result);
}

verdict vm_unmap(struct vm *self, struct request *r, uint64_t address, uint64_t length)
{
	(void)self;
	if (length == 0 || check_range(address, length) != 0)
		return refuse(r, EINVAL);
	return settle(r, unmap_range(space_of(r->task), address, address + PAGE_UP(length)));
}

int64_t vm_map_object(struct vm *self, uint32_t task, uint64_t address, uint64_t length, uint32_t protection,
		      uint32_t flags, uint32_t object, uint64_t offset, uint32_t writable, uint64_t *out_address)
{
	struct space *s = space_of(task);
	int64_t bits = bits_for(protection, flags), result;
	struct region new = { .object = object, .index = offset / PAGE, .bits = (uint32_t)bits };

	(void)self;
	if (s == NULL || object_of(object) == NULL || offset % PAGE != 0)
		return -EINVAL;
	if (bits < 0)
		return bits;
	if (bits & REGION_SHARED && !writable) {
		if (protection & PROT_WRITE)
			return -EACCES;
		new.bits |= REGION_NO_WRITE;
	}
	if (offset + PAGE_UP(length) < offset)
		return -EOVERFLOW;
	result = map_region(s, address, length, flags, new);
	if (result < 0)
		return result;
	*out_address = (uint64_t)result;
	return 0;
}

int64_t vm_map_zeros(struct vm *self, uint32_t task, uint64_t address, uint64_t length, uint32_t protection)
{
	struct space *s = space_of(task);
	int64_t result;

	(void)self;
	if (s == NULL)
		return -EINVAL;
	result = map_region(s, address, length, MAP_FIXED_NOREPLACE, (struct region){ .bits = protection & PROT_ALL });
	return result < 0 ? result : 0;
}
