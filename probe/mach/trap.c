/* trap.c: into the kernel and out of it. */
#include "mach.h"

static uint64_t answered, wrong;
static port self;

void null_traps(void *state, uint64_t n)
{
	(void)state;
	while (n--)
		answered += (uint64_t)null_trap() + 1;
}

static void trap_verify(uint64_t n)
{
	if (answered != n)
		fail("not all traps answered 0");
}

static void self_setup(const long arg[])
{
	(void)arg;
	self = mach_task_self();
}

static void self_run(void *state, uint64_t n)
{
	(void)state;
	while (n--)
		wrong += mach_task_self() != self;
}

static void self_verify(uint64_t n)
{
	(void)n;
	if (wrong)
		fail("mach_task_self gave another name");
}

const struct unit trap_units[] = {
	{ .name = "trio/trap", .run = null_traps, .verify = trap_verify },
	{ .name = "mach/self", .setup = self_setup, .run = self_run, .verify = self_verify },
	{ .name = "trio/string", .unsupported = "a message of Mach's has its strings in itself: this is trio/call" },
	{ .name = "trio/notify", .unsupported = "a notification is a message without a reply: mach/message" },
	{ .name = "trio/irq", .unsupported = "no program can cause one and nothing else" },
	{ 0 },
};
