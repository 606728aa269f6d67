/* trio/trap, trio/call, trio/string: into the kernel and back; into a service with so many bytes, or a string. */
#include "unit.h"

#define TRIO_CALL_MOST 4096
#define TRIO_STRING_LENGTH 8UL

struct trio_trap {
	struct km *km;
	unsigned long bytes, returned;
	char from[TRIO_CALL_MOST], string[TRIO_STRING_LENGTH + 1];
};

static void *trio_trap_setup(struct km *km)
{
	struct trio_trap *t = km_alloc(km, sizeof *t);

	t->km = km;
	t->bytes = (unsigned long)km->arg[0];
	memset(t->from, 'x', sizeof t->from);
	if (km->workload->params[0] && trio_syscall(TRIO_CALL, t->from, 0) != 0)
		km_unsupported(km, "this kernel has no call %ld (trio_call)", TRIO_CALL);
	km->claim.syscalls = 1;
	km->claim.faults = 0;
	return t;
}

static void trio_trap_run(void *state, uint64_t n)
{
	struct trio_trap *t = state;

	for (uint64_t i = 0; i < n; i++)
		t->returned += (unsigned long)trio_syscall(TRIO_NULL, NULL, 0) + 1;
}

static void trio_call_run(void *state, uint64_t n)
{
	struct trio_trap *t = state;

	for (uint64_t i = 0; i < n; i++)
		t->returned += (unsigned long)trio_syscall(TRIO_CALL, t->from, t->bytes) + 1;
}

static void *trio_string_setup(struct km *km)
{
	struct trio_trap *t = trio_trap_setup(km);

	t->bytes = TRIO_STRING_LENGTH;
	memset(t->string, 'x', TRIO_STRING_LENGTH);
	if (trio_syscall(TRIO_STRING, t->string, 0) < 0)
		km_unsupported(km, "this kernel has no call %ld (trio_string)", TRIO_STRING);
	return t;
}

static void trio_string_run(void *state, uint64_t n)
{
	struct trio_trap *t = state;

	for (uint64_t i = 0; i < n; i++)
		t->returned += (unsigned long)trio_syscall(TRIO_STRING, t->string, 0) + 1;
}

static void trio_call_baseline(void *state, uint64_t n)
{
	struct trio_trap *t = state;

	for (uint64_t i = 0; i < n; i++)
		if (trio_syscall(TRIO_NULL, NULL, 0) != 0)
			km_fail(t->km, "call %ld failed", TRIO_NULL);
}

static void trio_trap_verify(void *state, uint64_t n)
{
	struct trio_trap *t = state;

	if (t->returned != n * (t->bytes + 1))
		km_fail(t->km, "not all of %" PRIu64 " calls answered %lu", n, t->bytes);
}

static const struct point trio_call_points[] = {
	{ { 0 }, QUICK, 1000, ONE_CPU, 0 },    { { 8 }, QUICK, 1000, ONE_CPU, 0 },
	{ { 64 }, QUICK, 1000, ONE_CPU, 0 },   { { 256 }, FULL, 1000, ONE_CPU, 0 },
	{ { 1024 }, QUICK, 1000, ONE_CPU, 0 }, { { 4096 }, QUICK, 1000, ONE_CPU, 0 },
	{ { 0 }, 0, 0, ONE_CPU, 0 },
};

const struct workload trio_trap = {
	.name = "trio/trap",
	.per = "call",
	.source = "beyond the sources",
	.what = "kernel entry and return, nothing else: a call that answers 0 at once",
	.inside = "the call instruction, entry, the table of calls, return; one addition in the program",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }),
	.setup = trio_trap_setup,
	.run = trio_trap_run,
	.verify = trio_trap_verify,
	.teardown = km_free,
};

const struct workload trio_call = {
	.name = "trio/call",
	.per = "call",
	.source = "beyond the sources",
	.what = "call of a service, in the kernel or a server, and its reply, with so many bytes that the service "
		"copies in and forgets",
	.inside = "kernel entry, the service's stub and handler, the copy by a grant, the reply, return",
	.subtracts = "kernel entry and return (as in trio/trap)",
	.params = { "bytes" },
	.curve = "bytes",
	.points = trio_call_points,
	.setup = trio_trap_setup,
	.run = trio_call_run,
	.baseline = trio_call_baseline,
	.verify = trio_trap_verify,
	.teardown = km_free,
};

const struct workload trio_string = {
	.name = "trio/string",
	.per = "call",
	.source = "beyond the sources",
	.what = "call of a service, in the kernel or a server, and its reply, with a string of eight bytes, as a path "
		"is",
	.inside = "kernel entry, the service's stub and handler, the string to its end by a grant, the reply, return",
	.subtracts = "kernel entry and return (as in trio/trap)",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }),
	.setup = trio_string_setup,
	.run = trio_string_run,
	.baseline = trio_call_baseline,
	.verify = trio_trap_verify,
	.teardown = km_free,
};
