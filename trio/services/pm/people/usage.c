/* usage.c: what processes used: time on the processor, faults, switches, memory. */
#include "processes/processes.h"

void usage_add(struct usage *to, const struct usage *more)
{
	to->user += more->user;
	to->system += more->system;
	to->faults += more->faults;
	to->voluntary += more->voluntary;
	to->involuntary += more->involuntary;
	to->resident = MAX(to->resident, more->resident);
}

struct usage thread_usage(const struct thread *t)
{
	struct usage u = { 0 };
	uint64_t pages, resident, peak = 0;

	kernel_task_usage(t->slot, &u.user, &u.system, &u.faults, &u.voluntary, &u.involuntary);
	if (vm_usage(t->slot, &pages, &resident, &peak) == 0)
		u.resident = peak * (PAGE / 1024);
	return u;
}

struct usage process_usage(const struct process *p)
{
	struct usage sum = p->own;

	EACH_THREAD (p, t) {
		struct usage used = thread_usage(t);

		usage_add(&sum, &used);
	}
	return sum;
}

int64_t usage_write(struct grant to, const struct usage *from)
{
	const struct linux_rusage out = {
		.user = timeval_of(from->user),
		.system = timeval_of(from->system),
		.resident = (int64_t)from->resident,
		.faults_minor = (int64_t)from->faults,
		.switches_voluntary = (int64_t)from->voluntary,
		.switches_involuntary = (int64_t)from->involuntary,
	};

	return copy_out(to, 0, &out, sizeof out);
}

verdict pm_getrusage(struct request *r, int32_t who, struct grant to)
{
	const struct thread *t = asking(r);
	struct usage sum;

	if (who == RUSAGE_SELF)
		sum = process_usage(t->process);
	else if (who == RUSAGE_CHILDREN)
		sum = t->process->children_usage;
	else if (who == RUSAGE_THREAD)
		sum = thread_usage(t);
	else
		return refuse(r, EINVAL);
	return answer(r, usage_write(to, &sum));
}

/* The answer is the number of ticks since boot. */
verdict pm_times(struct request *r, struct grant to)
{
	const struct process *p = asking(r)->process;
	const struct usage own = process_usage(p), *children = &p->children_usage;
	const uint64_t ticks[] = { own.user / NS_PER_TICK, own.system / NS_PER_TICK, children->user / NS_PER_TICK,
				   children->system / NS_PER_TICK };

	return answer_with(r, (int64_t)(now() / NS_PER_TICK), to, ticks, sizeof ticks);
}

verdict pm_process_time(struct request *r, struct grant to)
{
	struct usage used = process_usage(asking(r)->process);
	uint64_t ns = used.user + used.system;
	struct linux_timespec time = { (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND) };

	return answer_with(r, 0, to, &time, sizeof time);
}
