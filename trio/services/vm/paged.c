/* paged.c: objects whose pages vfs reads when they are touched: files on a disk. vm cannot call vfs. It notes the
 * wanted pages and notifies vfs, which asks for them, reads them and reports. Meanwhile the program waits in vm.await;
 * then it touches the page again.
 *
 * A page that is being read already has a frame in the object's tree, with a mark in its word's lowest bits. Nobody is
 * guaranteed to read it, so whoever finds it marked requests it again. */
#include "vm_internal.h"
#include "endpoints.h"
#include "vfs.h"

/* Marks of a word: its contents are still to come; they could not be read, which is reported once. */
#define COMING 1UL
#define FAILED 2UL

/* The most pages that one madvise() requests. */
#define NEED_MOST 512UL

/* The pages that a task wants. It waits for one page at a time. */
struct want {
	struct link link;
	uint32_t object;
	uint64_t index, count;
};

static struct want wants[TASKS];
/* Wants that vfs has not asked for yet. */
static struct link wanted = { &wanted, &wanted };
/* Objects that nobody holds any more, to be reported; a list by `next`, 0 at its end. */
static uint32_t unheld;
/* The last page that paged_absent() found absent. */
static struct want absent;

#define QUEUES 64U
static struct queue waiters[QUEUES];

static struct queue *waiters_of(uint32_t object, uint64_t index)
{
	return &waiters[(object * 31 + index) % QUEUES];
}

static struct object *paged_of(uint32_t object)
{
	struct object *o = object_of(object);

	return o != NULL && o->kind == OBJECT_PAGED ? o : NULL;
}

bool paged_is_there(uint64_t word)
{
	return word != 0 && !(word & (COMING | FAILED));
}

/* Gives the page a frame without contents. Returns false if memory is short. */
static bool begin_coming(struct object *o, uint64_t *word)
{
	if (*word == 0) {
		if (kernel_frame_take(0, word) != 0) {
			*word = 0;
			return false;
		}
		o->coming++;
	}
	*word = (*word & ~FAILED) | COMING;
	return true;
}

static void give_up(struct object *o, uint64_t *word)
{
	(void)kernel_frame_drop(PAGE_DOWN(*word), 0);
	*word = 0;
	o->coming--;
}

int64_t paged_absent(uint32_t object, uint64_t index)
{
	struct object *o = object_of(object);
	uint64_t *word = object_place(o, index);

	if (word == NULL)
		return -ENOMEM;
	if (*word & FAILED) {
		give_up(o, word);
		return -EIO;
	}
	absent = (struct want){ .object = object, .index = index };
	return begin_coming(o, word) ? -EWAIT : -ENOMEM;
}

static void want(uint32_t task, uint32_t object, uint64_t index, uint64_t count)
{
	struct want *w = &wants[task];

	w->object = object;
	w->index = index;
	w->count = count;
	if (!w->link.next)
		list_add(&wanted, &w->link);
	notify(ENDPOINT_VFS, VFS_PAGES);
}

verdict answer_or_wait(struct request *r, int64_t result, enum ends ends)
{
	if (result != -EWAIT)
		return answer(r, result);
	want(r->task, absent.object, absent.index, 1);
	(void)park(waiters_of(absent.object, absent.index), r);
	r->ends = (uint8_t)ends;
	return PARKED;
}

/* Requests only the first matching region: madvise is a hint. */
void paged_need(struct space *s, uint32_t task, uint64_t begin, uint64_t end)
{
	for (struct region *r = region_after(s, begin); r->begin < end; r = region_next(s, r)) {
		uint64_t first = MAX(r->begin, begin);

		if (paged_of(r->object) == NULL)
			continue;
		want(task, r->object, r->index + (first - r->begin) / PAGE,
		     MIN((MIN(r->end, end) - first) / PAGE, NEED_MOST));
		return;
	}
}

/* Another thread may have made the page present meanwhile. */
verdict vm_await(struct request *r, uint64_t address, uint32_t access)
{
	struct space *s = space_of(r->task);
	uint32_t protection;
	uint64_t frame;

	if (s == NULL || address >= USER_TOP)
		return refuse(r, EFAULT);
	if (kernel_space_find(s->number, PAGE_DOWN(address), &frame, &protection) == 0)
		return answer(r, 0);
	return answer_or_wait(r, space_fault(s, address, access), BY_A_SIGNAL);
}

int64_t vm_object_paged(uint64_t name, uint32_t *out_object)
{
	TRY(vm_object_create(out_object));
	object_of(*out_object)->kind = OBJECT_PAGED;
	object_of(*out_object)->device = name;
	return 0;
}

/* The last hold stays and counts as vfs's. */
void paged_unheld(uint32_t object)
{
	object_of(object)->next = unheld;
	unheld = object;
	notify(ENDPOINT_VFS, VFS_PAGES);
}

int64_t vm_object_wanted(uint64_t *out_name, uint64_t *out_index, uint64_t *out_count)
{
	*out_name = *out_index = *out_count = 0;
	while (unheld != 0) {
		struct object *o = object_of(unheld);

		unheld = o->next;
		if (o->holders == 1 && o->mapped == 0) {
			*out_name = o->device;
			return VM_NEWS_UNHELD;
		}
		/* It was mapped again; the remaining hold is the mapping's. */
		o->holders--;
	}
	while (!list_is_empty(&wanted)) {
		struct want *w = CONTAINER(wanted.next, struct want, link);
		const struct object *o = paged_of(w->object);

		list_remove(&w->link);
		/* Another thread has unmapped it. Waiters notice when they look for the page again. */
		if (o == NULL || o->mapped == 0) {
			unpark(waiters_of(w->object, w->index));
			continue;
		}
		*out_name = o->device;
		*out_index = w->index;
		*out_count = w->count;
		return VM_NEWS_WANTED;
	}
	return VM_NEWS_NOTHING;
}

int64_t vm_object_bring(uint32_t object, uint64_t index, uint32_t endpoint, uint64_t *out_address)
{
	struct object *o = paged_of(object);
	uint64_t *word;

	*out_address = 0;
	if (o == NULL)
		return -EINVAL;
	if (!object_reaches(o, index))
		return 0;
	word = object_place(o, index);
	if (word == NULL)
		return -ENOMEM;
	if (paged_is_there(*word))
		return 0;
	if (!begin_coming(o, word))
		return -ENOMEM;
	return kernel_frame_address(PAGE_DOWN(*word), endpoint, out_address);
}

int64_t vm_object_brought(uint32_t object, uint64_t index, int32_t error)
{
	struct object *o = paged_of(object);
	uint64_t *word;

	if (o == NULL || !(object_word(o, index) & COMING))
		return 0;
	word = object_place(o, index);
	if (error == 0) {
		*word = PAGE_DOWN(*word);
		o->coming--;
	} else if (error == EWAIT) {
		give_up(o, word);
	} else {
		*word = PAGE_DOWN(*word) | FAILED;
	}
	unpark(waiters_of(object, index));
	return 0;
}

void paged_cut(struct object *o, uint64_t index, uint64_t end)
{
	for (uint64_t at = index; o->coming > 0 && at < end; at++)
		if (object_word(o, at) & (COMING | FAILED))
			give_up(o, object_place(o, at));
	for (unsigned i = 0; i < QUEUES; i++)
		unpark(&waiters[i]);
}

int64_t vm_object_end(uint32_t object)
{
	struct object *o = paged_of(object);

	if (o == NULL || o->holders != 1 || o->mapped != 0)
		return -EINVAL;
	paged_cut(o, 0, (o->size + PAGE - 1) / PAGE);
	o->kind = OBJECT_MEMORY;
	return vm_object_drop(object);
}
