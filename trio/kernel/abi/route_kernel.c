/* route_kernel.c: calls that the kernel answers itself, since they are about the processor. */
#include "abi/abi.h"
#include "abi/signal.h"
#include "pm_client.h"
#include "x86/processor.h"

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004

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

/* Trio's own, for the unit costs: into the kernel and out of it. */
static int64_t run_trio_null(struct task *t, const uint64_t *a)
{
	return 0;
}

ROUTE_TABLE(kernel, { 15, false, "rt_sigreturn", run_rt_sigreturn }, { 24, false, "sched_yield", run_sched_yield },
	    { 158, false, "arch_prctl", run_arch_prctl }, { 1000, false, "trio_null", run_trio_null });
