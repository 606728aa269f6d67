/* route_kernel.c: calls that the kernel answers itself, since they are about the processor and the machine. */
#include "abi/abi.h"
#include "abi/signal.h"
#include "kernel_calls.h"
#include "core/memory.h"
#include "pm_client.h"
#include "vfs_client.h"
#include "x86/machine.h"
#include "x86/processor.h"

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004
#define GRND_NONBLOCK 1
#define GRND_RANDOM 2
#define GRND_INSECURE 4

extern const char trio_release[], trio_build[];

static int64_t run_sched_yield(struct task *t, const uint64_t *a)
{
	t->work |= WORK_YIELD;
	return 0;
}

struct system_names names_of_system = { .system = "Trio", .node = "trio", .machine = "x86_64", .domain = "(none)" };

void names_start(void)
{
	memcpy(names_of_system.release, trio_release, MIN(strlen(trio_release), SYSTEM_NAME_BYTES - 1UL));
	memcpy(names_of_system.version, trio_build, MIN(strlen(trio_build), SYSTEM_NAME_BYTES - 1UL));
}

static int64_t run_uname(struct task *t, const uint64_t *a)
{
	return user_put(a[0], &names_of_system, sizeof names_of_system);
}

static int64_t name_set(struct task *t, const uint64_t *a, char *name)
{
	char new[SYSTEM_NAME_BYTES] = { 0 };

	if (client_pm_getid(&t->request, EFFECTIVE_USER) != 0)
		return -EPERM;
	if ((int32_t)a[1] < 0 || (int32_t)a[1] >= SYSTEM_NAME_BYTES)
		return -EINVAL;
	if (user_get(new, a[0], (uint32_t)a[1]) != 0)
		return -EFAULT;
	memcpy(name, new, sizeof new);
	return 0;
}

static int64_t run_sethostname(struct task *t, const uint64_t *a)
{
	return name_set(t, a, names_of_system.node);
}

static int64_t run_setdomainname(struct task *t, const uint64_t *a)
{
	return name_set(t, a, names_of_system.domain);
}

static int64_t run_sysinfo(struct task *t, const uint64_t *a)
{
	struct {
		int64_t uptime;
		uint64_t loads[3], total, free, shared, buffers, swap_total, swap_free;
		uint16_t processes, pad;
		uint32_t pad_2;
		uint64_t high_total, high_free;
		uint32_t unit, pad_3;
	} info = { .unit = PAGE };

	info.uptime = (int64_t)(clock_now() / 1000000000);
	info.total = frames_total();
	info.free = frames_free();
	for (uint32_t i = 0; i < TASKS; i++)
		info.processes = (uint16_t)(info.processes + (tasks[i] != NULL));
	return user_put(a[0], &info, sizeof info);
}

static int64_t run_arch_prctl(struct task *t, const uint64_t *a)
{
	if (a[0] == ARCH_GET_FS || a[0] == ARCH_GET_GS) {
		processor_save_bases(t);
		return user_put(a[1], a[0] == ARCH_GET_FS ? &t->fs_base : &t->gs_base, sizeof t->fs_base);
	}
	if (a[0] != ARCH_SET_FS && a[0] != ARCH_SET_GS)
		return -EINVAL;
	if (a[1] >= USER_END)
		return -EPERM;
	if (a[0] == ARCH_SET_FS)
		processor_set_fs(t, a[1]);
	else
		processor_set_gs(t, a[1]);
	return 0;
}

static int64_t run_getrandom(struct task *t, const uint64_t *a)
{
	if (a[2] & ~(uint64_t)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE) ||
	    (a[2] & GRND_RANDOM && a[2] & GRND_INSECURE))
		return -EINVAL;
	return client_vfs_random(&t->request, user_grant(a[0], MIN(a[1], MOST_BYTES)));
}

static bool is_task(int64_t pid)
{
	for (uint32_t i = 0; i < TASKS; i++)
		if (tasks[i] && (int64_t)labels[i].thread == pid)
			return true;
	return pid == 0;
}

/* One processor: its set is always {0}. */
static int64_t run_sched_getaffinity(struct task *t, const uint64_t *a)
{
	uint64_t set = 1;

	if (!is_task((int32_t)a[0]))
		return -ESRCH;
	if (a[1] < sizeof set || a[1] % sizeof set)
		return -EINVAL;
	return user_put(a[2], &set, sizeof set) != 0 ? -EFAULT : (int64_t)sizeof set;
}

static int64_t run_sched_setaffinity(struct task *t, const uint64_t *a)
{
	uint64_t set = 0;

	if (user_get(&set, a[2], MIN(a[1], sizeof set)) != 0)
		return -EFAULT;
	if (!is_task((int32_t)a[0]))
		return -ESRCH;
	return set & 1 ? 0 : -EINVAL;
}

static int64_t run_getcpu(struct task *t, const uint64_t *a)
{
	uint32_t zero = 0;

	if ((a[0] && user_put(a[0], &zero, sizeof zero)) || (a[1] && user_put(a[1], &zero, sizeof zero)))
		return -EFAULT;
	return 0;
}

/* SCHED_OTHER alone, whose only priority is 0. */
static int64_t run_sched_getscheduler(struct task *t, const uint64_t *a)
{
	return is_task((int32_t)a[0]) ? 0 : -ESRCH;
}

static int64_t run_sched_getparam(struct task *t, const uint64_t *a)
{
	uint32_t zero = 0;

	if ((int32_t)a[0] < 0 || a[1] == 0)
		return -EINVAL;
	if (!is_task((int32_t)a[0]))
		return -ESRCH;
	return user_put(a[1], &zero, sizeof zero);
}

static int64_t run_rt_sigreturn(struct task *t, const uint64_t *a)
{
	if (signal_frame_pop(t) != 0)
		client_pm_raise(&t->request, SIGSEGV, SI_KERNEL, 0);
	return (int64_t)t->user->rax;
}

/* glibc asks at every start, and does without. */
static int64_t run_rseq(struct task *t, const uint64_t *a)
{
	return -ENOSYS;
}

/* Trio's own, for the unit costs: into the kernel and out of it. */
static int64_t run_trio_null(struct task *t, const uint64_t *a)
{
	return 0;
}

ROUTE_TABLE(kernel, { 15, false, "rt_sigreturn", run_rt_sigreturn }, { 24, false, "sched_yield", run_sched_yield },
	    { 63, false, "uname", run_uname }, { 99, false, "sysinfo", run_sysinfo },
	    { 143, false, "sched_getparam", run_sched_getparam },
	    { 145, false, "sched_getscheduler", run_sched_getscheduler }, { 158, false, "arch_prctl", run_arch_prctl },
	    { 170, false, "sethostname", run_sethostname }, { 171, false, "setdomainname", run_setdomainname },
	    { 203, false, "sched_setaffinity", run_sched_setaffinity },
	    { 204, false, "sched_getaffinity", run_sched_getaffinity }, { 309, false, "getcpu", run_getcpu },
	    { 318, false, "getrandom", run_getrandom }, { 334, false, "rseq", run_rseq },
	    { 1000, false, "trio_null", run_trio_null });
