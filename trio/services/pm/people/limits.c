/* limits.c: resource limits and priorities. */
#include "processes/processes.h"

#define MIB (1UL << 20)
#define NICE_LEAST (-20)
#define NICE_MOST 19

void limits_start(struct process *p)
{
	for (uint32_t i = 0; i < RLIMITS; i++)
		p->limits[i] = (struct limit){ RLIM_INFINITY, RLIM_INFINITY };
	p->limits[RLIMIT_STACK].soft = 8 * MIB;
	p->limits[RLIMIT_CORE].soft = 0;
	p->limits[RLIMIT_NPROC] = (struct limit){ TASKS, TASKS };
	p->limits[RLIMIT_NOFILE] = (struct limit){ 1024, 4096 };
	p->limits[RLIMIT_MEMLOCK] = (struct limit){ 8 * MIB, 8 * MIB };
	p->limits[RLIMIT_SIGPENDING] = (struct limit){ TASKS, TASKS };
	p->limits[RLIMIT_MSGQUEUE] = (struct limit){ 819200, 819200 };
	p->limits[RLIMIT_NICE] = (struct limit){ 0, 0 };
	p->limits[RLIMIT_RTPRIO] = (struct limit){ 0, 0 };
}

/* Counts the threads of all processes of the same user. Root is not limited. */
bool may_fork(const struct process *p)
{
	uint64_t count = 0;

	if (p->identity.user.real == 0 || is_root(p))
		return true;
	EACH_PROCESS (other) {
		if (other->identity.user.real == p->identity.user.real)
			count += MAX(other->thread_count, 1);
	}
	return count < p->limits[RLIMIT_NPROC].soft;
}

/* Finds the process whose limits are meant. A process may ask for itself and for processes of the same user. */
static int64_t limited(const struct request *r, int32_t pid, struct process **out)
{
	struct process *self = asking(r)->process, *p = pid ? process_numbered(pid) : self;
	uint32_t mine = self->identity.user.real;
	const struct ids *user;

	if (!p)
		return -ESRCH;
	*out = p;
	user = &p->identity.user;
	if (p == self || is_root(self))
		return 0;
	return mine == user->real && mine == user->effective && mine == user->saved ? 0 : -EPERM;
}

static int64_t limit_set(const struct process *self, struct process *p, uint32_t which, const struct limit *new)
{
	const struct limit *l = p->limits;

	if (new->soft > new->hard)
		return -EINVAL;
	if (!is_root(self) && new->hard > l[which].hard)
		return -EPERM;
	/* No process can have this many descriptors. */
	if (which == RLIMIT_NOFILE && new->hard > (1U << 20))
		return -EPERM;
	/* committed */
	p->limits[which] = *new;
	EACH_THREAD (p, t) {
		vfs_limit(t->slot, l[RLIMIT_NOFILE].soft, l[RLIMIT_FSIZE].soft);
		vm_limit(t->slot, l[RLIMIT_AS].soft, l[RLIMIT_DATA].soft);
	}
	if (which == RLIMIT_CPU)
		timers_limit(p);
	return 0;
}

verdict pm_limits(struct request *r, int32_t pid, uint32_t which, struct grant new, struct grant old)
{
	struct limit limit, before;
	struct process *p;

	if (new.length)
		TRY_ANSWER(r, copy_in(&limit, new, 0, sizeof limit));
	if (which >= RLIMITS)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, limited(r, pid, &p));
	before = p->limits[which];
	if (new.length)
		TRY_ANSWER(r, limit_set(asking(r)->process, p, which, &limit));
	return answer_with(r, 0, old, &before, sizeof before);
}

/* Every thread may raise its nice value. Only root may lower it further than RLIMIT_NICE allows (20 - nice at most). */
static int64_t nice_set(const struct process *self, struct thread *t, int32_t nice)
{
	const struct process *p = t->process;
	uint32_t euid = self->identity.user.effective;

	if (euid != 0 && euid != p->identity.user.real && euid != p->identity.user.effective)
		return -EPERM;
	if (nice < t->nice && euid != 0 && (uint64_t)(20 - nice) > p->limits[RLIMIT_NICE].soft)
		return -EACCES;
	t->nice = nice;
	thread_identify(t);
	return 0;
}

/* `who` 0 stands for the asking thread, its group or its user. */
static bool is_meant(const struct thread *self, const struct thread *t, uint32_t which, int32_t who)
{
	const struct process *p = t->process;

	if (which == PRIO_PROCESS)
		return t->number == (who ? who : self->number);
	if (which == PRIO_PGRP)
		return p->group == (who ? who : self->process->group);
	return p->identity.user.real == (who ? (uint32_t)who : self->process->identity.user.real);
}

/* The answer is 20 - nice, which is never negative; of several threads it is the highest. */
verdict pm_getpriority(struct request *r, uint32_t which, int32_t who)
{
	const struct thread *self = asking(r);
	int32_t most = 0;

	if (which > PRIO_USER)
		return refuse(r, EINVAL);
	EACH_PROCESS (p)
		EACH_THREAD (p, t)
			if (is_meant(self, t, which, who))
				most = MAX(most, 20 - t->nice);
	return most ? answer(r, most) : refuse(r, ESRCH);
}

verdict pm_setpriority(struct request *r, uint32_t which, int32_t who, int32_t nice)
{
	const struct thread *self = asking(r);
	int64_t result = -ESRCH;

	if (which > PRIO_USER)
		return refuse(r, EINVAL);
	nice = MAX(NICE_LEAST, MIN(NICE_MOST, nice));
	EACH_PROCESS (p)
		EACH_THREAD (p, t) {
			int64_t error;

			if (!is_meant(self, t, which, who))
				continue;
			error = nice_set(self->process, t, nice);
			if (result == -ESRCH || error != 0)
				result = error;
		}
	return answer(r, result);
}
