/* route_signals.c: Linux's calls for signals and for the timers that send them. */
#include "abi/process.h"
#include "abi/signal.h"
#include "route_pm.h"

/* Bytes of a signal set, which callers must name. */
#define SET_BYTES 8
#define NS_PER_MICROSECOND 1000UL
#define MICROSECONDS 1000000UL
/* More seconds than any timer runs, so that nanoseconds do not overflow. */
#define MOST_SECONDS (INT64_MAX / NS_PER_SECOND)

int64_t run_rt_sigprocmask(struct task *t, const uint64_t *a)
{
	uint64_t set = 0, old;
	int64_t result;

	if (a[3] != SET_BYTES)
		return -EINVAL;
	if (a[1] && user_get(&set, a[1], sizeof set) != 0)
		return -EFAULT;
	result = client_pm_sigmask(&t->request, a[1] ? (int32_t)a[0] & INT32_MAX : -1, set);
	if (result != 0 || !a[2])
		return result;
	old = t->request.out[OUT_PM_SIGMASK_OLD];
	return user_put(a[2], &old, sizeof old);
}

int64_t run_rt_sigreturn(struct task *t, const uint64_t *a)
{
	if (signal_frame_pop(t) != 0)
		client_pm_raise(&t->request, SIGSEGV, SI_KERNEL, 0);
	return (int64_t)t->user->rax;
}

/* Without another mask: sigsuspend with the present one. */
int64_t run_pause(struct task *t, const uint64_t *a)
{
	client_pm_sigmask(&t->request, -1, 0);
	return client_pm_sigsuspend(&t->request, t->request.out[OUT_PM_SIGMASK_OLD]);
}

int64_t run_rt_sigsuspend(struct task *t, const uint64_t *a)
{
	uint64_t mask;

	if (a[1] != SET_BYTES)
		return -EINVAL;
	if (user_get(&mask, a[0], sizeof mask) != 0)
		return -EFAULT;
	return client_pm_sigsuspend(&t->request, mask);
}

int64_t run_rt_sigpending(struct task *t, const uint64_t *a)
{
	uint64_t set;

	if (a[1] > SET_BYTES)
		return -EINVAL;
	client_pm_sigpending(&t->request);
	set = t->request.out[OUT_PM_SIGPENDING_SET];
	return user_put(a[0], &set, a[1]);
}

int64_t run_rt_sigtimedwait(struct task *t, const uint64_t *a)
{
	nanoseconds deadline;
	uint64_t set;
	int64_t result;

	if (a[3] != SET_BYTES)
		return -EINVAL;
	if (user_get(&set, a[0], sizeof set) != 0)
		return -EFAULT;
	result = user_deadline(a[2], false, &deadline);
	if (result != 0)
		return result;
	return client_pm_sigtimedwait(&t->request, set, user_grant_if(a[1], sizeof(struct linux_siginfo)), deadline);
}

/* Who sends is told as it is, whatever the structure says. */
int64_t run_rt_sigqueueinfo(struct task *t, const uint64_t *a)
{
	struct linux_siginfo i;

	if (user_get(&i, a[2], sizeof i) != 0)
		return -EFAULT;
	return client_pm_sigqueue(&t->request, 0, (int32_t)a[0], (uint32_t)a[1], i.code, i.value);
}

int64_t run_rt_tgsigqueueinfo(struct task *t, const uint64_t *a)
{
	struct linux_siginfo i;

	if ((int32_t)a[0] <= 0 || (int32_t)a[1] <= 0)
		return -EINVAL;
	if (user_get(&i, a[3], sizeof i) != 0)
		return -EFAULT;
	return client_pm_sigqueue(&t->request, (int32_t)a[0], (int32_t)a[1], (uint32_t)a[2], i.code, i.value);
}

int64_t run_sigaltstack(struct task *t, const uint64_t *a)
{
	const uint64_t bytes = sizeof(struct linux_stack);

	return client_pm_sigaltstack(&t->request, user_grant_if(a[0], bytes), user_grant_if(a[1], bytes), t->user->rsp);
}

struct interval_timer {
	struct linux_timeval interval, value;
};

static bool ns_of(const struct linux_timeval *time, uint64_t *ns)
{
	if (time->seconds < 0 || (uint64_t)time->microseconds >= MICROSECONDS)
		return false;
	*ns = MIN((uint64_t)time->seconds, MOST_SECONDS - 1) * NS_PER_SECOND +
	      (uint64_t)time->microseconds * NS_PER_MICROSECOND;
	return true;
}

/* Rounded up: a timer that runs has something left. */
static struct linux_timeval time_of(uint64_t ns)
{
	uint64_t micro = (ns + NS_PER_MICROSECOND - 1) / NS_PER_MICROSECOND;

	return (struct linux_timeval){ (int64_t)(micro / MICROSECONDS), (int64_t)(micro % MICROSECONDS) };
}

int64_t run_getitimer(struct task *t, const uint64_t *a)
{
	const uint64_t *out = t->request.out;
	int64_t result = client_pm_getitimer(&t->request, (uint32_t)a[0]);
	struct interval_timer timer;

	if (result != 0)
		return result;
	timer.value = time_of(out[OUT_PM_GETITIMER_VALUE]);
	timer.interval = time_of(out[OUT_PM_GETITIMER_INTERVAL]);
	return user_put(a[1], &timer, sizeof timer);
}

/* A null pointer for the new one stops the timer. */
int64_t run_setitimer(struct task *t, const uint64_t *a)
{
	const uint64_t *out = t->request.out;
	struct interval_timer timer = { { 0, 0 }, { 0, 0 } };
	uint64_t value, interval;
	int64_t result;

	if (a[1] && user_get(&timer, a[1], sizeof timer) != 0)
		return -EFAULT;
	if (!ns_of(&timer.value, &value) || !ns_of(&timer.interval, &interval))
		return -EINVAL;
	result = client_pm_setitimer(&t->request, (uint32_t)a[0], value, interval);
	if (result != 0 || !a[2])
		return result;
	timer.value = time_of(out[OUT_PM_SETITIMER_VALUE]);
	timer.interval = time_of(out[OUT_PM_SETITIMER_INTERVAL]);
	return user_put(a[2], &timer, sizeof timer);
}

/* Seconds left of the one before, rounded, but not to 0. */
int64_t run_alarm(struct task *t, const uint64_t *a)
{
	uint64_t left;

	client_pm_setitimer(&t->request, ITIMER_REAL, (uint64_t)(uint32_t)a[0] * NS_PER_SECOND, 0);
	left = t->request.out[OUT_PM_SETITIMER_VALUE];
	if (left == 0)
		return 0;
	return (int64_t)MAX((left + NS_PER_SECOND / 2) / NS_PER_SECOND, 1);
}
