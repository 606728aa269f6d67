/* map.c: mappings come and go: mmap and munmap. */
#include "vm.h"

int64_t check_range(uint64_t address, uint64_t length)
{
	if (address % PAGE != 0 || address > USER_TOP || length > USER_TOP - address)
		return -EINVAL;
	return 0;
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
	for (;;) {
		struct cursor at = region_after(s, begin);

		r = region_at(s, at);
		if (r == NULL || r->begin >= end)
			break;
		space_resident(s, -kernel_space_unmap(s->number, r->begin, region_pages(r)));
		space_account(s, -(int64_t)region_pages(r), r->bits);
		object_unmapped(r->object);
		region_erase(s, at);
	}
	place_freed(s, end);
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

int64_t map_region(struct space *s, uint64_t address, uint64_t length, uint32_t flags, struct region new)
{
	uint64_t pages = PAGE_UP(length) / PAGE, begin;
	int64_t chosen;

	if (length == 0)
		return -EINVAL;
	if (length > USER_TOP)
		return -ENOMEM;
	length = pages * PAGE;
	chosen = choose(s, address, length, flags);
	if (chosen < 0)
		return chosen;
	begin = (uint64_t)chosen;
	if (!space_may_grow(s, pages, new.bits) &&
	    !space_may_grow(s, pages - pages_mapped(s, begin, begin + length), new.bits))
		return -ENOMEM;
	/* More than there could ever be, and wanted for certain: Linux's heuristic refuses that alone too. */
	if (counts_as_data(new.bits) && !(flags & MAP_NORESERVE) && pages > memory_pages)
		return -ENOMEM;
	if (s->regions >= REGIONS_MOST || unmap_range(s, begin, begin + length) != 0 || !regions_reserve(s, begin))
		return -ENOMEM;
	/* committed */
	new.begin = begin;
	new.end = begin + length;
	object_mapped(new.object);
	region_insert(s, &new);
	space_account(s, (int64_t)pages, new.bits);
	regions_merge(s, new.begin, new.end);
	if (flags & (MAP_POPULATE | MAP_LOCKED))
		populate(s, new.begin, new.end);
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
	if (type == MAP_SHARED_VALIDATE && flags & MAP_SYNC)
		return -EOPNOTSUPP;
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
	if (flags & MAP_GROWSDOWN && !(bits & REGION_SHARED))
		new.bits |= REGION_DOWN;
	if (!(bits & REGION_SHARED))
		return settle(r, map_region(s, address, length, flags, new));
	if (length > memory_pages * PAGE && !(flags & MAP_NORESERVE))
		return refuse(r, ENOMEM);
	result = vm_object_create(self, &new.object);
	if (result != 0)
		return settle(r, result);
	(void)vm_object_resize(self, new.object, PAGE_UP(length));
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
