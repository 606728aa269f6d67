/* pager.c: a fault that an external pager answers, Mach's own idea: the kernel asks by a message for a page of a memory
 * object, whose port is the pager's, a second task; the pager supplies the page by another. */
#include "mach.h"

enum {
	OBJECT_INIT = 2200,
	DATA_REQUEST = 2203,
	DATA_SUPPLY = 2093,
	READY = 2094,
	PAGES = 256,
	COPY_NONE = 0,
};
#define MARK 0x6b6d0000UL /* what the pager writes into its pages, with their numbers */

static uintptr_t area;
static size_t used;

/* The second task. It has all pages before it is asked, as a cache has. Each moves to the kernel, and stays there. */
static void supply(void)
{
	static struct message got, m;
	uintptr_t pages;

	task_self = mach_task_self();
	pages = new_memory(PAGES * PAGE);
	for (size_t i = 0; i < PAGES; i++)
		*(uint64_t *)(pages + i * PAGE) = MARK + i;
	for (;;) {
		must(mach_msg(&got, RECEIVE, 0, sizeof got, SERVER, 0, 0), "receive");
		begin(&m);
		if (got.id == OBJECT_INIT) {
			item(&m, ITEM(BOOLEAN, 32, 1) | IN_LINE, 0);
			item(&m, ITEM(INTEGER_32, 32, 1) | IN_LINE, COPY_NONE);
			m.id = READY;
		} else if (got.id == DATA_REQUEST) {
			item(&m, ITEM(INTEGER_64, 64, 1) | IN_LINE, got.body[3]);
			item(&m, MEMORY(PAGE) | LEAVES_SENDER, pages + got.body[3]);
			item(&m, ITEM(INTEGER_32, 32, 1) | IN_LINE, 0);
			item(&m, ITEM(BOOLEAN, 32, 1) | IN_LINE, 0);
			item(&m, ITEM(MAKE_SEND_ONCE, 64, 1) | IN_LINE, 0);
			m.id = DATA_SUPPLY;
		} else {
			continue;
		}
		m.bits |= COPY_SEND;
		m.remote = got.body[1]; /* the object's control */
		m.local = 0;
		must(mach_msg(&m, SEND, m.size, 0, 0, 0, 0), "supply");
	}
}

static void touch(void)
{
	*(volatile uint64_t *)(area + used * PAGE + 8) = used;
	used++;
}

/* The first page is outside the samples: then the object is ready, and the pager waits. */
static void pager_setup(const long arg[])
{
	(void)arg;
	must(vm_map(task_self, &area, PAGES * PAGE, 0, 1, serve(supply), 0, 0, READ_WRITE, READ_WRITE, INHERIT_COPY),
	     "vm_map");
	touch();
}

static void pager_run(void *state, uint64_t n)
{
	(void)state;
	while (n--)
		touch();
}

static void pager_verify(uint64_t n)
{
	if (used != n + 1)
		fail("not all pages were touched");
	for (size_t i = 0; i < used; i++) {
		uint64_t *page = (uint64_t *)(area + i * PAGE);

		if (page[0] != MARK + i || page[1] != i)
			fail("a page is not the pager's, or lost what was written");
	}
}

const struct unit pager_units[] = {
	{ .name = "mach/pager", .setup = pager_setup, .run = pager_run, .verify = pager_verify },
	{ 0 },
};
