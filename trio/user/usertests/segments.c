/* segments.c: the selectors of DS, ES, FS and GS, which have no effect in a 64-bit program but can be loaded and read,
 * and belong to the thread. FS is libc's, so no libc is used from a load of it until its base is set again. */
#include "usertests.h"

#include <setjmp.h>

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004
/* More than the kernel's table of segments can have. */
#define SELECTORS 160

struct selectors {
	unsigned ds, es, fs, gs;
};

/* The stack's selector is a data segment, which any register may have. */
static unsigned usable(void)
{
	unsigned ss;

	__asm__("mov %%ss, %0" : "=r"(ss));
	return ss;
}

static void load(unsigned ds, unsigned es, unsigned gs)
{
	__asm__ volatile("mov %0, %%ds\n mov %1, %%es\n mov %2, %%gs\n" : : "r"(ds), "r"(es), "r"(gs));
}

static struct selectors selectors(void)
{
	struct selectors s;

	__asm__ volatile("mov %%ds, %0\n mov %%es, %1\n mov %%fs, %2\n mov %%gs, %3\n"
			 : "=r"(s.ds), "=r"(s.es), "=r"(s.fs), "=r"(s.gs));
	return s;
}

static void has(unsigned ds, unsigned es, unsigned gs)
{
	struct selectors s = selectors();

	IS(s.ds, ds);
	IS(s.es, es);
	IS(s.fs, 0);
	IS(s.gs, gs);
}

static unsigned long base_of(int get)
{
	unsigned long base;

	OK(RAW(SYS_arch_prctl, get, &base));
	return base;
}

TEST(segments_own, "Are DS, ES and GS a process's own, whoever runs in between?")
{
	unsigned ss = usable();
	int to[2], from[2];
	pid_t pid;

	has(0, 0, 0);
	OK(pipe(to));
	OK(pipe(from));
	START_CHILD (pid) {
		for (int i = 0; i < 20; i++) {
			get(to[0]);
			has(0, i % 2 ? ss : 0, 0);
			load(0, i % 2 ? 0 : ss, 0);
			put(from[1]);
		}
	}
	for (int i = 0; i < 20; i++) {
		load(ss, 0, i % 3 ? ss : 0);
		put(to[1]);
		get(from[0]);
		has(ss, 0, i % 3 ? ss : 0);
	}
	load(0, 0, 0);
	IS(reap(pid), 0);
	has(0, 0, 0);
}

TEST(segments_fork, "Does a child begin with its parent's DS, ES and GS, and GS base?")
{
	unsigned ss = usable();
	static char place[16] = "base";

	OK(RAW(SYS_arch_prctl, ARCH_SET_GS, place));
	IN_CHILD (0) {
		IS(base_of(ARCH_GET_GS), (long)place);
	}
	load(ss, ss, ss);
	for (int i = 0; i < 3; i++) {
		IN_CHILD (0) {
			has(ss, ss, ss);
			load(0, 0, 0);
		}
		has(ss, ss, ss);
	}
}

/* FS has a selector all the time. Returns 0, or the number of the check that failed. */
static int over_fork(unsigned ss, unsigned long base)
{
	int failed = 0, status = 0;
	unsigned fs;
	long pid;

	__asm__ volatile("mov %0, %%fs" : : "r"(ss));
	pid = bare(SYS_fork, 0, 0, 0);
	__asm__ volatile("mov %%fs, %0" : "=r"(fs));
	if (pid == 0)
		bare(SYS_exit, fs == ss ? 0 : 1, 0, 0);
	if (bare(SYS_wait4, pid, (long)&status, 0) != pid || status != 0)
		failed = 1;
	__asm__ volatile("mov %%fs, %0" : "=r"(fs));
	if (fs != ss)
		failed = 2;
	bare(SYS_arch_prctl, ARCH_SET_FS, (long)base, 0);
	__asm__ volatile("mov %%fs, %0" : "=r"(fs));
	return fs == 0 ? failed : 3;
}

TEST(segments_fs, "Is FS a process's own too, and 0 once its base is set?")
{
	IS(over_fork(usable(), base_of(ARCH_GET_FS)), 0);
}

TEST(segments_bases, "Does a selector in GS make its base 0, and setting the base the selector?")
{
	static char place[16] = "base";
	unsigned long word;

	OK(RAW(SYS_arch_prctl, ARCH_SET_GS, place));
	IS(base_of(ARCH_GET_GS), (long)place);
	__asm__ volatile("mov %%gs:0, %0" : "=r"(word));
	IS(memcmp(&word, place, sizeof word), 0);
	load(0, 0, usable());
	sleep_ms(1);
	IS(base_of(ARCH_GET_GS), 0);
	has(0, 0, usable());
	OK(RAW(SYS_arch_prctl, ARCH_SET_GS, place));
	has(0, 0, 0);
	sleep_ms(1);
	IS(base_of(ARCH_GET_GS), (long)place);
}

static void *thread_has(void *unused)
{
	unsigned ss = usable();

	(void)unused;
	/* A thread's FS base is set when it is made. */
	has(ss, ss, 0);
	load(0, ss, ss);
	for (int i = 0; i < 10; i++) {
		sched_yield();
		has(0, ss, ss);
	}
	return NULL;
}

TEST(segments_threads, "Are DS, ES and GS a thread's own, at first its maker's?")
{
	unsigned ss = usable();
	pthread_t thread;

	load(ss, ss, 0);
	thread = start_thread(thread_has, NULL);
	for (int i = 0; i < 10; i++) {
		sched_yield();
		has(ss, ss, 0);
	}
	IS(pthread_join(thread, NULL), 0);
	has(ss, ss, 0);
}

static struct selectors in_handler;

static void on_signal(int signal)
{
	(void)signal;
	in_handler = selectors();
	load(0, 0, usable());
}

TEST(segments_signals, "Does a handler have the selectors of what it interrupts, and leave its own?")
{
	unsigned ss = usable();

	handle(SIGUSR1, on_signal, 0);
	load(ss, ss, 0);
	OK(raise(SIGUSR1));
	IS(in_handler.ds, ss);
	IS(in_handler.es, ss);
	IS(in_handler.gs, 0);
	has(0, 0, ss);
}

static sigjmp_buf refused;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(refused, 1);
}

/* Loadable selectors are kept while another process runs. Null selectors may become 0 when the kernel returns. */
TEST(segments_all, "Is each selector either refused by a signal or kept?")
{
	volatile int loaded = 0;
	int to[2];
	pid_t pid;

	OK(pipe(to));
	pid = fork_checked();
	if (pid == 0)
		for (;;)
			get(to[0]);
	handle(SIGSEGV, on_fault, SA_NODEFER);
	handle(SIGBUS, on_fault, SA_NODEFER);
	for (volatile unsigned s = 0; s < SELECTORS; s++) {
		struct selectors after;

		if (sigsetjmp(refused, 0))
			continue;
		load(s, s, s);
		put(to[1]);
		sched_yield();
		after = selectors();
		load(0, 0, 0);
		if (s < 4)
			continue;
		loaded++;
		IS(after.ds, s);
		IS(after.es, s);
		IS(after.gs, s);
	}
	TRUE(loaded >= 4);
	kill_and_reap(pid);
}

TEST(segments_calls, "Are DS, ES and GS as they were after calls?")
{
	unsigned ss = usable();
	long wrong = 0, parent = getppid();
	struct timespec at;

	for (int i = 0; i < 3000; i++) {
		unsigned ds = i & 1 ? ss : 0, es = i & 2 ? ss : 0, gs = i & 4 ? ss : 0;
		struct selectors s;

		load(ds, es, gs);
		wrong += bare(SYS_getppid, 0, 0, 0) != parent;
		wrong += bare(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&at, 0) != 0;
		wrong += bare(SYS_close, -1, 0, 0) != -EBADF;
		s = selectors();
		wrong += s.ds != ds || s.es != es || s.fs != 0 || s.gs != gs;
	}
	load(0, 0, 0);
	IS(wrong, 0);
}
