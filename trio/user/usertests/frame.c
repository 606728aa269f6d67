/* frame.c: a handler's frame: an interrupted computation keeps all its registers. */
#include "usertests.h"

/* Overwrites the vector and integer registers of the interrupted code. */
static void spoil(int signal)
{
	caught[signal]++;
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n movdqa %%xmm0, %%xmm1\n movdqa %%xmm0, %%xmm7\n"
			 "movdqa %%xmm0, %%xmm8\n movdqa %%xmm0, %%xmm15\n fninit\n cld\n"
			 "mov $-1, %%r8\n mov $-1, %%r9\n mov $-1, %%r10\n mov $-1, %%r11\n cmp %%r8, %%r9\n" ::
				 : "xmm0", "xmm1", "xmm7", "xmm8", "xmm15", "r8", "r9", "r10", "r11", "cc");
}

/* Loads registers, loops so that timer signals hit it, and counts changed registers. */
static long spin_integer(long loops)
{
	long wrong = 0;

	__asm__ volatile("mov $0x1111, %%rbx\n mov $0x2222, %%rdx\n mov $0x3333, %%rsi\n mov $0x4444, %%rdi\n"
			 "mov $0x5555, %%r8\n mov $0x6666, %%r9\n mov $0x7777, %%r10\n mov $0x8888, %%r11\n"
			 "mov $0x9999, %%r12\n mov $0xaaaa, %%r13\n mov $0xbbbb, %%r14\n mov $0xcccc, %%r15\n"
			 "1: dec %%rcx\n jnz 1b\n"
			 "xor $0x1111, %%rbx\n xor $0x2222, %%rdx\n xor $0x3333, %%rsi\n xor $0x4444, %%rdi\n"
			 "xor $0x5555, %%r8\n xor $0x6666, %%r9\n xor $0x7777, %%r10\n xor $0x8888, %%r11\n"
			 "xor $0x9999, %%r12\n xor $0xaaaa, %%r13\n xor $0xbbbb, %%r14\n xor $0xcccc, %%r15\n"
			 "or %%rbx, %%rax\n or %%rdx, %%rax\n or %%rsi, %%rax\n or %%rdi, %%rax\n or %%r8, %%rax\n"
			 "or %%r9, %%rax\n or %%r10, %%rax\n or %%r11, %%rax\n or %%r12, %%rax\n or %%r13, %%rax\n"
			 "or %%r14, %%rax\n or %%r15, %%rax\n"
			 : "+a"(wrong), "+c"(loops)
			 :
			 : "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
			   "memory");
	return wrong;
}

static long spin_vector(long loops)
{
	static const uint64_t in[8] __attribute__((aligned(16))) = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint64_t out[8] __attribute__((aligned(16)));

	__asm__ volatile(
		"movdqa (%1), %%xmm0\n movdqa 16(%1), %%xmm7\n movdqa 32(%1), %%xmm8\n movdqa 48(%1), %%xmm15\n"
		"1: dec %0\n jnz 1b\n"
		"movdqa %%xmm0, (%2)\n movdqa %%xmm7, 16(%2)\n movdqa %%xmm8, 32(%2)\n movdqa %%xmm15, 48(%2)\n"
		: "+r"(loops)
		: "r"(in), "r"(out)
		: "xmm0", "xmm7", "xmm8", "xmm15", "cc", "memory");
	return memcmp(in, out, sizeof in) != 0;
}

static long sum_x87(long loops)
{
	long double sum = 0;

	for (long i = 1; i <= loops; i++)
		sum += (long double)i;
	return sum != (long double)loops * (long double)(loops + 1) / 2;
}

/* Computes while handlers interrupt it; the computation returns 0 if all was as it should be. */
static void compute_interrupted(long (*compute)(long), long loops)
{
	long until = now_ms() + 5000;

	tick(2, spoil, 0);
	while (caught[SIGALRM] < 10 && now_ms() < until)
		IS(compute(loops), 0);
	TRUE(caught[SIGALRM] >= 10);
}

TEST(frame_registers, "Are all integer registers as they were after a handler?")
{
	compute_interrupted(spin_integer, 500000);
}

TEST(frame_vectors, "Are SSE registers as they were after a handler?")
{
	compute_interrupted(spin_vector, 500000);
}

TEST(frame_x87, "Is a floating point computation right that handlers interrupt?")
{
	compute_interrupted(sum_x87, 100000);
}

TEST(frame_flags, "Are flags as they were, and is the direction flag clear in a handler?")
{
	unsigned long before = 0, after = 0;

	handle(SIGUSR1, spoil, 0);
	__asm__ volatile("std\n stc\n pushfq\n pop %0\n"
			 "mov %2, %%eax\n syscall\n"
			 "pushfq\n pop %1\n cld\n"
			 : "=&r"(before), "=&r"(after)
			 : "i"(SYS_kill), "D"((long)getpid()), "S"((long)SIGUSR1)
			 : "rax", "rcx", "r11", "cc", "memory");
	IS(after & 0xcd5, before & 0xcd5);
	IS(caught[SIGUSR1], 1);
}

TEST(switch_vectors, "Do two processes that share a processor keep their SSE registers apart?")
{
	pid_t pid = fork_checked();

	for (int i = 0; i < 20; i++) {
		IS(spin_vector(300000), 0);
		if (pid == 0)
			__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n movdqa %%xmm0, %%xmm15" ::: "xmm0", "xmm15");
		sched_yield();
	}
	if (pid == 0)
		_exit(0);
	IS(reap(pid), 0);
}

static int bare_pipe[2];
static char bare_byte;

/* Calls each service that programs call, one after the other. */
static long one_of_calls(unsigned i)
{
	static struct timespec at;

	switch (i % 5) {
	case 0:
		return bare(SYS_getppid, 0, 0, 0) >= 0;
	case 1:
		return bare(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&at, 0) == 0;
	case 2:
		return bare(SYS_write, bare_pipe[1], (long)&bare_byte, 1) == 1;
	case 3:
		return bare(SYS_read, bare_pipe[0], (long)&bare_byte, 1) == 1;
	default:
		return bare(SYS_munmap, 0x1000, 0x1000, 0) == 0;
	}
}

/* Loads all that the processor computes with, makes calls, and counts the calls after which something has changed. */
static long calls_with_vectors(unsigned calls, uint64_t seed)
{
	uint64_t in[8] __attribute__((aligned(16))), out[8] __attribute__((aligned(16)));
	unsigned csr = 0x1f80 | (seed & 3) << 13, csr_after;
	uint16_t word = (uint16_t)(0x037f & ~0xc00u) | (uint16_t)((seed & 3) << 10), word_after;
	long wrong = 0;

	for (unsigned i = 0; i < calls; i++) {
		long done;

		for (int j = 0; j < 8; j++)
			in[j] = seed + i * 8 + (unsigned)j;
		__asm__ volatile("ldmxcsr %0\n fldcw %1\n movdqa (%2), %%xmm3\n movdqa 16(%2), %%xmm7\n"
				 "movdqa 32(%2), %%xmm8\n movdqa 48(%2), %%xmm15\n"
				 :
				 : "m"(csr), "m"(word), "r"(in)
				 : "xmm3", "xmm7", "xmm8", "xmm15", "memory");
		done = one_of_calls(i);
		__asm__ volatile("movdqa %%xmm3, (%2)\n movdqa %%xmm7, 16(%2)\n movdqa %%xmm8, 32(%2)\n"
				 "movdqa %%xmm15, 48(%2)\n stmxcsr %0\n fnstcw %1\n"
				 : "=m"(csr_after), "=m"(word_after)
				 : "r"(out)
				 : "memory");
		wrong += !done || memcmp(in, out, sizeof in) != 0 || (csr_after & 0xffc0) != (csr & 0xffc0) ||
			 word_after != word;
	}
	return wrong;
}

TEST(calls_vectors, "Are SSE registers, MXCSR and the x87 control word as they were after calls?")
{
	pid_t pid;

	OK(pipe(bare_pipe));
	IS(calls_with_vectors(2000, 1), 0);
	tick(1, spoil, SA_RESTART);
	IS(calls_with_vectors(5000, 2), 0);
	tick(0, spoil, 0);
	pid = fork_checked();
	if (pid == 0)
		OK(pipe(bare_pipe));
	tick(2, spoil, SA_RESTART);
	IS(calls_with_vectors(20000, pid == 0 ? 7 : 4), 0);
	tick(0, spoil, 0);
	if (pid == 0)
		_exit(0);
	IS(reap(pid), 0);
}

/* Counts the calls after which a register that they must keep has changed. */
static long calls_with_registers(unsigned calls)
{
	long wrong = 0;

	for (unsigned i = 0; i < calls; i++) {
		long result = SYS_getppid, bad = 0;

		__asm__ volatile("mov $0x1111, %%rbx\n mov $0x2222, %%rdx\n mov $0x3333, %%rsi\n mov $0x4444, %%rdi\n"
				 "mov $0x5555, %%r8\n mov $0x6666, %%r9\n mov $0x7777, %%r10\n"
				 "mov $0x9999, %%r12\n mov $0xaaaa, %%r13\n mov $0xbbbb, %%r14\n mov $0xcccc, %%r15\n"
				 "syscall\n"
				 "xor $0x1111, %%rbx\n xor $0x2222, %%rdx\n xor $0x3333, %%rsi\n xor $0x4444, %%rdi\n"
				 "xor $0x5555, %%r8\n xor $0x6666, %%r9\n xor $0x7777, %%r10\n"
				 "xor $0x9999, %%r12\n xor $0xaaaa, %%r13\n xor $0xbbbb, %%r14\n xor $0xcccc, %%r15\n"
				 "or %%rbx, %1\n or %%rdx, %1\n or %%rsi, %1\n or %%rdi, %1\n or %%r8, %1\n"
				 "or %%r9, %1\n or %%r10, %1\n or %%r12, %1\n or %%r13, %1\n or %%r14, %1\n or %%r15, "
				 "%1\n"
				 : "+a"(result), "+m"(bad)
				 :
				 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
				   "r15", "cc", "memory");
		wrong += bad != 0 || result != getppid();
	}
	return wrong;
}

TEST(calls_registers, "Are integer registers as they were after calls, signals or none?")
{
	IS(calls_with_registers(2000), 0);
	tick(1, spoil, SA_RESTART);
	IS(calls_with_registers(5000), 0);
	tick(0, spoil, 0);
}

static long calls_with_bases(unsigned calls, unsigned long gs)
{
	unsigned long fs_before, fs, now_gs;
	long wrong = 0;

	OK(RAW(SYS_arch_prctl, 0x1001, gs));
	OK(RAW(SYS_arch_prctl, 0x1003, &fs_before));
	for (unsigned i = 0; i < calls; i++) {
		wrong += !one_of_calls(i);
		if (i % 50)
			continue;
		OK(RAW(SYS_arch_prctl, 0x1003, &fs));
		OK(RAW(SYS_arch_prctl, 0x1004, &now_gs));
		/* FS as libc uses it: the first word is its own address. */
		wrong += fs != fs_before || now_gs != gs || *(unsigned long *)fs != fs;
	}
	return wrong;
}

TEST(calls_bases, "Are the bases of FS and GS as they were after calls, and each process's own?")
{
	pid_t pid;

	OK(pipe(bare_pipe));
	IS(calls_with_bases(2000, 0x123456000), 0);
	pid = fork_checked();
	if (pid == 0)
		OK(pipe(bare_pipe));
	tick(2, spoil, SA_RESTART);
	IS(calls_with_bases(20000, pid == 0 ? 0x7000 : 0), 0);
	tick(0, spoil, 0);
	if (pid == 0)
		_exit(0);
	IS(reap(pid), 0);
}

static void *changed_ip;

static void change_ip(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	catch_info(signal, info, context);
	/* Past the two bytes of ud2. */
	uc->uc_mcontext.gregs[16] += 2;
	changed_ip = context;
}

TEST(frame_context, "Does the context that a handler changes count on return?")
{
	handle_info(SIGILL, change_ip, 0);
	__asm__ volatile("ud2");
	IS(caught[SIGILL], 1);
	TRUE(changed_ip != NULL);
}

static void forge(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	uc->uc_mcontext.gregs[16] = (long long)0x8000000000001000;
}

TEST(frame_forged, "Does a return to an address that is none kill the process, not the kernel?")
{
	IN_CHILD (128 + SIGSEGV) {
		handle_info(SIGUSR1, forge, 0);
		raise(SIGUSR1);
	}
	IN_CHILD (128 + SIGSEGV) {
		/* There is no frame at all. */
		__asm__ volatile("mov $16, %%rsp\n mov $15, %%eax\n syscall" ::: "memory");
	}
}
