/* route_kernel.c: calls that the kernel answers itself, since they are about the processor and the machine. */
#include "abi/abi.h"
#include "core/kernel_calls.h"
#include "core/memory.h"
#include "x86/machine.h"
#include "x86/processor.h"

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004
#define GRND_NONBLOCK 1
#define GRND_RANDOM 2
#define GRND_INSECURE 4
#define NAME_BYTES 65

extern const char trio_release[], trio_build[];

static int64_t run_sched_yield(struct task *t, const uint64_t *a)
{
	(void)a;
	t->work |= WORK_YIELD;
	return 0;
}

static void put_name(char *to, const char *from)
{
	memset(to, 0, NAME_BYTES);
	memcpy(to, from, MIN(strlen(from), NAME_BYTES - 1UL));
}

/* struct new_utsname: sysname, nodename, release, version, machine, domainname. */
static int64_t run_uname(struct task *t, const uint64_t *a)
{
	char names[6][NAME_BYTES];

	(void)t;
	put_name(names[0], "Trio");
	put_name(names[1], "trio");
	put_name(names[2], trio_release);
	put_name(names[3], trio_build);
	put_name(names[4], "x86_64");
	put_name(names[5], "(none)");
	return user_put(a[0], names, sizeof names);
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

	(void)t;
	info.uptime = (int64_t)(clock_now() / 1000000000);
	info.total = frames_total();
	info.free = frames_free();
	for (uint32_t i = 0; i < TASKS; i++)
		info.processes += tasks[i] != NULL;
	return user_put(a[0], &info, sizeof info);
}

static int64_t run_arch_prctl(struct task *t, const uint64_t *a)
{
	if (a[0] == ARCH_GET_FS || a[0] == ARCH_GET_GS) {
		uint64_t fs = processor_fs_base(t);

		return user_put(a[1], a[0] == ARCH_GET_FS ? &fs : &t->gs_base, sizeof fs);
	}
	if (a[0] != ARCH_SET_FS && a[0] != ARCH_SET_GS)
		return -EINVAL;
	if (a[1] >= USER_END)
		return -EPERM;
	t->fs_base = a[0] == ARCH_SET_FS ? a[1] : processor_fs_base(t);
	if (a[0] == ARCH_SET_GS)
		t->gs_base = a[1];
	processor_set_bases(t);
	return 0;
}

static int64_t run_getrandom(struct task *t, const uint64_t *a)
{
	int64_t result;

	(void)t;
	if (a[2] & ~(uint64_t)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE) ||
	    (a[2] & GRND_RANDOM && a[2] & GRND_INSECURE))
		return -EINVAL;
	result = kernel_call_random_bytes(NULL, user_grant(a[0], a[1]));
	return result < 0 ? result : (int64_t)MIN(a[1], MOST_BYTES);
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

	(void)t;
	if (!is_task((int32_t)a[0]))
		return -ESRCH;
	if (a[1] < sizeof set || a[1] % sizeof set)
		return -EINVAL;
	return user_put(a[2], &set, sizeof set) != 0 ? -EFAULT : (int64_t)sizeof set;
}

static int64_t run_sched_setaffinity(struct task *t, const uint64_t *a)
{
	uint64_t set = 0;

	(void)t;
	if (user_get(&set, a[2], MIN(a[1], sizeof set)) != 0)
		return -EFAULT;
	if (!is_task((int32_t)a[0]))
		return -ESRCH;
	return set & 1 ? 0 : -EINVAL;
}

static int64_t run_getcpu(struct task *t, const uint64_t *a)
{
	uint32_t zero = 0;

	(void)t;
	if ((a[0] && user_put(a[0], &zero, sizeof zero)) || (a[1] && user_put(a[1], &zero, sizeof zero)))
		return -EFAULT;
	return 0;
}

/* SCHED_OTHER alone, whose only priority is 0. */
static int64_t run_sched_getscheduler(struct task *t, const uint64_t *a)
{
	(void)t;
	return is_task((int32_t)a[0]) ? 0 : -ESRCH;
}

static int64_t run_sched_getparam(struct task *t, const uint64_t *a)
{
	uint32_t zero = 0;

	(void)t;
	if (!is_task((int32_t)a[0]))
		return -ESRCH;
	return user_put(a[1], &zero, sizeof zero);
}

/* glibc asks at every start, and does without. */
static int64_t run_rseq(struct task *t, const uint64_t *a)
{
	(void)t;
	(void)a;
	return -ENOSYS;
}

/* Trio's own, for the unit costs: into the kernel and out of it. */
static int64_t run_trio_null(struct task *t, const uint64_t *a)
{
	(void)t;
	(void)a;
	return 0;
}

ROUTE_TABLE(kernel, { 24, false, "sched_yield", run_sched_yield }, { 63, false, "uname", run_uname },
	    { 99, false, "sysinfo", run_sysinfo }, { 143, false, "sched_getparam", run_sched_getparam },
	    { 145, false, "sched_getscheduler", run_sched_getscheduler }, { 158, false, "arch_prctl", run_arch_prctl },
	    { 203, false, "sched_setaffinity", run_sched_setaffinity },
	    { 204, false, "sched_getaffinity", run_sched_getaffinity }, { 309, false, "getcpu", run_getcpu },
	    { 318, false, "getrandom", run_getrandom }, { 334, false, "rseq", run_rseq },
	    { 1000, false, "trio_null", run_trio_null });
