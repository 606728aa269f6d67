/* mach/…: units that GNU Mach has and Trio has not. They are listed beside Trio's, so that one list has the names,
 * numbers and plans of all units; ../../../mach measures them, and Trio's units that Mach has too. */
#include "unit.h"

static void *mach_setup(struct km *km)
{
	km_unsupported(km, "a unit of GNU Mach's, which Trio has not");
}

#define MACH_ROW .source = "beyond the sources", .setup = mach_setup

const struct workload mach_self = {
	.name = "mach/self",
	MACH_ROW,
	.per = "call",
	.what = "mach_task_self: a trap that gives the task a name for its own port",
	.inside = "kernel entry, a right to the port counted and named, return; one comparison in the program",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }),
};

const struct workload mach_message = {
	.name = "mach/message",
	MACH_ROW,
	.per = "message",
	.what = "a message with so many bytes in it to a port of the task's own, and its receipt",
	.inside = "two traps: the message into the kernel and the port's queue, and out of both; no switch of tasks",
	.params = { "bytes" },
	.curve = "bytes",
	.points = KM_POINTS({ { 0 }, QUICK, 1000, ONE_CPU, 0 }, { { 64 }, QUICK, 1000, ONE_CPU, 0 },
			    { { 4096 }, QUICK, 1000, ONE_CPU, 0 }),
};

const struct workload mach_memory = {
	.name = "mach/memory",
	MACH_ROW,
	.per = "call",
	.what = "a call of a second task with so many pages beside the message, copied when written, and its reply",
	.inside = "the call as in trio/call, the pages into the other address space, what it does to each (access=0: "
		  "nothing, 1: reads a word, 2: writes one, so that a copy is made), and out of it; the reply",
	.params = { "pages", "access" },
	.curve = "pages",
	.points = KM_POINTS({ { 1, 0 }, QUICK, 100, ONE_CPU, 0 }, { { 16, 0 }, QUICK, 100, ONE_CPU, 0 },
			    { { 256, 0 }, QUICK, 100, ONE_CPU, 0 }, { { 1, 1 }, QUICK, 100, ONE_CPU, 0 },
			    { { 16, 1 }, QUICK, 100, ONE_CPU, 0 }, { { 1, 2 }, QUICK, 100, ONE_CPU, 0 },
			    { { 16, 2 }, QUICK, 100, ONE_CPU, 0 }),
};

const struct workload mach_pager = {
	.name = "mach/pager",
	MACH_ROW,
	.per = "fault",
	.what = "a page fault answered by an external pager: a second task that has the page, and moves it to the "
		"kernel",
	.inside = "one store, the exception, the request to the pager's port, its receipt, the page supplied by a "
		  "message, the faulting thread's return; two switches of tasks",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 200 }),
};
