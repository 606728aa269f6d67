/* timers.c: signals at a given time, and the setting of the clock. One alarm of the service serves the first of a
 * sorted list of processes with timers.
 *
 * ITIMER_REAL is exact. Processor time passes no faster than real time, so the other timers are checked when the
 * remaining time could have passed, and again if it has not. They are at most LOOK_AGAIN late. */
#include "clock.h"
#include "endpoints.h"
#include "processes/processes.h"
#include "signals/signals.h"

#define LOOK_AGAIN 1000000ULL
#define MICROSECONDS 1000000UL
/* No timer runs longer, so that nanoseconds do not overflow. */
#define MOST_SECONDS (INT64_MAX / NS_PER_SECOND)

/* All processes with timers, sorted by `look_at`. */
static struct link timed = { &timed, &timed };

static void alarm_set(void)
{
	alarm_at(ENDPOINT_PM, list_is_empty(&timed) ? NEVER : CONTAINER(timed.next, struct process, timed)->look_at);
}

static void look_at(struct process *p, nanoseconds at)
{
	struct link *next;

	if (p->timed.next)
		list_remove(&p->timed);
	p->look_at = at;
	if (at != NEVER) {
		next = timed.next;
		while (next != &timed && CONTAINER(next, struct process, timed)->look_at <= at)
			next = next->next;
		list_add(next, &p->timed);
	}
	alarm_set();
}

void timers_end(struct process *p)
{
	look_at(p, NEVER);
}

/* The time on the clock that a timer uses. */
static uint64_t clock_of(const struct process *p, uint32_t which)
{
	struct usage used;

	if (which == ITIMER_REAL)
		return now();
	used = process_usage(p);
	return used.user + (which == ITIMER_VIRTUAL ? 0 : used.system);
}

/* Sends the timer's signal if it has expired. Returns when to check it again. */
static nanoseconds timer_check(struct process *p, uint32_t which)
{
	static const uint32_t signals[TIMERS] = { SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU };
	struct interval_timer *timer = &p->timers[which];
	uint64_t clock, at = timer->at;

	if (at == NEVER)
		return NEVER;
	clock = clock_of(p, which);
	if (at <= clock) {
		bool kills = which == TIMER_LIMIT && clock / NS_PER_SECOND >= p->limits[RLIMIT_CPU].hard;

		/* Missed intervals are skipped. */
		at = timer->interval ? clock + timer->interval - (clock - at) % timer->interval : NEVER;
		timer->at = at;
		signal_plain(p, kills ? SIGKILL : signals[which]);
	}
	return which == ITIMER_REAL || at == NEVER ? at : now() + MAX(at - clock, LOOK_AGAIN);
}

static void timers_check(struct process *p)
{
	nanoseconds at = NEVER;

	for (uint32_t which = 0; which < TIMERS; which++)
		at = MIN(at, timer_check(p, which));
	look_at(p, at);
}

void timers_pass(void)
{
	nanoseconds at = now();

	while (!list_is_empty(&timed) && CONTAINER(timed.next, struct process, timed)->look_at <= at)
		timers_check(CONTAINER(timed.next, struct process, timed));
	alarm_set();
}

/* SIGXCPU is sent at the soft limit and each second after it, SIGKILL at the hard limit. */
void timers_limit(struct process *p)
{
	uint64_t seconds = p->limits[RLIMIT_CPU].soft;

	if (p->zombie || (seconds == RLIM_INFINITY && p->timers[TIMER_LIMIT].at == NEVER))
		return;
	p->timers[TIMER_LIMIT] = (struct interval_timer){
		.at = seconds < MOST_SECONDS ? seconds * NS_PER_SECOND : NEVER,
		.interval = NS_PER_SECOND,
	};
	timers_check(p);
}

struct linux_itimerval {
	struct linux_timeval interval, value;
};

static bool ns_of(const struct linux_timeval *time, uint64_t *ns)
{
	if (time->seconds < 0 || (uint64_t)time->microseconds >= MICROSECONDS)
		return false;
	*ns = MIN((uint64_t)time->seconds, MOST_SECONDS - 1) * NS_PER_SECOND + (uint64_t)time->microseconds * 1000;
	return true;
}

/* A running timer never has 0 left. */
static uint64_t timer_left(const struct process *p, uint32_t which)
{
	uint64_t at = p->timers[which].at, clock;

	if (at == NEVER)
		return 0;
	clock = clock_of(p, which);
	return at > clock ? at - clock : 1;
}

/* Times are rounded up. */
static struct linux_itimerval timer_tell(const struct process *p, uint32_t which)
{
	return (struct linux_itimerval){ timeval_of(p->timers[which].interval + 999),
					 timeval_of(timer_left(p, which) + 999) };
}

static void timer_set(struct process *p, uint32_t which, uint64_t value, uint64_t interval)
{
	uint64_t at = value ? clock_of(p, which) + value : NEVER;

	p->timers[which] = (struct interval_timer){ at, interval };
	timers_check(p);
}

verdict pm_setitimer(struct request *r, uint32_t which, struct grant new, struct grant old)
{
	struct process *p = asking(r)->process;
	struct linux_itimerval timer = { 0 }, before;
	uint64_t value, interval;

	if (new.length)
		TRY_ANSWER(r, copy_in(&timer, new, 0, sizeof timer));
	if (which > ITIMER_PROF || !ns_of(&timer.value, &value) || !ns_of(&timer.interval, &interval))
		return refuse(r, EINVAL);
	before = timer_tell(p, which);
	timer_set(p, which, value, interval);
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

/* The answer is the remaining seconds of the previous alarm, rounded, and at least 1 if it was running. */
verdict pm_alarm(struct request *r, uint32_t seconds)
{
	struct process *p = asking(r)->process;
	uint64_t left = timer_left(p, ITIMER_REAL);

	timer_set(p, ITIMER_REAL, seconds * NS_PER_SECOND, 0);
	return answer(r, left ? (int64_t)MAX((left + NS_PER_SECOND / 2) / NS_PER_SECOND, 1) : 0);
}

/* Linux checks the time first, then the rights of the caller. */
static verdict time_set(struct request *r, const struct linux_timespec *time)
{
	if (time->seconds < 0 || (uint64_t)time->nanoseconds >= NS_PER_SECOND)
		return refuse(r, EINVAL);
	if (!is_root(asking(r)->process))
		return refuse(r, EPERM);
	return answer(r, clock_set(time->seconds, time->nanoseconds));
}

verdict pm_settime(struct request *r, uint32_t clock, struct grant from)
{
	struct linux_timespec time;

	if (clock != CLOCK_REALTIME)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, copy_in(&time, from, 0, sizeof time));
	return time_set(r, &time);
}

/* The time zone is read and ignored; it is always UTC. */
verdict pm_settimeofday(struct request *r, struct grant from, struct grant zone)
{
	struct linux_timeval given;
	int32_t ignored[2];

	if (from.length)
		TRY_ANSWER(r, copy_in(&given, from, 0, sizeof given));
	if (zone.length)
		TRY_ANSWER(r, copy_in(ignored, zone, 0, sizeof ignored));
	if (!from.length)
		return is_root(asking(r)->process) ? answer(r, 0) : refuse(r, EPERM);
	if ((uint64_t)given.microseconds > MICROSECONDS)
		return refuse(r, EINVAL);
	return time_set(r, &(struct linux_timespec){ given.seconds, given.microseconds * 1000 });
}
