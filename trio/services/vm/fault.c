/* fault.c: page faults on absent and read-only pages. Pages of zeros are made at the first access, even a read. Private
 * pages are copied at the first write. */
#include "vm_internal.h"
#include "endpoints.h"

/* With a page of an object the neighbours that the object has are mapped: an aligned 64 KiB, as on Linux, so that
 * reading a mapped file costs one fault for that many. For a device as far as one table reaches. */
#define AROUND 16UL
#define AROUND_DEVICE 512UL

/* Grows a stack down to the address if it may. Returns NULL if not. */
static struct region *stack_grow(struct space *s, uint64_t address)
{
	struct region *r = region_after(s, address);
	uint64_t begin = PAGE_DOWN(address), pages;

	if (!(r->bits & REGION_DOWN) || r->end - begin > s->stack_most || begin < USER_LOW)
		return NULL;
	if (begin < region_previous(s, r)->end + STACK_GAP)
		return NULL;
	pages = (r->begin - begin) / PAGE;
	/* No call can be refused here: without memory the access is outside of the stack. */
	if (!space_may_grow(s, pages, r->bits) || !space_promise(s, promise_for(s, r, begin, r->begin, r->bits)))
		return NULL;
	r->begin = begin;
	space_account(s, (int64_t)pages, r->bits);
	return r;
}

static int64_t fault_zeros(struct space *s, const struct region *r, uint64_t at, uint32_t access)
{
	if (access & VM_ACCESS_PRESENT)
		return access & VM_ACCESS_WRITE ? kernel_space_private(s->number, at, r->bits & PROT_ALL) : 0;
	(void)kernel_space_zero(s->number, at, r->bits & PROT_ALL);
	space_resident(s, 1);
	return 0;
}

/* The protection while a page must not yet be written. Writable pages are always readable on x86, so a write-only page
 * becomes readable; without any right it would count as absent forever. */
static uint32_t without_write(uint32_t protection)
{
	return (protection & ~(uint32_t)PROT_WRITE) | PROT_READ;
}

static void map_frames(struct space *s, uint64_t at, uint64_t frame, uint64_t count, uint32_t protection)
{
	space_resident(s, kernel_space_map(s->number, at, frame, count, protection));
}

/* Maps the pages that the object has, in runs of consecutive frames. */
static void map_around(struct space *s, const struct region *r, struct object *o, uint64_t at, uint32_t protection)
{
	uint64_t window = (o->kind == OBJECT_DEVICE ? AROUND_DEVICE : AROUND) * PAGE;
	uint64_t begin = MAX(at & ~(window - 1), r->begin), end = MIN((at & ~(window - 1)) + window, r->end);
	uint64_t first = 0, count = 0, from = begin;

	/* The page itself is already mapped. */
	if (end - begin == PAGE)
		return;
	for (uint64_t page = begin; page < end; page += PAGE) {
		uint64_t frame = object_frame(o, r->index + (page - r->begin) / PAGE, false);

		if (frame != 0 && frame == first + count * PAGE) {
			count++;
			continue;
		}
		if (count != 0)
			map_frames(s, from, first, count, protection | KERNEL_MAP_KEEP);
		first = frame;
		count = frame != 0;
		from = page;
	}
	if (count != 0)
		map_frames(s, from, first, count, protection | KERNEL_MAP_KEEP);
}

/* Handles a page that the object does not have. */
static __attribute__((noinline)) int64_t fault_frameless(struct space *s, const struct region *r, uint64_t at,
							 uint32_t access)
{
	if (object_of(r->object)->kind == OBJECT_PAGED)
		return paged_absent(r->object, r->index + (at - r->begin) / PAGE);
	/* A hole without a page reads as zeros if a page is promised to the reader. */
	return r->bits & REGION_PROMISED ? fault_zeros(s, r, at, access) : -ENOMEM;
}

static int64_t fault_object(struct space *s, const struct region *r, uint64_t at, uint32_t access)
{
	struct object *o = object_of(r->object);
	uint64_t index = r->index + (at - r->begin) / PAGE;
	uint32_t protection = r->bits & PROT_ALL, first;
	bool shared = r->bits & REGION_SHARED, copies = access & VM_ACCESS_WRITE && !shared;
	uint64_t frame;

	if (!object_reaches(o, index))
		return -ENXIO;
	if (access & VM_ACCESS_PRESENT) {
		if (copies)
			return kernel_space_private(s->number, at, protection);
		return kernel_space_protect(s->number, at, 1, protection, !shared);
	}
	frame = object_frame(o, index, !copies);
	if (frame == 0)
		return fault_frameless(s, r, at, access);
	first = shared ? protection : without_write(protection);
	map_frames(s, at, frame, 1, first);
	if (copies)
		return kernel_space_private(s->number, at, protection);
	if (!(access & VM_ACCESS_WRITE) || o->kind == OBJECT_DEVICE)
		map_around(s, r, o, at, first);
	return 0;
}

int64_t space_fault(struct space *s, uint64_t address, uint32_t access)
{
	const struct region *r = region_find(s, address);
	uint32_t wanted = PROT_ALL;

	if (r == NULL && (r = stack_grow(s, address)) == NULL)
		return -EFAULT;
	if (access & VM_ACCESS_WRITE)
		wanted = PROT_WRITE;
	else if (access & VM_ACCESS_FETCH)
		wanted = PROT_EXEC;
	if (!(r->bits & wanted))
		return -EACCES;
	if (r->object != 0)
		return fault_object(s, r, PAGE_DOWN(address), access);
	return fault_zeros(s, r, PAGE_DOWN(address), access);
}

int64_t vm_fault(uint32_t task, uint64_t address, uint32_t access)
{
	struct space *s = space_of(task);

	if (s == NULL || address >= USER_TOP)
		return -EFAULT;
	return space_fault(s, address, access);
}

int64_t user_place(struct space *s, uint64_t address, bool write, void **place)
{
	uint32_t wanted = write ? PROT_WRITE : PROT_READ, protection = 0;
	uint64_t frame, at;
	int64_t result;

	/* The page is absent, then must be copied, then is there. */
	for (unsigned tries = 0; tries < 3; tries++) {
		bool there = kernel_space_find(s->number, PAGE_DOWN(address), &frame, &protection) == 0;

		if (there && protection & wanted) {
			result = kernel_frame_address(frame, ENDPOINT_VM, &at);
			*place = (void *)(at + address % PAGE);
			return result;
		}
		result = space_fault(s, address, (there ? VM_ACCESS_PRESENT : 0) | (write ? VM_ACCESS_WRITE : 0));
		if (result != 0)
			return result == -EWAIT ? result : -EFAULT;
	}
	return -EFAULT;
}
