/* timers.c: signals at a time. One alarm of the service stands for the first of a sorted list.
 *
 * ITIMER_REAL is exact. Time on the processor passes no faster than time, so ITIMER_VIRTUAL, ITIMER_PROF and RLIMIT_CPU
 * are looked at when what is left of them could have passed, and again when that has not: at most LOOK_AGAIN late. */
#include "clock.h"
#include "endpoints.h"
#include "people/people.h"
#include "signals/signals.h"
#include "time/timers.h"

#define LOOK_AGAIN 1000000ULL
#define NS_PER_MICROSECOND 1000UL
#define MICROSECONDS 1000000UL
/* More seconds than any timer runs, so that nanoseconds do not overflow. */
#define MOST_SECONDS (INT64_MAX / NS_PER_SECOND)

/* All of them, sorted. */
static struct link timers = { &timers, &timers };

static void alarm_set(void)
{
	struct link *first = timers.next;

	alarm_at(ENDPOINT_PM, first == &timers ? NEVER : CONTAINER(first, struct timer, link)->deadline);
}

void timer_end(struct timer *timer)
{
	bool first = timers.next == &timer->link;

	if (!timer->link.next)
		return;
	list_remove(&timer->link);
	if (first)
		alarm_set();
}

static void timer_begin(struct timer *timer, nanoseconds deadline)
{
	struct link *at;

	timer_end(timer);
	timer->deadline = deadline;
	/* Not before: the first may have been this one. */
	at = timers.next;
	while (at != &timers && CONTAINER(at, struct timer, link)->deadline <= deadline)
		at = at->next;
	/* Before `at`. */
	list_add(at, &timer->link);
	if (timers.next == &timer->link)
		alarm_set();
}

static void real_passed(struct process *p)
{
	nanoseconds next = p->real.deadline + p->real_interval;

	if (p->real_interval) {
		/* Those that were missed are not made up for. */
		if (next <= now())
			next = now() + p->real_interval;
		timer_begin(&p->real, next);
	}
	signal_plain(p, SIGALRM);
}

static void cpu_timer_check(struct process *p, struct cpu_timer *timer, uint64_t used, uint32_t signal)
{
	if (timer->at > used)
		return;
	timer->at = timer->interval ? used + timer->interval : NEVER;
	signal_plain(p, signal);
}

/* Of the time that such a timer counts. */
static uint64_t used_by(const struct process *p, uint32_t which)
{
	struct usage used = process_usage(p);

	return used.user + (which == ITIMER_PROF ? used.system : 0);
}

static uint64_t left_of(uint64_t at, uint64_t used)
{
	return at == NEVER ? NEVER : at > used ? at - used : 0;
}

/* RLIMIT_CPU: SIGXCPU at the soft limit and each second from then on, SIGKILL at the hard one. Returns nanoseconds to
 * the next of them. */
static uint64_t cpu_limit_check(struct process *p, uint64_t used)
{
	const struct limit *limit = &p->limits[RLIMIT_CPU];
	uint64_t seconds = used / NS_PER_SECOND;

	if (limit->soft == RLIM_INFINITY)
		return NEVER;
	if (seconds >= limit->hard) {
		signal_plain(p, SIGKILL);
		return NEVER;
	}
	if (p->next_xcpu < limit->soft)
		p->next_xcpu = limit->soft;
	if (seconds >= p->next_xcpu) {
		p->next_xcpu = seconds + 1;
		signal_plain(p, SIGXCPU);
	}
	return left_of(MIN(p->next_xcpu, limit->hard) * NS_PER_SECOND, used);
}

void processor_check(struct process *p)
{
	struct usage used = process_usage(p);
	uint64_t left;

	cpu_timer_check(p, &p->virtual, used.user, SIGVTALRM);
	cpu_timer_check(p, &p->profile, used.user + used.system, SIGPROF);
	left = cpu_limit_check(p, used.user + used.system);
	left = MIN(left, left_of(p->virtual.at, used.user));
	left = MIN(left, left_of(p->profile.at, used.user + used.system));
	if (left == NEVER)
		timer_end(&p->processor);
	else
		timer_begin(&p->processor, now() + MAX(left, LOOK_AGAIN));
}

void timers_pass(void)
{
	nanoseconds at = now();

	while (!list_is_empty(&timers)) {
		struct timer *first = CONTAINER(timers.next, struct timer, link);
		struct process *p = first->process;

		if (first->deadline > at)
			break;
		list_remove(&first->link);
		if (first == &p->real)
			real_passed(p);
		else
			processor_check(p);
	}
	alarm_set();
}

struct linux_itimerval {
	struct linux_timeval interval, value;
};

/* Rounded up: a timer that runs has something left. */
static struct linux_timeval timeval_of(uint64_t ns)
{
	uint64_t micro = (ns + NS_PER_MICROSECOND - 1) / NS_PER_MICROSECOND;

	return (struct linux_timeval){ (int64_t)(micro / MICROSECONDS), (int64_t)(micro % MICROSECONDS) };
}

static bool ns_of(const struct linux_timeval *time, uint64_t *ns)
{
	if (time->seconds < 0 || (uint64_t)time->microseconds >= MICROSECONDS)
		return false;
	*ns = MIN((uint64_t)time->seconds, MOST_SECONDS - 1) * NS_PER_SECOND +
	      (uint64_t)time->microseconds * NS_PER_MICROSECOND;
	return true;
}

static uint64_t real_left(const struct process *p)
{
	if (!p->real.link.next)
		return 0;
	return p->real.deadline > now() ? p->real.deadline - now() : 1;
}

static struct linux_itimerval timer_tell(const struct process *p, uint32_t which)
{
	const struct cpu_timer *timer = which == ITIMER_VIRTUAL ? &p->virtual : &p->profile;
	uint64_t used, left = 0;

	if (which == ITIMER_REAL)
		return (struct linux_itimerval){ timeval_of(p->real_interval), timeval_of(real_left(p)) };
	used = used_by(p, which);
	if (timer->at != NEVER)
		left = MAX(left_of(timer->at, used), 1);
	return (struct linux_itimerval){ timeval_of(timer->interval), timeval_of(left) };
}

static void cpu_timer_set(struct process *p, uint32_t which, uint64_t value, uint64_t interval)
{
	struct cpu_timer *timer = which == ITIMER_VIRTUAL ? &p->virtual : &p->profile;

	timer->at = value ? used_by(p, which) + value : NEVER;
	timer->interval = interval;
	processor_check(p);
}

static void real_set(struct process *p, uint64_t value, uint64_t interval)
{
	p->real_interval = interval;
	if (value)
		timer_begin(&p->real, now() + value);
	else
		timer_end(&p->real);
}

verdict pm_setitimer(struct request *r, uint32_t which, struct grant new, struct grant old)
{
	struct process *p = asking(r)->process;
	struct linux_itimerval timer = { 0 }, before;
	uint64_t value, interval;

	if (new.length && copy_in(&timer, new, 0, sizeof timer) != 0)
		return refuse(r, EFAULT);
	if (which > ITIMER_PROF || !ns_of(&timer.value, &value) || !ns_of(&timer.interval, &interval))
		return refuse(r, EINVAL);
	before = timer_tell(p, which);
	if (which == ITIMER_REAL)
		real_set(p, value, interval);
	else
		cpu_timer_set(p, which, value, interval);
	return answer_with(r, 0, old, &before, sizeof before);
}

verdict pm_getitimer(struct request *r, uint32_t which, struct grant to)
{
	struct linux_itimerval timer;

	if (which > ITIMER_PROF)
		return refuse(r, EINVAL);
	timer = timer_tell(asking(r)->process, which);
	return answer_with(r, 0, to, &timer, sizeof timer);
}

/* Seconds left of the one before, rounded, but not to 0. */
verdict pm_alarm(struct request *r, uint32_t seconds)
{
	struct process *p = asking(r)->process;
	uint64_t left = real_left(p);

	real_set(p, seconds * NS_PER_SECOND, 0);
	return answer(r, left ? (int64_t)MAX((left + NS_PER_SECOND / 2) / NS_PER_SECOND, 1) : 0);
}

/* The order of refusals is Linux's: the time first, then who asks. */
static verdict time_set(struct request *r, const struct linux_timespec *time)
{
	if (time->seconds < 0 || (uint64_t)time->nanoseconds >= NS_PER_SECOND)
		return refuse(r, EINVAL);
	if (asking(r)->process->identity.user.effective != 0)
		return refuse(r, EPERM);
	return settle(r, clock_set(time->seconds, time->nanoseconds));
}

verdict pm_settime(struct request *r, uint32_t clock, struct grant from)
{
	struct linux_timespec time;

	if (clock != CLOCK_REALTIME)
		return refuse(r, EINVAL);
	return copy_in(&time, from, 0, sizeof time) != 0 ? refuse(r, EFAULT) : time_set(r, &time);
}

/* The second argument, a time zone, is that of Greenwich. */
verdict pm_settimeofday(struct request *r, struct grant from, struct grant zone)
{
	struct linux_timeval given;
	int32_t ignored[2];

	if (from.length && copy_in(&given, from, 0, sizeof given) != 0)
		return refuse(r, EFAULT);
	if (zone.length && copy_in(ignored, zone, 0, sizeof ignored) != 0)
		return refuse(r, EFAULT);
	if (!from.length)
		return asking(r)->process->identity.user.effective != 0 ? refuse(r, EPERM) : answer(r, 0);
	if ((uint64_t)given.microseconds > MICROSECONDS)
		return refuse(r, EINVAL);
	return time_set(r, &(struct linux_timespec){ given.seconds, given.microseconds * (int64_t)NS_PER_MICROSECOND });
}
