/* shared.c: two programs that call services without pause, of each the calls that it made; and one alone, of which the
 * processor's time that passed and what it was told that it had, by clock, by getrusage and by times. Nanoseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARED_NS 60000000L
#define ALONE_NS 30000000L
#define SECOND 1000000000L

static void call_pm(void)
{
	syscall(SYS_getppid);
}

static void call_vfs(void)
{
	syscall(SYS_lseek, 0, 0, SEEK_CUR);
}

static void call_vm(void)
{
	syscall(SYS_munmap, 0x1000, 0x1000);
}

static const struct {
	const char *name;
	void (*first)(void), (*second)(void);
} pairs[] = { { "pm-pm", call_pm, call_pm }, { "vfs-vm", call_vfs, call_vm } };

static struct {
	volatile int over;
	volatile long calls[2];
} *shared;

static void call_until_over(int which, void (*call)(void))
{
	while (!shared->over) {
		call();
		shared->calls[which]++;
	}
	_exit(0);
}

static void share(const char *name, void (*first)(void), void (*second)(void))
{
	struct timespec meanwhile = { 0, SHARED_NS };

	shared->over = 0;
	shared->calls[0] = shared->calls[1] = 0;
	if (fork() == 0)
		call_until_over(0, first);
	if (fork() == 0)
		call_until_over(1, second);
	nanosleep(&meanwhile, NULL);
	shared->over = 1;
	while (wait(NULL) > 0)
		continue;
	printf("%s %ld %ld\n", name, shared->calls[0], shared->calls[1]);
}

static long clock_of(clockid_t which)
{
	struct timespec t;

	if (syscall(SYS_clock_gettime, which, &t) != 0)
		exit(1);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static long usage_of(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SECOND + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static long times_of(void)
{
	struct tms t;

	times(&t);
	return (t.tms_utime + t.tms_stime) * (SECOND / sysconf(_SC_CLK_TCK));
}

static void alone(const char *name, void (*call)(void))
{
	long had[] = { clock_of(CLOCK_PROCESS_CPUTIME_ID), usage_of(), times_of() };
	long begin = clock_of(CLOCK_MONOTONIC), passed;

	do {
		for (int i = 0; i < 100; i++)
			call();
		passed = clock_of(CLOCK_MONOTONIC) - begin;
	} while (passed < ALONE_NS);
	printf("%s %ld %ld %ld %ld\n", name, passed, clock_of(CLOCK_PROCESS_CPUTIME_ID) - had[0], usage_of() - had[1],
	       times_of() - had[2]);
}

int main(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	alone("pm", call_pm);
	alone("vm", call_vm);
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		share(pairs[i].name, pairs[i].first, pairs[i].second);
	return 0;
}
