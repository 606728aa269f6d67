/* hostile_forbidden.c: instructions that are not a program's own, and addresses that the processor refuses. */
#include "hostile.h"

#include <sys/syscall.h>
#include <ucontext.h>

#define KERNEL_ADDRESS 0xffffffff80100000ul
#define DIRECT_ADDRESS 0xffff800000100000ul
#define NOT_CANONICAL 0x800000000000ul

static uint8_t table[16];

static void read_gdt(void)
{
	__asm__ volatile("sgdt %0" : "=m"(table));
}

static void read_idt(void)
{
	__asm__ volatile("sidt %0" : "=m"(table));
}

static void stop_interrupts(void)
{
	__asm__ volatile("cli");
}

static void use_port(void)
{
	__asm__ volatile("outb %%al, %%dx" : : "a"(0), "d"(0x60));
}

static void read_register(void)
{
	__asm__ volatile("rdmsr" : : "c"(0xc0000080) : "eax", "edx");
}

static void run_stack(void)
{
	uint8_t code[16] = { 0xc3 };
	void (*volatile call)(void) = (void (*)(void))code;

	call();
}

static void run_data(void)
{
	void (*volatile call)(void) = (void (*)(void))table;

	call();
}

static void read_kernel(void)
{
	(void)*(volatile uint64_t *)KERNEL_ADDRESS;
}

static void write_direct(void)
{
	*(volatile uint64_t *)DIRECT_ADDRESS = 1;
}

static void jump_to_kernel(void)
{
	((void (*)(void))KERNEL_ADDRESS)();
}

static void jump_nowhere(void)
{
	((void (*)(void))NOT_CANONICAL)();
}

static void stack_nowhere(void)
{
	__asm__ volatile("movq %0, %%rsp\n\tmovl $39, %%eax\n\tsyscall\n\tpush %%rax"
			 :
			 : "r"(NOT_CANONICAL)
			 : "memory");
}

static void handler_nowhere(void)
{
	signal(SIGUSR1, (void (*)(int))NOT_CANONICAL);
	raise(SIGUSR1);
}

static void handler_in_kernel(void)
{
	signal(SIGUSR1, (void (*)(int))KERNEL_ADDRESS);
	raise(SIGUSR1);
}

static uint64_t wild_rip, wild_flags, wild_state;

static void spoil(int signal, siginfo_t *i, void *context)
{
	ucontext_t *c = context;

	(void)signal;
	(void)i;
	if (wild_rip)
		c->uc_mcontext.gregs[REG_RIP] = (greg_t)wild_rip;
	if (wild_flags)
		c->uc_mcontext.gregs[REG_EFL] = (greg_t)wild_flags;
	if (wild_state)
		memset(c->uc_mcontext.fpregs, 0xff, 512);
	/* Other segments are not taken over. */
	c->uc_mcontext.gregs[REG_CSGSFS] = 0x10;
}

static void return_wild(void)
{
	struct sigaction action = { .sa_sigaction = spoil, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void return_nowhere(void)
{
	wild_rip = NOT_CANONICAL;
	return_wild();
}

static void return_to_kernel(void)
{
	wild_rip = KERNEL_ADDRESS;
	return_wild();
}

static void return_with_rights(void)
{
	/* All but trap and alignment check: the port privilege, virtual mode, nested task. */
	wild_flags = ~0x40100ul;
	return_wild();
	__asm__ volatile("cli");
}

static void return_with_state(void)
{
	wild_state = 1;
	return_wild();
}

static void thread_pointer(void)
{
	syscall(SYS_arch_prctl, 0x1002, NOT_CANONICAL);
	syscall(SYS_arch_prctl, 0x1001, 0xffff000000000000ul);
}

static const struct {
	const char *name;
	void (*what)(void);
	int signal;
} forbidden[] = {
	{ "sgdt", read_gdt, SIGSEGV },
	{ "sidt", read_idt, SIGSEGV },
	{ "cli", stop_interrupts, SIGSEGV },
	{ "out", use_port, SIGSEGV },
	{ "rdmsr", read_register, SIGSEGV },
	{ "stack", run_stack, SIGSEGV },
	{ "data", run_data, SIGSEGV },
	{ "read", read_kernel, SIGSEGV },
	{ "write", write_direct, SIGSEGV },
	{ "jump", jump_to_kernel, SIGSEGV },
	{ "jump-nowhere", jump_nowhere, SIGSEGV },
	{ "stack-nowhere", stack_nowhere, -1 },
	{ "handler-nowhere", handler_nowhere, SIGSEGV },
	{ "handler-kernel", handler_in_kernel, SIGSEGV },
	{ "return-nowhere", return_nowhere, SIGSEGV },
	{ "return-kernel", return_to_kernel, SIGSEGV },
	{ "return-rights", return_with_rights, SIGSEGV },
	{ "return-state", return_with_state, 0 },
	{ "thread-pointer", thread_pointer, 0 },
};

int all_forbidden(void)
{
	int wrong = 0;

	for (unsigned i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
		int got = fate(forbidden[i].what);

		/* -1: some signal. */
		if (forbidden[i].signal < 0 ? got > 0 : got == forbidden[i].signal)
			continue;
		printf("%s: signal %d\n", forbidden[i].name, got);
		wrong = 1;
	}
	return wrong;
}
