/* route_kernel.c: calls that the kernel answers itself, since they are about the processor; and rt_sigprocmask, whose
 * masks go to pm and back as values, since each fork makes six such calls. */
#include "abi/abi.h"
#include "abi/signal.h"
#include "pm_client.h"
#include "x86/processor.h"

enum { ARCH_SET_GS = 0x1001, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS };

static int64_t run_sched_yield(struct task *t, const uint64_t *a)
{
	t->work |= WORK_YIELD;
	return 0;
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
	processor_set_base(t, a[0] == ARCH_SET_GS, a[1]);
	return 0;
}

static int64_t run_rt_sigreturn(struct task *t, const uint64_t *a)
{
	if (signal_frame_pop(t) != 0)
		client_pm_raise(&t->request, SIGSEGV, SI_KERNEL, 0);
	return (int64_t)t->user->rax;
}

static int64_t run_rt_sigprocmask(struct task *t, const uint64_t *a)
{
	uint64_t set = 0;
	int64_t result;

	if (a[3] != sizeof set)
		return -EINVAL;
	if (a[1] && user_get(&set, a[1], sizeof set) != 0)
		return -EFAULT;
	result = client_pm_sigmask(&t->request, (uint32_t)a[0], a[1] != 0, set);
	if (result == 0 && a[2] && user_put(a[2], &t->request.out[OUT_PM_SIGMASK_OLD], sizeof set) != 0)
		return -EFAULT;
	return result;
}

/* A call of Trio's own, for the unit costs: into the kernel and out of it. */
static int64_t run_trio_null(struct task *t, const uint64_t *a)
{
	return 0;
}

const struct route routes_kernel[] = {
	{ 14, false, "rt_sigprocmask", run_rt_sigprocmask }, { 15, false, "rt_sigreturn", run_rt_sigreturn },
	{ 24, false, "sched_yield", run_sched_yield },       { 158, false, "arch_prctl", run_arch_prctl },
	{ 1000, false, "trio_null", run_trio_null },         { 0 },
};
