/* vm.c: which task lives in which space; spaces are made, copied and ended; the service's table of handlers. */
#include "vm.h"
#include "endpoints.h"
#include "pm.h"

/* Kept free below the top for the stack, at least. */
#define STACK_ROOM (128UL << 20)

struct space *spaces[TASKS], *lives_in[TASKS];
/* Those that are free. */
static uint16_t numbers[TASKS];
static uint32_t number_count;

void vm_start(void)
{
	_Static_assert(sizeof(struct space) <= PAGE && sizeof(struct chunk) <= PAGE, "they have a page each");
	for (uint32_t i = 0; i < TASKS; i++)
		numbers[i] = (uint16_t)(TASKS - 1 - i);
	number_count = TASKS;
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

/* An empty one, that no task lives in; NULL: no memory. */
static struct space *space_make(void)
{
	struct space *s;
	uint32_t number;

	if (number_count == 0)
		return NULL;
	s = pages_take(1);
	if (s == NULL)
		return NULL;
	number = numbers[number_count - 1];
	if (kernel_space_create(number) != 0) {
		pages_give(s, 1);
		return NULL;
	}
	/* committed */
	number_count--;
	spaces[number] = s;
	s->number = number;
	s->limit_space = s->limit_data = UINT64_MAX;
	forget_places(s, USER_TOP, STACK_ROOM);
	regions_start(s);
	return s;
}

/* Everything mapped is dropped; of what was promised `kept` pages stay so. */
static void space_empty(struct space *s, int64_t kept)
{
	struct cursor at = { 0, 0 };

	for (const struct region *r = region_at(s, at); r != NULL; r = region_next(s, &at)) {
		(void)kernel_space_unmap(s->number, r->begin, region_pages(r));
		object_unmapped(r->object);
	}
	regions_end(s);
	(void)kernel_memory_promise(kept - s->promised);
	s->promised = s->kept = kept;
	s->pages = s->data = s->resident = s->peak = 0;
	s->heap = s->heap_end = 0;
}

static void space_end(struct space *s)
{
	space_empty(s, 0);
	(void)kernel_space_destroy(s->number);
	spaces[s->number] = NULL;
	numbers[number_count++] = (uint16_t)s->number;
	pages_give(s, 1);
}

static void enter(uint32_t task, struct space *s)
{
	s->users++;
	lives_in[task] = s;
	(void)kernel_space_use(task, s->number);
}

/* The process service is told at once that it can ask again. */
static int64_t ask_again(void)
{
	notify(ENDPOINT_PM, PM_DISK_READY);
	return -EWAIT;
}

int64_t vm_leave(uint32_t task)
{
	struct space *s = space_of(task);

	if (s == NULL)
		return 0;
	if (s->users == 1 && space_is_large(s) && unmap_share(s, 0, USER_TOP) == UNDER_WAY)
		return ask_again();
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

	if (task >= TASKS || kept < 0)
		return -EINVAL;
	if (old != NULL && old->users == 1) {
		INVARIANT(old->promised == promise_for_all(old, 0) + old->kept);
		more = MAX(kept - old->promised, 0);
		if (!space_promise(old, more))
			return vm_reap() > 0 ? ask_again() : -ENOMEM;
		/* committed */
		old->kept += more;
		if (space_is_large(old) && !drop_share(old, 0, USER_TOP))
			return ask_again();
		space_empty(old, kept);
		forget_places(old, USER_TOP, STACK_ROOM);
		return 0;
	}
	new = space_make();
	if (new == NULL)
		return -ENOMEM;
	if (!space_promise(new, kept)) {
		space_end(new);
		return -ENOMEM;
	}
	/* committed */
	new->kept = kept;
	if (old != NULL) {
		new->limit_space = old->limit_space;
		new->limit_data = old->limit_data;
	}
	(void)vm_leave(task);
	enter(task, new);
	return 0;
}

/* A region for the child, without its pages. */
static int64_t copy_region(struct space *to, const struct region *r)
{
	if (!region_append(to, r))
		return -ENOMEM;
	object_mapped(r->object);
	space_account(to, (int64_t)region_pages(r), r->bits);
	return 0;
}

/* All that the child's space has from the beginning; false: no memory. */
static bool copy_begin(struct space *from, struct space *to)
{
	to->heap = from->heap;
	to->heap_end = from->heap_end;
	to->stack_top = from->stack_top;
	to->stack_most = from->stack_most;
	to->place_top = from->place_top;
	to->place_from = from->place_from;
	to->hole_most = from->hole_most;
	to->limit_space = from->limit_space;
	to->limit_data = from->limit_data;
	return space_promise(to, from->some_stay ? promise_for_all(from, REGION_NO_FORK) : from->promised);
}

static int64_t space_copy(struct space *from, struct space *to)
{
	struct cursor at = { 0, 0 };

	for (const struct region *r = region_at(from, at); r != NULL; r = region_next(from, &at)) {
		if (r->bits & REGION_NO_FORK)
			continue;
		TRY(copy_region(to, r));
		space_resident(to, kernel_space_share(from->number, to->number, r->begin, region_pages(r),
						      !(r->bits & REGION_SHARED)));
	}
	return 0;
}

/* A share of the same. 0: all is copied; UNDER_WAY; -ENOMEM. */
static int64_t copy_share(struct space *from, struct space *to)
{
	const struct region *r;

	for (int64_t work = SHARE_PAGES; (r = region_at(from, region_after(from, from->copied))) != NULL;) {
		uint64_t begin = MAX(from->copied, r->begin);
		int64_t copied;

		if (work <= 0)
			return UNDER_WAY;
		work -= REGION_WORK;
		if (r->bits & REGION_NO_FORK) {
			from->copied = r->end;
			continue;
		}
		if (begin == r->begin)
			TRY(copy_region(to, r));
		copied = kernel_space_copy(from->number, to->number, begin, (r->end - begin) / PAGE,
					   !(r->bits & REGION_SHARED), (uint64_t)MAX(work, 1), &from->copied);
		space_resident(to, copied);
		work -= copied;
	}
	/* A stack may have grown meanwhile. */
	return space_promise(to, promise_for_all(to, 0) - to->promised) ? 0 : -ENOMEM;
}

/* Of a space that is large: EWAIT until it is copied, or until what was copied is gone where that failed. */
static int64_t copy_by_shares(struct space *from, uint32_t parent, struct space *to)
{
	int64_t result;

	if (from->copy == NULL) {
		from->copy = to;
		from->copied = 0;
		from->copy_error = 0;
		change_claim(from, parent);
	}
	if (from->copy_error == 0) {
		result = copy_share(from, to);
		if (result == -ENOMEM) {
			from->copy_error = result;
			result = UNDER_WAY;
		}
	} else {
		result = unmap_share(to, 0, USER_TOP);
	}
	if (result == UNDER_WAY)
		return ask_again();
	from->copy = NULL;
	change_end(from);
	return from->copy_error;
}

int64_t vm_fork(uint32_t parent, uint32_t child, uint32_t share)
{
	struct space *from = space_of(parent), *to;
	int64_t result;

	if (from == NULL || child >= TASKS)
		return -EINVAL;
	if (share) {
		enter(child, from);
		return 0;
	}
	if (change_is_under_way(from, parent))
		return -EWAIT;
	to = from->copy != NULL ? from->copy : space_make();
	if (to == NULL)
		return -ENOMEM;
	if (from->copy == NULL && !copy_begin(from, to))
		result = -ENOMEM;
	else
		result = space_is_large(from) ? copy_by_shares(from, parent, to) : space_copy(from, to);
	if (result == -EWAIT)
		return result;
	if (result != 0) {
		space_end(to);
		return vm_reap() > 0 ? ask_again() : result;
	}
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
