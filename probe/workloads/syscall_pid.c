/* syscall/getppid, getpid, getpgid: the cheapest calls, through the kernel. */
#include "../km.h"

struct syscall_pid {
	struct km *km;
	uint64_t sum; /* of result + 1: an error adds 0, a process 0 adds 1 */
};

static void *syscall_pid_setup(struct km *km)
{
	struct syscall_pid *s = km_state(km, sizeof *s);

	km->claim = (struct claim){ .syscalls = 1, .faults = km->point->cold ? NO_CLAIM : 0 };
	return s;
}

static uint64_t syscall_pid_least(uint64_t (*now)(void), pid_t (*call)(void), uint64_t n)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 3; round++) {
		uint64_t start = now(), took;

		for (uint64_t i = 0; i < n; i++)
			KM_KEEP((uintptr_t)call());
		took = now() - start;
		least = took < least ? took : least;
	}
	return least;
}

/* Does libc cache the number? Then getpid takes next to nothing compared with getppid, whose result may change. The
 * calls suffice when a coarse clock has made a dozen steps; by path a step is an instruction. */
#define SYSCALL_PID_ENOUGH 200000000 /* ns, or ticks of a finer clock */
static int syscall_pid_remembered(struct km *km)
{
	int by_path = km->by == BY_PATH;
	uint64_t (*now)(void) = km_clock_read(km, by_path ? "cycles" : km_clock_name(km)), n = 1000, parent;

	while ((parent = syscall_pid_least(now, getppid, n)) < SYSCALL_PID_ENOUGH && !by_path)
		n *= 2;
	return syscall_pid_least(now, getpid, n) < parent / 10;
}

static void *syscall_getpid_setup(struct km *km)
{
	if (!HAVE_SYSCALL && km->point->cold)
		km_unsupported(km,
			       "without syscall(2) getpid is called before, to test whether libc caches its result");
	if (!HAVE_SYSCALL && syscall_pid_remembered(km))
		km_unsupported(km, "this platform has no syscall(2), and its libc caches getpid's result");
	return syscall_pid_setup(km);
}

static void syscall_getppid_run(void *state, uint64_t n)
{
	struct syscall_pid *s = state;

	while (n--)
		s->sum += (uint64_t)km_sys_getppid() + 1;
}

static void syscall_getpid_run(void *state, uint64_t n)
{
	struct syscall_pid *s = state;

	while (n--)
		s->sum += (uint64_t)km_sys_getpid() + 1;
}

static void syscall_getpgid_run(void *state, uint64_t n)
{
	struct syscall_pid *s = state;

	while (n--)
		s->sum += (uint64_t)km_sys_getpgid() + 1;
}

/* Asks for the right result only now: before the run, that would have warmed a cold call. */
static void syscall_pid_check(const struct syscall_pid *s, uint64_t n, pid_t answer)
{
	if (s->sum != n * ((uint64_t)answer + 1))
		km_fail(s->km, "not all of %" PRIu64 " calls returned %ld", n, (long)answer);
}

static void syscall_getppid_verify(void *state, uint64_t n)
{
	syscall_pid_check(state, n, getppid());
}

static void syscall_getpid_verify(void *state, uint64_t n)
{
	syscall_pid_check(state, n, getpid());
}

static void syscall_getpgid_verify(void *state, uint64_t n)
{
	syscall_pid_check(state, n, getpgrp());
}

#define SYSCALL_PID_ROW                       \
	.per = "call", .source = "K table 3", \
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = QUICK, .path_n = 10, .cold = 1 })

const struct workload syscall_getppid = {
	.name = "syscall/getppid",
	SYSCALL_PID_ROW,
	.what = "getppid through the kernel, libc's caching bypassed",
	.inside = "libc's syscall(2) where there is one, the call, one addition",
	.setup = syscall_pid_setup,
	.run = syscall_getppid_run,
	.verify = syscall_getppid_verify,
};

const struct workload syscall_getpid = {
	.name = "syscall/getpid",
	SYSCALL_PID_ROW,
	.what = "getpid through the kernel, libc's caching bypassed",
	.inside = "libc's syscall(2) or, without it, a getpid that enters the kernel each time, the call, one addition",
	.setup = syscall_getpid_setup,
	.run = syscall_getpid_run,
	.verify = syscall_getpid_verify,
};

const struct workload syscall_getpgid = {
	.name = "syscall/getpgid",
	SYSCALL_PID_ROW,
	.what = "getpgid of the calling process through the kernel, libc's caching bypassed",
	.inside = "libc's syscall(2) where there is one (getpgrp where not), the call, one addition",
	.setup = syscall_pid_setup,
	.run = syscall_getpgid_run,
	.verify = syscall_getpgid_verify,
};
