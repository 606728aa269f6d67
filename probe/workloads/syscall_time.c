/* syscall/gettimeofday through the kernel, and gettimeofday-fast as libc does it (on Linux by the vDSO). */
#include "../km.h"

struct syscall_time {
	struct km *km;
	uint64_t good; /* answers that were written and are a time */
};

static struct syscall_time *syscall_time_new(struct km *km)
{
	struct syscall_time *s = km_state(km, sizeof *s);

	km->claim = (struct claim){ .faults = km->point->cold ? NO_CLAIM : 0 };
	return s;
}

static void *syscall_gettimeofday_setup(struct km *km)
{
	struct syscall_time *s = syscall_time_new(km);

	if (!HAVE_SYS_GETTIMEOFDAY)
		km_unsupported(km, "this platform has no gettimeofday by syscall(2)");
	km->claim.syscalls = 1;
	return s;
}

static void *syscall_gettimeofday_fast_setup(struct km *km)
{
	struct syscall_time *s = syscall_time_new(km);

	km->claim.syscalls = NO_CLAIM; /* 0 or 1: the two rows show which */
	return s;
}

static int syscall_time_is_right(const struct timeval *now)
{
	return now->tv_sec > 0 && now->tv_usec >= 0 && now->tv_usec < 1000000;
}

static void syscall_gettimeofday_run(void *state, uint64_t n)
{
	struct syscall_time *s = state;
	struct timeval now;

	while (n--) {
		now.tv_usec = -1; /* detects an answer that was not written */
		if (km_sys_gettimeofday(&now) != 0)
			km_fail_call(s->km, "gettimeofday");
		s->good += syscall_time_is_right(&now);
	}
}

static void syscall_gettimeofday_fast_run(void *state, uint64_t n)
{
	struct syscall_time *s = state;
	struct timeval now;

	while (n--) {
		now.tv_usec = -1;
		if (gettimeofday(&now, NULL) != 0)
			km_fail_call(s->km, "gettimeofday");
		s->good += syscall_time_is_right(&now);
	}
}

#define SYSCALL_TIME_ROW                                                                                         \
	.per = "call", .source = "K table 2",                                                                    \
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = FULL, .path_n = 10, .cold = 1 }), \
	.counted = { offsetof(struct syscall_time, good), "answers were a time" }

const struct workload syscall_gettimeofday = {
	.name = "syscall/gettimeofday",
	SYSCALL_TIME_ROW,
	.what = "gettimeofday through the kernel, the platform's fast path bypassed",
	.inside = "libc's syscall(2), the call, comparisons of its answer",
	.needs = CAP_SYSCALL,
	.settings = SET_CLOCK_SOURCE,
	.setup = syscall_gettimeofday_setup,
	.run = syscall_gettimeofday_run,
};

const struct workload syscall_gettimeofday_fast = {
	.name = "syscall/gettimeofday-fast",
	SYSCALL_TIME_ROW,
	.what = "gettimeofday by libc, which takes the platform's fast path where there is one",
	.inside = "libc's gettimeofday, comparisons of its answer",
	.settings = SET_CLOCK_SOURCE | SET_VDSO,
	.setup = syscall_gettimeofday_fast_setup,
	.run = syscall_gettimeofday_fast_run,
};
