/* memory.c: faults that the kernel answers itself, since the memory has no pager; memory that comes and goes. */
#include "mach.h"

enum { AREA = 256, VM_READ = 2026 }; /* pages, as in trio/fault; a call */

static uintptr_t area;
static size_t pages;
static int cow;
static uint64_t value; /* in all pages before a sample */
static port child;

static void fault_setup(const long arg[])
{
	cow = arg[0] != 0;
	value = cow ? 7 : 0;
}

static uint64_t at_page(size_t i)
{
	return *(volatile uint64_t *)(area + i * PAGE);
}

/* The area continues the program's own memory, so it has that memory's object, and after task_create its shadow: a
 * fault does not make them. */
static void fault_prepare(void)
{
	area = new_memory(AREA * PAGE);
	for (size_t i = 0; cow && i < AREA; i++)
		*(volatile uint64_t *)(area + i * PAGE) = value;
	if (cow)
		child = second_task(NULL);
}

static void fault_run(void *state, uint64_t n)
{
	uintptr_t at = area;

	(void)state;
	for (; n > 0; n--, at += PAGE)
		*(volatile uint64_t *)at = value + 1;
}

/* The other task still has what was there; here the first page alone is changed. */
static void fault_settle(void)
{
	static struct message m;

	for (size_t i = 0; i < AREA; i++)
		if (at_page(i) != value + (i == 0))
			fail("a page does not hold what was written");
	if (cow) {
		begin(&m);
		item(&m, ITEM(INTEGER_64, 64, 1) | IN_LINE, area);
		item(&m, ITEM(INTEGER_64, 64, 1) | IN_LINE, PAGE);
		call_kernel(&m, child, VM_READ, "vm_read");
		if (*(uint64_t *)m.body[3] != value)
			fail("the other task sees what was written");
		drop_memory(m.body[3], PAGE);
		must(task_terminate(child), "task_terminate");
	}
	drop_memory(area, AREA * PAGE);
}

/* New memory beside memory of the same kind becomes part of its object, and pages that leave that object are freed only
 * when something comes there again. A page that tasks share keeps them apart: then each mapping is an object. */
static void map_setup(const long arg[])
{
	pages = (size_t)arg[0];
	share(new_memory(PAGE), PAGE);
}

static void map_run(void *state, uint64_t n)
{
	(void)state;
	while (n--) {
		area = new_memory(pages * PAGE);
		for (size_t i = 0; i < pages; i++)
			*(volatile char *)(area + i * PAGE) = 1;
	}
}

static void map_settle(void)
{
	for (size_t i = 0; i < pages; i++)
		if (at_page(i) != 1)
			fail("a page does not hold what was written");
	drop_memory(area, pages * PAGE);
}

static void flush_prepare(void)
{
	map_run(NULL, 1);
}

static void flush_run(void *state, uint64_t n)
{
	(void)state;
	while (n--)
		drop_memory(area, pages * PAGE);
}

const struct unit memory_units[] = {
	{ .name = "trio/fault",
	  .setup = fault_setup,
	  .prepare = fault_prepare,
	  .run = fault_run,
	  .settle = fault_settle },
	{ .name = "trio/map", .setup = map_setup, .run = map_run, .settle = map_settle },
	{ .name = "trio/flush", .setup = map_setup, .prepare = flush_prepare, .run = flush_run },
	{ 0 },
};
