/* pages.c: memory pages of files on a disk, for mappings and programs: each file has a vm object whose pages are read
 * when they are touched. vm names the pages it wants; reads that wait for the disk continue when the disk has answered.
 * Mappings show what is written to the file and are read-only or private. */
#include "disk/remote.h"
#include "fs.h"
#include "pm.h"
#include "vm.h"

/* With a touched page its aligned neighbours are read too, as many as vm maps at once. */
#define AROUND 16UL

/* A read of pages: one page that is waited for, with its neighbours, or several pages that will be needed. */
struct load {
	struct link link;
	struct remote_node *node;
	/* The number of what it waits for on the disk. */
	uint32_t waits_for;
	uint64_t index, count;
};
static struct link loads = { &loads, &loads };

/* When to try again if memory is short, or if the disk has no room and no request of ours will end. */
#define AGAIN_NS 1000000UL

/* Reads one absent page. If it is `awaited`, vm tells an error to those who wait. */
static int64_t page_load(struct remote_node *n, uint64_t index, bool awaited)
{
	uint64_t address = 0;
	int64_t result = vm_object_bring(n->object, index, ENDPOINT_VFS, &address);

	if (result < 0 || address == 0)
		return result;
	result = remote_program_read(&n->node, index * PAGE, grant_write((void *)address, PAGE));
	if (result == -EWAIT)
		return result;
	if (result >= 0)
		memset((char *)address + result, 0, PAGE - (uint64_t)result);
	vm_object_brought(n->object, index, result >= 0 ? 0 : awaited ? (int32_t)-result : EWAIT);
	return MIN(result, 0);
}

#define NOTHING_AWAITED UINT32_MAX

/* Starts reading all given pages, as far as the disk accepts requests. Sets *on, unless it is already set, to the first
 * thing to wait for. Returns 0, -EWAIT or, if `awaited`, another error. */
static int64_t pages_load(struct remote_node *n, uint64_t index, uint64_t end, bool awaited, uint32_t *on)
{
	int64_t result = 0;

	for (; index < end && index * PAGE < n->node.size; index++) {
		int64_t load_result = page_load(n, index, awaited);
		uint32_t thing;

		if (load_result < 0 && load_result != -EWAIT)
			return awaited ? load_result : result;
		if (load_result == 0)
			continue;
		result = -EWAIT;
		(void)fs_waited(&thing);
		if (*on == NOTHING_AWAITED)
			*on = thing;
		if (thing == FS_ROOM)
			break;
	}
	return result;
}

/* Runs until the load has to wait again or ends. */
static void load_go_on(struct load *l)
{
	uint64_t begin = l->index, end = begin + l->count;
	int64_t awaited = 0;

	l->waits_for = NOTHING_AWAITED;
	if (l->count == 1) {
		awaited = pages_load(l->node, begin, end, true, &l->waits_for);
		begin -= begin % AROUND;
		end = begin + AROUND;
	}
	if (awaited == 0 || awaited == -EWAIT)
		(void)pages_load(l->node, begin, end, false, &l->waits_for);
	if (l->waits_for != NOTHING_AWAITED)
		return;
	list_remove(&l->link);
	node_drop(&l->node->node);
	heap_free(l, sizeof *l);
}

void remote_pages_wanted(void)
{
	uint64_t name;
	struct load *l;

	while ((l = heap_allocate(sizeof *l)) != NULL) {
		int64_t news = vm_object_wanted(&name, &l->index, &l->count);
		struct remote_node *n = (struct remote_node *)name;

		if (news == VM_NEWS_WANTED) {
			l->node = remote_of(node_hold(&n->node));
			list_add(&loads, &l->link);
			load_go_on(l);
			continue;
		}
		heap_free(l, sizeof *l);
		if (news != VM_NEWS_UNHELD)
			return;
		n->mapped = false;
		node_drop(&n->node);
	}
	alarm_at(ENDPOINT_VFS, now() + AGAIN_NS);
}

static int64_t object_need(struct remote_node *n)
{
	if (n->object != 0)
		return 0;
	if (vm_object_paged((uint64_t)n, &n->object) < 0)
		return -ENOMEM;
	vm_object_resize(n->object, n->node.size);
	return 0;
}

int64_t remote_bring(struct node *node, uint64_t offset, uint64_t length)
{
	struct remote_node *n = remote_of(node);
	uint32_t on = NOTHING_AWAITED;

	TRY(object_need(n));
	return pages_load(n, offset / PAGE, (offset + length + PAGE - 1) / PAGE, true, &on);
}

int64_t remote_object(struct node *node, uint32_t *object)
{
	struct remote_node *n = remote_of(node);

	TRY(object_need(n));
	/* While nobody maps the object, its only reference is ours; the caller gets it. */
	if (n->mapped)
		vm_object_hold(n->object);
	else
		node_hold(node);
	n->mapped = true;
	*object = n->object;
	return 0;
}

void remote_pages_written(struct remote_node *n, uint64_t offset, struct grant from)
{
	uint64_t done = 0, part, address;

	remote_pages_resize(n);
	for (; done < from.length; done += part) {
		uint64_t at = offset + done;

		part = MIN(PAGE - at % PAGE, from.length - done);
		if (vm_object_page(n->object, at / PAGE, 0, ENDPOINT_VFS, &address) == 0 && address != 0)
			(void)copy_in((char *)address + at % PAGE, from, done, part);
	}
}

void remote_pages_resize(struct remote_node *n)
{
	if (n->object != 0)
		vm_object_resize(n->object, n->node.size);
}

void remote_pages_drop(struct remote_node *n)
{
	if (n->object != 0)
		vm_object_end(n->object);
	n->object = 0;
}

/* Parks a request until what it needs of the disk is there. Each thing has its own queue, so only its waiters wake. */

verdict disk_park(struct request *r)
{
	uint32_t on;

	(void)fs_waited(&on);
	return park_hard(&vfs.disk_waiters[on % FS_THINGS], r);
}

/* Wakes as many waiters as the disk has room for. They may start no request, whose end would wake the others, so an
 * alarm wakes those too. */
static void room_came(uint32_t room)
{
	struct queue *waiters = &vfs.disk_waiters[FS_ROOM];

	while (room-- > 0 && is_waited_for(waiters))
		unpark_first(waiters);
	if (is_waited_for(waiters))
		alarm_at(ENDPOINT_VFS, now() + AGAIN_NS);
}

void disk_notified(void)
{
	uint64_t came;
	uint32_t room, starts;

	(void)fs_came(&came, &room, &starts);
	remote_began(starts);
	/* A new process of fs will never report what the old one had begun. */
	if (remote_holds_again())
		came = UINT64_MAX;
	/* vm also notifies when a failed call may be repeated. */
	came |= 1ULL << FS_ANYTHING;
	LIST_EACH (struct load, l, &loads, link)
		if ((came >> l->waits_for & 1) != 0)
			load_go_on(l);
	room_came(room);
	for (uint64_t rest = came & ~(1ULL << FS_ROOM); rest != 0; rest &= rest - 1)
		unpark(&vfs.disk_waiters[__builtin_ctzll(rest)]);
	/* pm may wait for a program's bytes. */
	notify(ENDPOINT_PM, PM_DISK_READY);
}
