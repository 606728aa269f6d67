/* route_pm.c: Linux's calls about processes: who they are, what they may; and the table of all that pm answers. */
#include "route_pm.h"
#include "abi/process.h"
#include "abi/semaphore.h"
#include "abi/time.h"

#define USERS 0
#define GROUPS 1
#define ALL_THREE 1
#define TWO 0
#define ONE 2

static int64_t getresids(struct task *t, uint32_t group, const uint64_t *to)
{
	struct request *r = &t->request;
	uint32_t ids[3];

	client_pm_getresids(r, group);
	ids[0] = (uint32_t)r->out[OUT_PM_GETRESIDS_REAL];
	ids[1] = (uint32_t)r->out[OUT_PM_GETRESIDS_EFFECTIVE];
	ids[2] = (uint32_t)r->out[OUT_PM_GETRESIDS_SAVED];
	for (unsigned i = 0; i < COUNT_OF(ids); i++)
		if (user_put(to[i], &ids[i], sizeof ids[i]) != 0)
			return -EFAULT;
	return 0;
}

static int64_t run_getresuid(struct task *t, const uint64_t *a)
{
	return getresids(t, USERS, a);
}

static int64_t run_getresgid(struct task *t, const uint64_t *a)
{
	return getresids(t, GROUPS, a);
}

static int64_t run_getrlimit(struct task *t, const uint64_t *a)
{
	const uint64_t *out = t->request.out;
	int64_t result = client_pm_getrlimit(&t->request, 0, (uint32_t)a[0]);
	uint64_t limit[2] = { out[OUT_PM_GETRLIMIT_SOFT], out[OUT_PM_GETRLIMIT_HARD] };

	return result == 0 ? user_put(a[1], limit, sizeof limit) : result;
}

static int64_t run_setrlimit(struct task *t, const uint64_t *a)
{
	uint64_t limit[2];

	if (user_get(limit, a[1], sizeof limit) != 0)
		return -EFAULT;
	return client_pm_setrlimit(&t->request, 0, (uint32_t)a[0], limit[0], limit[1]);
}

static int64_t run_prlimit64(struct task *t, const uint64_t *a)
{
	const uint64_t *out = t->request.out;
	uint64_t new[2], old[2];
	int64_t result;

	if (a[2] && user_get(new, a[2], sizeof new) != 0)
		return -EFAULT;
	result = client_pm_getrlimit(&t->request, (int32_t)a[0], (uint32_t)a[1]);
	old[0] = out[OUT_PM_GETRLIMIT_SOFT];
	old[1] = out[OUT_PM_GETRLIMIT_HARD];
	if (result == 0 && a[2])
		result = client_pm_setrlimit(&t->request, (int32_t)a[0], (uint32_t)a[1], new[0], new[1]);
	if (result != 0 || !a[3])
		return result;
	return user_put(a[3], old, sizeof old);
}

/* Returns the ticks since boot, as times does. */
static int64_t run_times(struct task *t, const uint64_t *a)
{
	const uint64_t *out = t->request.out;
	uint64_t ticks[4];

	client_pm_times(&t->request);
	ticks[0] = out[OUT_PM_TIMES_USER] / NS_PER_TICK;
	ticks[1] = out[OUT_PM_TIMES_SYSTEM] / NS_PER_TICK;
	ticks[2] = out[OUT_PM_TIMES_CHILDREN_USER] / NS_PER_TICK;
	ticks[3] = out[OUT_PM_TIMES_CHILDREN_SYSTEM] / NS_PER_TICK;
	if (a[0] && user_put(a[0], ticks, sizeof ticks) != 0)
		return -EFAULT;
	return (int64_t)(now() / NS_PER_TICK);
}

static int64_t operate(struct task *t, const uint64_t *a, nanoseconds deadline)
{
	uint64_t bytes = (uint64_t)(uint32_t)a[2] * sizeof(struct linux_sembuf);

	return client_pm_semop(&t->request, (int32_t)a[0], user_grant(a[1], bytes), (uint32_t)a[2], deadline);
}

static int64_t run_semtimedop(struct task *t, const uint64_t *a)
{
	nanoseconds deadline;
	int64_t result = user_deadline(a[3], false, &deadline);

	return result != 0 ? result : operate(t, a, deadline);
}

/* libc tries these and does without: clone3 for clone, set_robust_list for locks that outlive their owner. */
static int64_t run_without(struct task *t, const uint64_t *a)
{
	return -ENOSYS;
}

ROUTE_TABLE(pm, { 14, false, "rt_sigprocmask", run_rt_sigprocmask }, { 15, false, "rt_sigreturn", run_rt_sigreturn },
	    { 34, RESUMES, "pause", run_pause }, { 36, false, "getitimer", run_getitimer },
	    { 37, false, "alarm", run_alarm }, { 38, false, "setitimer", run_setitimer },
	    { 59, true, "execve", run_execve }, { 61, true, "wait4", run_wait4 },
	    { 97, false, "getrlimit", run_getrlimit }, { 100, false, "times", run_times },
	    { 118, false, "getresuid", run_getresuid }, { 120, false, "getresgid", run_getresgid },
	    { 127, false, "rt_sigpending", run_rt_sigpending }, { 128, false, "rt_sigtimedwait", run_rt_sigtimedwait },
	    { 129, false, "rt_sigqueueinfo", run_rt_sigqueueinfo },
	    { 130, RESUMES, "rt_sigsuspend", run_rt_sigsuspend }, { 131, false, "sigaltstack", run_sigaltstack },
	    { 160, false, "setrlimit", run_setrlimit }, { 220, false, "semtimedop", run_semtimedop },
	    { 247, true, "waitid", run_waitid }, { 297, false, "rt_tgsigqueueinfo", run_rt_tgsigqueueinfo },
	    { 302, false, "prlimit64", run_prlimit64 }, { 322, true, "execveat", run_execveat },
	    { 435, false, "clone3", run_without });
