/* route_clock.c: Linux's calls for time and for sleep. */
#include "abi/abi.h"
#include "abi/time.h"
#include "clock.h"
#include "clock_client.h"
#include "pm_client.h"

#define NS_PER_MICROSECOND 1000

static struct linux_timespec timespec_of(uint64_t ns)
{
	return (struct linux_timespec){ (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND) };
}

static bool is_valid(const struct linux_timespec *t)
{
	return t->seconds >= 0 && (uint64_t)t->nanoseconds < NS_PER_SECOND;
}

/* What is beyond 64 bits is never. */
static uint64_t ns_of(const struct linux_timespec *t)
{
	if ((uint64_t)t->seconds >= UINT64_MAX / NS_PER_SECOND)
		return NEVER;
	return (uint64_t)t->seconds * NS_PER_SECOND + (uint64_t)t->nanoseconds;
}

static uint64_t epoch(void)
{
	uint64_t ns = 0;

	clock_epoch(&ns);
	return ns;
}

/* All of a process' threads: pm's to sum. */
static int64_t process_time(struct task *t, uint64_t to)
{
	struct request *r = &t->request;
	int64_t result = client_pm_times(r);
	struct linux_timespec time;

	if (result < 0)
		return result;
	time = timespec_of(r->out[OUT_PM_TIMES_USER] + r->out[OUT_PM_TIMES_SYSTEM]);
	return user_put(to, &time, sizeof time);
}

static int64_t run_gettime(struct task *t, const uint64_t *a)
{
	if ((uint32_t)a[0] == CLOCK_PROCESS_CPUTIME_ID)
		return process_time(t, a[1]);
	return client_clock_gettime(&t->request, (uint32_t)a[0], user_grant(a[1], sizeof(struct linux_timespec)));
}

/* The order of refusals is Linux's: the time first, then who asks. */
static int64_t set(struct task *t, uint32_t clock, const struct linux_timespec *time)
{
	if (!is_valid(time))
		return -EINVAL;
	if (client_pm_getid(&t->request, EFFECTIVE_USER) != 0)
		return -EPERM;
	return client_clock_settime(&t->request, clock, grant_read(time, sizeof *time));
}

static int64_t run_settime(struct task *t, const uint64_t *a)
{
	struct linux_timespec time;

	if ((uint32_t)a[0] != CLOCK_REALTIME)
		return -EINVAL;
	if (user_get(&time, a[1], sizeof time))
		return -EFAULT;
	return set(t, CLOCK_REALTIME, &time);
}

/* A sleep for a time that a signal ends says at `left_to`, if that is not 0, how much of it was left. What it would go
 * on with is kept: a signal without a handler does not end it, but the call has to be made again then. */
static int64_t sleep_until(struct task *t, uint32_t clock, uint64_t deadline, uint64_t left_to)
{
	int64_t result = client_clock_sleep(&t->request, clock, deadline);
	struct linux_timespec left;
	uint64_t at;

	if (result != -EINTR)
		return result;
	t->sleep = (struct sleep){ deadline, left_to, clock };
	if (!left_to)
		return result;
	at = now();
	if (at >= deadline)
		return 0;
	left = timespec_of(deadline - at);
	return user_put(left_to, &left, sizeof left) ? -EFAULT : -EINTR;
}

/* Of the time that passes, whatever happens to the time of day. */
static int64_t sleep_for(struct task *t, const struct linux_timespec *time, uint64_t left_to)
{
	uint64_t begin = now();

	if (!is_valid(time))
		return -EINVAL;
	return sleep_until(t, CLOCK_MONOTONIC, ns_of(time) > NEVER - begin ? NEVER : begin + ns_of(time), left_to);
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
	struct linux_timespec time;

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
	if (user_get(&time, a[2], sizeof time))
		return -EFAULT;
	if (!((uint32_t)a[1] & TIMER_ABSTIME))
		return sleep_for(t, &time, a[3]);
	return is_valid(&time) ? sleep_until(t, clock, ns_of(&time), 0) : -EINVAL;
}

static int64_t run_nanosleep(struct task *t, const uint64_t *a)
{
	struct linux_timespec time;

	if (user_get(&time, a[0], sizeof time))
		return -EFAULT;
	return sleep_for(t, &time, a[1]);
}

/* The second argument, a time zone, is that of Greenwich. */
static int64_t run_gettimeofday(struct task *t, const uint64_t *a)
{
	struct linux_timespec time = timespec_of(epoch() + now());
	struct linux_timeval value = { time.seconds, time.nanoseconds / NS_PER_MICROSECOND };
	static const int32_t zone[2];

	if (a[0] && user_put(a[0], &value, sizeof value))
		return -EFAULT;
	return a[1] && user_put(a[1], zone, sizeof zone) ? -EFAULT : 0;
}

static int64_t run_settimeofday(struct task *t, const uint64_t *a)
{
	struct linux_timeval value;
	struct linux_timespec time;
	int32_t zone[2];

	if (a[0] && user_get(&value, a[0], sizeof value))
		return -EFAULT;
	if (a[1] && user_get(zone, a[1], sizeof zone))
		return -EFAULT;
	if (!a[0])
		return client_pm_getid(&t->request, EFFECTIVE_USER) != 0 ? -EPERM : 0;
	if ((uint64_t)value.microseconds > 1000000)
		return -EINVAL;
	time = (struct linux_timespec){ value.seconds, value.microseconds * NS_PER_MICROSECOND };
	return set(t, CLOCK_REALTIME, &time);
}

static int64_t run_time(struct task *t, const uint64_t *a)
{
	int64_t seconds = (int64_t)((epoch() + now()) / NS_PER_SECOND);

	return a[0] && user_put(a[0], &seconds, sizeof seconds) ? -EFAULT : seconds;
}

ROUTE_TABLE(clock, { 35, CONTINUES, "nanosleep", run_nanosleep }, { 96, false, "gettimeofday", run_gettimeofday },
	    { 164, false, "settimeofday", run_settimeofday }, { 201, false, "time", run_time },
	    { RESTART_SYSCALL, CONTINUES, "restart_syscall", run_restart_syscall },
	    { 227, false, "clock_settime", run_settime }, { 228, false, "clock_gettime", run_gettime },
	    { 230, CONTINUES, "clock_nanosleep", run_clock_nanosleep }, );
