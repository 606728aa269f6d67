/* system.c: what the system tells of itself, and rare calls. */
#include "usertests.h"

#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

TEST(uname, "Does uname tell system and machine?")
{
	struct utsname u;

	OK(uname(&u));
	TRUE(strcmp(u.machine, "x86_64") == 0);
	TRUE(u.sysname[0] && u.release[0] && u.version[0]);
	FAULTS(RAW(SYS_uname, wild));
}

TEST(sysinfo, "Does sysinfo tell memory and uptime?")
{
	struct sysinfo s;

	OK(sysinfo(&s));
	TRUE(s.totalram > 0 && s.freeram <= s.totalram && s.mem_unit > 0);
	TRUE(s.uptime > 0 && s.procs > 0);
	FAULTS(RAW(SYS_sysinfo, wild));
}

TEST(getrandom, "Does getrandom fill what it is given, differently each time?")
{
	unsigned char a[64] = { 0 }, b[64] = { 0 };

	IS(getrandom(a, sizeof a, 0), sizeof a);
	IS(getrandom(b, sizeof b, GRND_NONBLOCK), sizeof b);
	TRUE(memcmp(a, b, sizeof a) != 0);
	IS(getrandom(a, 0, 0), 0);
	FAILS(RAW(SYS_getrandom, a, 4, 0x100), EINVAL);
	FAULTS(RAW(SYS_getrandom, wild, 4, 0));
}

TEST(ids, "Do the calls that tell numbers tell the same each time?")
{
	IS(RAW(SYS_getpid, 0), getpid());
	IS(RAW(SYS_gettid, 0), getpid());
	IS(RAW(SYS_getppid, 0), getppid());
	IS(RAW(SYS_getuid, 0), getuid());
	IS(RAW(SYS_geteuid, 0), geteuid());
	IS(RAW(SYS_getgid, 0), getgid());
	IS(RAW(SYS_getegid, 0), getegid());
	IS(RAW(SYS_getpgrp, 0), getpgid(0));
}

TEST(affinity, "Does the set of processors hold the one we run on?")
{
	unsigned long set[16] = { 0 }, none[16] = { 0 };
	long n = OK(RAW(SYS_sched_getaffinity, 0, sizeof set, set));
	int any = 0;

	TRUE(n >= 8 && n % 8 == 0);
	for (int i = 0; i < 16; i++)
		any |= set[i] != 0;
	TRUE(any);
	OK(RAW(SYS_sched_setaffinity, 0, sizeof set, set));
	FAILS(RAW(SYS_sched_setaffinity, 0, sizeof none, none), EINVAL);
	FAILS(RAW(SYS_sched_getaffinity, 0, 4, set), EINVAL);
	FAILS(RAW(SYS_sched_getaffinity, 0x7ffffff, sizeof set, set), ESRCH);
	FAULTS(RAW(SYS_sched_getaffinity, 0, sizeof set, wild));
	FAULTS(RAW(SYS_sched_setaffinity, 0, 8, wild));
}

TEST(yield, "Does sched_yield let another process run that waits for the processor?")
{
	volatile int *turn = shared_room(PAGE);
	pid_t pid = fork_checked();

	for (int i = 0; i < 1000; i++) {
		while (*turn != (pid == 0) + 2 * i)
			sched_yield();
		++*turn;
		if (pid == 0 && i == 999)
			_exit(0);
	}
	IS(reap(pid), 0);
}

TEST(preemption, "Does a process that never calls the kernel let others run?")
{
	pid_t pid = fork_checked();

	if (pid == 0)
		for (;;)
			__asm__ volatile("pause");
	sleep_ms(50);
	kill_and_reap(pid);
}

TEST(privileged, "Is each instruction for the kernel alone refused to a program?")
{
	for (int kind = 0; kind < 6; kind++) {
		IN_CHILD (128 + SIGSEGV) {
			if (kind == 0)
				__asm__ volatile("hlt");
			if (kind == 1)
				__asm__ volatile("mov %%cr3, %%rax" ::: "rax");
			if (kind == 2)
				__asm__ volatile("outb %%al, $0x80" ::"a"(0));
			if (kind == 3)
				__asm__ volatile("wrmsr" ::"a"(0), "d"(0), "c"(0xc0000082));
			if (kind == 4)
				__asm__ volatile("lidt (%%rsp)" ::: "memory");
			if (kind == 5)
				__asm__ volatile("invlpg (%%rsp)" ::: "memory");
		}
	}
}

TEST(unknown_calls, "Does a call that does not exist give ENOSYS?")
{
	static const long numbers[] = { 400, 423, 999, 2000, 100000, -1, 0x7fffffff };

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		FAILS(RAW(numbers[i]), ENOSYS);
}
