/* vm.c: which task uses which space; how spaces are made, copied and ended; the service's table of handlers. */
#include "vm_internal.h"
#include "endpoints.h"
#include "pm.h"

/* The least room that is kept free for the stack below the top. */
#define STACK_ROOM (128UL << 20)

struct space *spaces[TASKS], *lives_in[TASKS];
_Static_assert(sizeof(struct space) <= PAGE, "each has a page");

void vm_start(void)
{
}

void vm_notified(uint64_t bits)
{
	if (bits & 1UL << NOTIFY_ALARM)
		(void)vm_reap();
}

static void forget_places(struct space *s, uint64_t top, uint64_t stack)
{
	uint64_t room = MAX(MIN(stack, top / 6 * 5), STACK_ROOM);

	s->place_top = s->place_from = PAGE_DOWN(top - room);
	s->hole_most = 0;
}

/* Makes an empty space without tasks, with `promised` pages. Returns NULL if memory is short. */
static struct space *space_make(int64_t promised)
{
	struct space *s;
	static uint32_t number;

	for (uint32_t tried = 0; spaces[number] != NULL && tried < TASKS; tried++)
		number = (number + 1) % TASKS;
	s = spaces[number] == NULL ? pages_take(1) : NULL;
	if (s == NULL)
		return NULL;
	if (kernel_space_create(number, promised) != 0) {
		pages_give(s, 1);
		return NULL;
	}
	/* committed */
	spaces[number] = s;
	s->promised = promised;
	s->number = number;
	s->limit_space = s->limit_data = UINT64_MAX;
	forget_places(s, USER_TOP, STACK_ROOM);
	regions_start(s);
	return s;
}

/* The last of the regions that follow `r` without a gap and have the same sharing; the kernel unmaps them at once. */
static struct region *last_of_run(const struct space *s, struct region *r)
{
	struct region *next;

	while ((next = region_next(s, r))->begin == r->end && !((next->bits ^ r->bits) & REGION_SHARED))
		r = next;
	return r;
}

/* Unmaps everything. */
static void space_empty(struct space *s)
{
	uint64_t next;

	REGION_EACH (r, s) {
		uint64_t begin = r->begin;

		r = last_of_run(s, r);
		(void)kernel_space_unmap(s->number, begin, (r->end - begin) / PAGE, UINT64_MAX, &next);
	}
	/* The regions held the objects. */
	REGION_EACH (r, s)
		object_unmapped(r->object);
	regions_end(s);
}

static void space_end(struct space *s)
{
	space_empty(s);
	(void)kernel_space_destroy(s->number, s->promised);
	spaces[s->number] = NULL;
	pages_give(s, 1);
}

static void enter(uint32_t task, struct space *s)
{
	s->users++;
	lives_in[task] = s;
	(void)kernel_space_use(task, s->number);
}

int64_t vm_leave(uint32_t task, uint64_t *out_peak)
{
	struct space *s = space_of(task);

	if (s == NULL)
		return 0;
	*out_peak = s->peak;
	if (s->users == 1 && space_is_large(s) && unmap_share(s, 0, USER_TOP) == UNDER_WAY)
		return ask_again(ENDPOINT_PM, PM_DISK_READY);
	lives_in[task] = NULL;
	(void)kernel_space_use(task, TASKS);
	if (--s->users > 0)
		return 0;
	INVARIANT(s->promised == promise_for_all(s, 0) + s->kept);
	space_end(s);
	return 0;
}

int64_t vm_renew(uint32_t task, uint64_t pages)
{
	struct space *old = space_of(task), *new;
	int64_t kept = (int64_t)pages, more;
	uint64_t peak, next;

	if (task >= TASKS || kept < 0)
		return -EINVAL;
	if (old != NULL && old->users == 1) {
		INVARIANT(old->promised == promise_for_all(old, 0) + old->kept);
		more = MAX(kept - old->promised, 0);
		if (!space_promise(old, more))
			return vm_reap() > 0 ? ask_again(ENDPOINT_PM, PM_DISK_READY) : -ENOMEM;
		/* committed */
		old->kept += more;
		if (space_is_large(old)) {
			(void)drop_pages(old, 0, USER_TOP, SHARE_PAGES, &next);
			if (next < USER_TOP)
				return ask_again(ENDPOINT_PM, PM_DISK_READY);
		}
		space_empty(old);
		(void)kernel_memory_promise(kept - old->promised);
		old->promised = old->kept = kept;
		old->pages = old->data = old->resident = old->peak = 0;
		old->heap = old->heap_end = 0;
		forget_places(old, USER_TOP, STACK_ROOM);
		return 0;
	}
	new = space_make(kept);
	if (new == NULL)
		return vm_reap() > 0 ? ask_again(ENDPOINT_PM, PM_DISK_READY) : -ENOMEM;
	/* committed */
	new->kept = kept;
	if (old != NULL) {
		new->limit_space = old->limit_space;
		new->limit_data = old->limit_data;
	}
	(void)vm_leave(task, &peak);
	enter(task, new);
	return 0;
}

/* Makes the space of a fork's child with everything except the pages. Returns NULL if memory is short. */
static struct space *child_make(const struct space *from)
{
	uint32_t without = from->some_stay ? REGION_NO_FORK : 0;
	struct space *s = space_make(without ? promise_for_all(from, without) : from->promised);

	if (s == NULL)
		return NULL;
	memcpy(&s->heap, &from->heap, offsetof(struct space, pages) - offsetof(struct space, heap));
	if (regions_copy(s, from, without))
		return s;
	space_end(s);
	return NULL;
}

static void space_copy(const struct space *from, struct space *to)
{
	uint64_t next;

	REGION_EACH (r, to) {
		uint64_t begin = r->begin;

		r = last_of_run(to, r);
		space_resident(to, kernel_space_share(from->number, to->number, begin, (r->end - begin) / PAGE,
						      !(r->bits & REGION_SHARED), UINT64_MAX, &next));
	}
}

static int64_t act_copy(struct space *to, struct region *r, uint64_t end, struct share *share)
{
	int64_t copied = kernel_space_share(share->with, to->number, share->at, (end - share->at) / PAGE,
					    !(r->bits & REGION_SHARED), (uint64_t)MAX(share->work, 1), &share->at);

	space_resident(to, copied);
	share->work -= copied;
	return 0;
}

/* Copies the pages of a large space. Returns -EWAIT until all are copied. */
static int64_t copy_by_shares(struct space *from, uint32_t parent, struct space *to)
{
	struct share share = { .work = SHARE_PAGES, .at = from->copied, .with = from->number };

	change_claim(from, parent);
	from->copy = to;
	if (share_of(to, &share, USER_TOP, act_copy) == UNDER_WAY) {
		from->copied = share.at;
		return ask_again(ENDPOINT_PM, PM_DISK_READY);
	}
	from->copy = NULL;
	from->copied = 0;
	change_end(from);
	return 0;
}

int64_t vm_fork(uint32_t parent, uint32_t child, uint32_t share)
{
	struct space *from = space_of(parent), *to;

	if (from == NULL || child >= TASKS)
		return -EINVAL;
	if (share) {
		enter(child, from);
		return 0;
	}
	if (change_is_under_way(from, parent))
		return -EWAIT;
	to = from->copy != NULL ? from->copy : child_make(from);
	if (to == NULL)
		return vm_reap() > 0 ? ask_again(ENDPOINT_PM, PM_DISK_READY) : -ENOMEM;
	if (space_is_large(from))
		TRY(copy_by_shares(from, parent, to));
	else
		space_copy(from, to);
	enter(child, to);
	return 0;
}

int64_t vm_set_limits(uint32_t task, uint64_t heap, uint64_t top, uint64_t stack, uint64_t first)
{
	struct space *s = space_of(task);
	int64_t result, left;

	if (s == NULL || heap > USER_TOP || top > USER_TOP || top % PAGE != 0 || top < STACK_ROOM || first > STACK_ROOM)
		return -EINVAL;
	s->heap = s->heap_end = heap;
	s->stack_top = top;
	s->stack_most = PAGE_DOWN(MIN(stack, top / 6 * 5));
	forget_places(s, top, s->stack_most);
	first = MAX(MIN(PAGE_UP(first), s->stack_most), PAGE);
	result = map_region(s, top - first, first, MAP_FIXED_NOREPLACE,
			    (struct region){ .bits = PROT_READ | PROT_WRITE | REGION_DOWN });
	left = s->kept;
	s->kept = 0;
	(void)space_promise(s, -left);
	return MIN(result, 0);
}

int64_t vm_limit(uint32_t task, uint64_t space, uint64_t data)
{
	struct space *s = space_of(task);

	if (s == NULL)
		return -EINVAL;
	s->limit_space = space;
	s->limit_data = data;
	return 0;
}

int64_t vm_usage(uint32_t task, uint64_t *out_pages, uint64_t *out_resident, uint64_t *out_peak)
{
	const struct space *s = space_of(task);

	if (s == NULL)
		return -ESRCH;
	*out_pages = s->pages;
	*out_resident = s->resident;
	*out_peak = s->peak;
	return 0;
}

const struct vm_service vm_service = VM_HANDLERS;
