/* usage.c: what processes used: time on the processor, faults, switches, memory. */
#include "pm_internal.h"

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

	EACH_THREAD(p, t)
	{
		struct usage one = thread_usage(t);

		usage_add(&sum, &one);
	}
	return sum;
}

static struct linux_timeval timeval_of(uint64_t ns)
{
	return (struct linux_timeval){ (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND / 1000) };
}

void usage_write(struct linux_rusage *to, const struct usage *from)
{
	*to = (struct linux_rusage){
		.user = timeval_of(from->user),
		.system = timeval_of(from->system),
		.resident = (int64_t)from->resident,
		.faults_minor = (int64_t)from->faults,
		.switches_voluntary = (int64_t)from->voluntary,
		.switches_involuntary = (int64_t)from->involuntary,
	};
}

verdict pm_getrusage(struct request *r, int32_t who, struct grant to)
{
	const struct thread *t = asking(r);
	struct linux_rusage out;
	struct usage sum;

	if (who == RUSAGE_SELF)
		sum = process_usage(t->process);
	else if (who == RUSAGE_CHILDREN)
		sum = t->process->children_usage;
	else if (who == RUSAGE_THREAD)
		sum = thread_usage(t);
	else
		return refuse(r, EINVAL);
	usage_write(&out, &sum);
	return copy_out(to, 0, &out, sizeof out) == 0 ? answer(r, 0) : refuse(r, EFAULT);
}

verdict pm_times(struct request *r)
{
	const struct process *p = asking(r)->process;
	struct usage own = process_usage(p);

	r->out[OUT_PM_TIMES_USER] = own.user;
	r->out[OUT_PM_TIMES_SYSTEM] = own.system;
	r->out[OUT_PM_TIMES_CHILDREN_USER] = p->children_usage.user;
	r->out[OUT_PM_TIMES_CHILDREN_SYSTEM] = p->children_usage.system;
	return answer(r, 0);
}
