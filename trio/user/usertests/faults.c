/* faults.c: signals that the processor causes, and handlers on another stack. */
#include "usertests.h"

static void *fault_at;

static void catch_fault(int signal, siginfo_t *info, void *context)
{
	catch_info(signal, info, context);
	fault_at = info->si_addr;
	if (mprotect(fault_at, PAGE, PROT_READ | PROT_WRITE) < 0)
		_exit(FAILED);
}

TEST(signal_fault, "Does SIGSEGV tell the address, and does the store go on once it is mended?")
{
	char *page = mapped(PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	handle_info(SIGSEGV, catch_fault, 0);
	*(volatile char *)page = 42;
	IS(caught[SIGSEGV], 1);
	TRUE(fault_at == page);
	IS(last_info.si_code, SEGV_ACCERR);
	IS(*page, 42);
}

static void leave(int signal)
{
	_exit(signal);
}

TEST(signal_traps, "Which signals do wrong instructions and addresses give?")
{
	static const int wanted[] = { SIGSEGV, SIGSEGV, SIGSEGV, SIGFPE, SIGILL, SIGSEGV, SIGTRAP };

	for (int kind = 0; kind < 7; kind++) {
		IN_CHILD (wanted[kind]) {
			handle(wanted[kind], leave, 0);
			if (kind == 0)
				*(volatile char *)wild_pointer(0) = 1;
			if (kind == 1)
				*(volatile char *)wild_pointer(1) = 1;
			if (kind == 2)
				*(volatile char *)wild_pointer(2) = 1;
			if (kind == 3)
				__asm__ volatile("xorl %%ecx, %%ecx; idivl %%ecx" ::: "eax", "ecx", "edx");
			if (kind == 4)
				__asm__ volatile("ud2");
			if (kind == 5)
				__asm__ volatile("cli");
			if (kind == 6)
				__asm__ volatile("int3");
		}
	}
}

TEST(signal_fault_blocked, "Does a fault kill the process that blocks or ignores its signal?")
{
	IN_CHILD (128 + SIGSEGV) {
		block(SIGSEGV);
		*(volatile char *)wild_pointer(0) = 1;
	}
	IN_CHILD (128 + SIGSEGV) {
		handle(SIGSEGV, SIG_IGN, 0);
		*(volatile char *)wild_pointer(0) = 1;
	}
}

static volatile uintptr_t stack_at;

static void note_stack(int signal)
{
	(void)signal;
	stack_at = (uintptr_t)__builtin_frame_address(0);
}

static int is_on(const char *stack, size_t size)
{
	return stack_at - (uintptr_t)stack < size;
}

TEST(sigaltstack, "Does SA_ONSTACK run the handler on the other stack?")
{
	static char stack[32768];
	stack_t ss = { stack, 0, sizeof stack }, old;

	OK(sigaltstack(&ss, NULL));
	OK(sigaltstack(NULL, &old));
	TRUE(old.ss_sp == stack && old.ss_size == sizeof stack && old.ss_flags == 0);
	handle(SIGUSR1, note_stack, SA_ONSTACK);
	OK(raise(SIGUSR1));
	TRUE(is_on(stack, sizeof stack));
	handle(SIGUSR1, note_stack, 0);
	OK(raise(SIGUSR1));
	TRUE(!is_on(stack, sizeof stack));
	ss.ss_flags = SS_DISABLE;
	OK(sigaltstack(&ss, &old));
	OK(sigaltstack(NULL, &old));
	IS(old.ss_flags, SS_DISABLE);
	ss.ss_flags = 0;
	ss.ss_size = 100;
	FAILS(RAW(SYS_sigaltstack, &ss, 0), ENOMEM);
	ss.ss_flags = 77;
	FAILS(RAW(SYS_sigaltstack, &ss, 0), EINVAL);
	FAULTS(RAW(SYS_sigaltstack, wild, 0));
	FAULTS(RAW(SYS_sigaltstack, 0, wild));
}

TEST(stack_overflow, "Can a handler on its own stack see the stack overflow?")
{
	static char stack[32768];

	IN_CHILD (SIGSEGV) {
		struct rlimit most = { 65536, 65536 };
		stack_t ss = { stack, 0, sizeof stack };
		uintptr_t down = (uintptr_t)__builtin_frame_address(0);

		OK(setrlimit(RLIMIT_STACK, &most));
		OK(sigaltstack(&ss, NULL));
		handle(SIGSEGV, leave, SA_ONSTACK);
		for (;; down -= PAGE)
			*(volatile char *)down = 1;
	}
}
