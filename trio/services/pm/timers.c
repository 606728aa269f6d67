/* timers.c: signals at a time. One alarm of the service stands for the first of a sorted list.
 *
 * ITIMER_REAL is exact. Time on the processor passes no faster than time, so ITIMER_VIRTUAL, ITIMER_PROF and RLIMIT_CPU
 * are looked at when what is left of them could have passed, and again when that has not: at most LOOK_AGAIN late. */
#include "pm_internal.h"
#include "endpoints.h"

#define LOOK_AGAIN 1000000ULL

static void alarm_set(void)
{
	struct link *first = pm.timers.next;

	alarm_at(ENDPOINT_PM, first == &pm.timers ? NEVER : CONTAINER(first, struct timer, link)->deadline);
}

void timer_end(struct timer *timer)
{
	bool first = pm.timers.next == &timer->link;

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
	at = pm.timers.next;
	while (at != &pm.timers && CONTAINER(at, struct timer, link)->deadline <= deadline)
		at = at->next;
	/* Before `at`. */
	list_add(at, &timer->link);
	if (pm.timers.next == &timer->link)
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

	while (!list_is_empty(&pm.timers)) {
		struct timer *first = CONTAINER(pm.timers.next, struct timer, link);
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

static void timer_tell(const struct process *p, uint32_t which, uint64_t *value, uint64_t *interval)
{
	struct usage used;

	*value = 0;
	if (which == ITIMER_REAL) {
		*interval = p->real_interval;
		if (p->real.link.next)
			*value = p->real.deadline > now() ? p->real.deadline - now() : 1;
		return;
	}
	used = process_usage(p);
	*interval = which == ITIMER_VIRTUAL ? p->virtual.interval : p->profile.interval;
	if (which == ITIMER_VIRTUAL && p->virtual.at != NEVER)
		*value = MAX(left_of(p->virtual.at, used.user), 1);
	else if (which == ITIMER_PROF && p->profile.at != NEVER)
		*value = MAX(left_of(p->profile.at, used.user + used.system), 1);
}

static void cpu_timer_set(struct process *p, uint32_t which, uint64_t value, uint64_t interval)
{
	struct cpu_timer *timer = which == ITIMER_VIRTUAL ? &p->virtual : &p->profile;
	struct usage used = process_usage(p);
	uint64_t at = used.user + (which == ITIMER_PROF ? used.system : 0);

	timer->at = value ? at + value : NEVER;
	timer->interval = interval;
	processor_check(p);
}

verdict pm_setitimer(struct request *r, uint32_t which, uint64_t value, uint64_t interval)
{
	struct process *p = asking(r)->process;

	if (which > ITIMER_PROF)
		return refuse(r, EINVAL);
	timer_tell(p, which, &r->out[OUT_PM_SETITIMER_VALUE], &r->out[OUT_PM_SETITIMER_INTERVAL]);
	if (which != ITIMER_REAL) {
		cpu_timer_set(p, which, value, interval);
		return answer(r, 0);
	}
	p->real_interval = interval;
	if (value)
		timer_begin(&p->real, now() + value);
	else
		timer_end(&p->real);
	return answer(r, 0);
}

verdict pm_getitimer(struct request *r, uint32_t which)
{
	if (which > ITIMER_PROF)
		return refuse(r, EINVAL);
	timer_tell(asking(r)->process, which, &r->out[OUT_PM_GETITIMER_VALUE], &r->out[OUT_PM_GETITIMER_INTERVAL]);
	return answer(r, 0);
}
