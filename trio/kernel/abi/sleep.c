/* sleep.c: nanosleep, clock_nanosleep, and how they go on after a stop. */
#include "abi/abi.h"
#include "abi/time.h"
#include "clock_client.h"

/* A sleep for a time that a signal ends writes the time that is left to `left_to`, unless that is 0. The task keeps
 * what the sleep would go on with: a signal without a handler does not end the sleep, but the call has to be made again
 * then. */
static int64_t sleep_until(struct task *t, uint32_t clock, uint64_t deadline, uint64_t left_to)
{
	int64_t result = client_clock_sleep(&t->request, clock, deadline);

	if (result != -EINTR)
		return result;
	t->sleep = (struct sleep){ deadline, left_to, clock };
	if (!left_to)
		return result;
	if (now() >= deadline)
		return 0;
	return deadline_left(left_to, 1, deadline) != 0 ? -EFAULT : -EINTR;
}

/* Sleeps for a time that passes, whatever happens to the time of day. */
static int64_t sleep_for(struct task *t, uint64_t time, uint64_t left_to)
{
	nanoseconds deadline;

	TRY(time ? deadline_after(time, 1, &deadline) : -EFAULT);
	return sleep_until(t, CLOCK_MONOTONIC, deadline, left_to);
}

static int64_t run_restart_syscall(struct task *t, const uint64_t *a)
{
	struct sleep s = t->sleep;

	if (!s.deadline)
		return -EINTR;
	t->sleep.deadline = 0;
	return sleep_until(t, s.clock, s.deadline, s.left_to);
}

static int64_t run_clock_nanosleep(struct task *t, const uint64_t *a)
{
	uint32_t clock = (uint32_t)a[0];
	nanoseconds deadline;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_MONOTONIC:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		break;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_MONOTONIC_COARSE:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
	if (!((uint32_t)a[1] & TIMER_ABSTIME))
		return sleep_for(t, a[2], a[3]);
	TRY(a[2] ? deadline_at(a[2], &deadline) : -EFAULT);
	return sleep_until(t, clock, deadline, 0);
}

static int64_t run_nanosleep(struct task *t, const uint64_t *a)
{
	return sleep_for(t, a[0], a[1]);
}

const struct route routes_sleep[] = {
	{ 35, CONTINUES, "nanosleep", run_nanosleep },
	{ RESTART_SYSCALL, CONTINUES, "restart_syscall", run_restart_syscall },
	{ 230, CONTINUES, "clock_nanosleep", run_clock_nanosleep },
	{ 0 },
};
