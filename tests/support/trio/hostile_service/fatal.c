/* fatal.c: what ends the service, or keeps it from answering: one a boot. */
#include "fs.h"
#include "hostile.h"
#include "vfs.h"

#define NO_TASK 900

static void null(void)
{
	*(volatile int *)0 = 1;
}

static void kernel_read(void)
{
	(void)*(volatile int *)0xffffffff80200000UL;
}

static void kernel_write(void)
{
	*(volatile int *)0xffff888000200000UL = 1;
}

static void own_text(void)
{
	*(volatile int *)(uint64_t)own_text = 1;
}

static void data_executed(void)
{
	static uint8_t code[] = { 0xc3 };

	((void (*)(void))(uint64_t)code)();
}

static void privileged(void)
{
	__asm__ volatile("mov %%cr3, %%rax\n\tmov %%rax, %%cr3" ::: "rax");
}

static void halted(void)
{
	__asm__ volatile("cli\n\thlt");
}

static void port(void)
{
	__asm__ volatile("outb %%al, $0x64" ::"a"(0xfe));
}

static void divide(void)
{
	__asm__ volatile("xorl %%ecx, %%ecx\n\tdivl %%ecx" ::: "eax", "ecx", "edx");
}

static void breakpoint(void)
{
	__asm__ volatile("int3");
}

static void gate(void)
{
	__asm__ volatile("int $0x80");
}

static void stepped(void)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%rsp)\n\tpopfq\n\tnop");
}

static void no_stack(void)
{
	__asm__ volatile("xorl %esp, %esp\n\tpushq %rax");
}

static void odd_stack(void)
{
	__asm__ volatile("movabsq $0x8000000000000000, %rsp\n\tpushq %rax");
}

static void stack_overflow(void)
{
	__asm__ volatile("1:\tpushq %rax\n\tjmp 1b");
}

static void panics(void)
{
	panic("on purpose");
}

static void loops(void)
{
	for (;;)
		__asm__ volatile("");
}

static void loops_with_traps(void)
{
	for (;;)
		TRAP(TRAP_NOW, 0, 0, 0);
}

/* What came is never answered, and all that comes after it. */
static void mute(void)
{
	static struct incoming in;

	for (;;)
		TRAP(TRAP_NEXT, &in, 1, 0);
}

/* It takes what comes, and never says anything: those who wait for it are told of signals, which it does not hear. */
static void parks(void)
{
	static struct incoming in;
	static struct message m = { .result = -EWAIT };

	for (;;) {
		TRAP(TRAP_NEXT, &in, 1, 0);
		if (in.kind == INCOMING_CLIENT)
			TRAP(TRAP_PARKED, in.who, BY_A_SIGNAL, NEVER);
		else if (in.kind == INCOMING_CALL)
			TRAP(TRAP_REPLY, &m, 0, 0);
	}
}

static void parks_hard(void)
{
	static struct incoming in;
	static struct message m = { .result = -EWAIT };

	for (;;) {
		TRAP(TRAP_NEXT, &in, 1, 0);
		if (in.kind == INCOMING_CLIENT)
			TRAP(TRAP_PARKED, in.who, BY_NOTHING, NEVER);
		else if (in.kind == INCOMING_CALL)
			TRAP(TRAP_REPLY, &m, 0, 0);
	}
}

/* All answers are rubbish. */
static void rubbish(void)
{
	static struct incoming in;
	static struct message m;
	static struct client_answer a;
	uint64_t n = orders.seed;

	for (;;) {
		TRAP(TRAP_NEXT, &in, 1, 0);
		for (unsigned i = 0; i < MESSAGE_WORDS; i++)
			m.words[i] = n = n * 6364136223846793005UL + 1442695040888963407UL;
		for (unsigned i = 0; i < OUT_WORDS; i++)
			a.out[i] = m.words[i];
		a.result = m.result = n & 1 << 20 ? (int64_t)(n >> 33) : (int64_t)m.words[1];
		if (in.kind == INCOMING_CLIENT)
			TRAP(TRAP_ANSWER, in.who, &a, 0);
		else if (in.kind == INCOMING_CALL)
			TRAP(TRAP_REPLY, &m, 0, 0);
	}
}

static void answer_eio(const struct incoming *in)
{
	static struct message m = { .result = -EIO };
	static struct client_answer a = { .result = -EIO };

	if (in->kind == INCOMING_CALL)
		TRAP(TRAP_REPLY, &m, 0, 0);
	else if (in->kind == INCOMING_CLIENT)
		TRAP(TRAP_ANSWER, in->who, &a, 0);
}

/* Who asks gets an error, so that nobody waits while the rest is done. */
static void refuse_next(bool waits)
{
	static struct incoming in;

	if (TRAP(TRAP_NEXT, &in, waits, 0) == 0)
		answer_eio(&in);
}

/* It answers each call, and tells to go on, and nothing is ever done: a console has written no bytes, a disk waits. */
static void idles(void)
{
	static struct incoming in = { .kind = INCOMING_CALL };
	static struct message m;

	for (;;) {
		m.result = in.endpoint == ENDPOINT_SERIAL ? 0 : -EWAIT;
		if (in.kind == INCOMING_CALL)
			TRAP(TRAP_REPLY, &m, 0, 0);
		TRAP(TRAP_NOTIFY, ENDPOINT_FS, FS_BLOCK_READY, 0);
		TRAP(TRAP_NOTIFY, ENDPOINT_VFS, VFS_BLOCK_READY, 0);
		TRAP(TRAP_NOTIFY, ENDPOINT_VFS, VFS_CONSOLE, 0);
		TRAP(TRAP_NEXT, &in, 1, 0);
	}
}

/* The alarm is for now, again and again. */
static void alarms(void)
{
	for (;;) {
		for (uint64_t endpoint = 0; endpoint < ENDPOINTS; endpoint++)
			TRAP(TRAP_ALARM, endpoint, 0, 0);
		refuse_next(true);
	}
}

/* Each for all. */
static void notifies(void)
{
	for (uint64_t n = 0;; n++) {
		TRAP(TRAP_NOTIFY, n % ENDPOINTS, n / ENDPOINTS % NOTIFY_BITS, 0);
		if (n % 100 == 0)
			refuse_next(false);
	}
}

static void memory(void)
{
	for (uint64_t count = 512; count > 0; count /= 2)
		while (TRAP(TRAP_PAGES_TAKE, count, 0, 0) != 0)
			;
	for (;;)
		refuse_next(false);
}

/* Of pm: a task with no registers, that runs. */
static void task_of_nothing(void)
{
	kernel_call(1, (const uint64_t[MESSAGE_WORDS]){ NO_TASK, NO_TASK }, NULL);
	kernel_call(2, (const uint64_t[MESSAGE_WORDS]){ NO_TASK }, NULL);
	for (;;)
		refuse_next(true);
}

/* Of pm: a task ends, and the grant of its memory is used. */
static void grant_of_ended(void)
{
	static struct incoming in;
	static char byte;

	do {
		answer_eio(&in);
		TRAP(TRAP_NEXT, &in, 1, 0);
	} while (in.kind != INCOMING_CLIENT || !grant_in(&in.m).length);
	kernel_call(3, (const uint64_t[MESSAGE_WORDS]){ in.who }, NULL);
	for (uint32_t kind = COPY_IN; kind <= COPY_ZEROS; kind++) {
		struct copying c = { .grant = grant_in(&in.m), .own = (uint64_t)&byte, .n = 1, .kind = kind };

		outcome("a grant of a task that has ended", TRAP(TRAP_COPY, &c, 0, 0));
	}
	for (;;)
		refuse_next(true);
}

static const struct {
	const char *name;
	void (*run)(void);
	/* Who asked is not to wait for it. */
	bool refuses;
	/* Its next process does not. */
	bool once;
} kinds[] = {
	{ "null", null },
	{ "kernel read", kernel_read },
	{ "kernel write", kernel_write },
	{ "own text", own_text },
	{ "data executed", data_executed },
	{ "privileged", privileged },
	{ "halted", halted },
	{ "port", port },
	{ "divide", divide },
	{ "breakpoint", breakpoint },
	{ "gate", gate },
	{ "stepped", stepped },
	{ "no stack", no_stack },
	{ "odd stack", odd_stack },
	{ "stack overflow", stack_overflow },
	{ "panics", panics },
	{ "loops", loops },
	{ "loops with traps", loops_with_traps },
	{ "mute", mute },
	{ "parks", parks },
	{ "parks hard", parks_hard },
	{ "rubbish", rubbish },
	{ "idles", idles },
	{ "idles once", idles, .once = true },
	{ "alarms", alarms, true },
	{ "notifies", notifies, true },
	{ "memory", memory, true },
	{ "task of nothing", task_of_nothing, true },
	{ "grant of ended", grant_of_ended, true },
};

void fatal_came(const struct incoming *in)
{
	char wanted[sizeof orders.which];

	for (unsigned i = 0; i < sizeof wanted; i++)
		wanted[i] = orders.which[i];
	for (unsigned i = 0; i < COUNT_OF(kinds); i++)
		if (strcmp(kinds[i].name, wanted) == 0) {
			if (kinds[i].once && TRAP(TRAP_KEPT, in->endpoint, 0, 0))
				return;
			if (kinds[i].once)
				TRAP(TRAP_KEEP, in->endpoint, 1, 0);
			log_line("hostile: begins: %s", wanted);
			if (kinds[i].refuses)
				answer_eio(in);
			kinds[i].run();
		}
	panic("hostile: there is no such harm: %s", wanted);
}
