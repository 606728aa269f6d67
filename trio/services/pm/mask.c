/* mask.c: which signals a thread blocks, which wait for it, and waiting for some. */
#include "pm_internal.h"

#define UNBLOCKABLE (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))

/* What waits for the process and would have been this thread's may have to be another's now. */
static void hand_over(struct thread *from, uint64_t newly_blocked)
{
	struct process *p = from->process;

	EACH_THREAD(p, t)
	{
		if (t != from && p->pending.set & newly_blocked & ~t->blocked)
			thread_wake(t, false);
	}
}

void mask_set(struct thread *t, uint64_t mask)
{
	struct process *p = t->process;
	uint64_t newly = mask & ~t->blocked;

	t->blocked = mask & ~UNBLOCKABLE;
	if (is_signalled(t))
		kernel_task_attend(t->slot, false);
	if (p->thread_count > 1 && p->pending.set & newly)
		hand_over(t, newly);
}

verdict pm_sigmask(struct request *r, int32_t how, uint64_t set)
{
	struct thread *t = asking(r);

	r->out[OUT_PM_SIGMASK_OLD] = t->blocked;
	switch (how) {
	case -1:
		return answer(r, 0);
	case SIG_BLOCK:
		set |= t->blocked;
		break;
	case SIG_UNBLOCK:
		set = t->blocked & ~set;
		break;
	case SIG_SETMASK:
		break;
	default:
		return refuse(r, EINVAL);
	}
	t->restore = false;
	mask_set(t, set);
	return answer(r, 0);
}

verdict pm_sigpending(struct request *r)
{
	const struct thread *t = asking(r);

	r->out[OUT_PM_SIGPENDING_SET] = (t->pending.set | t->process->pending.set) & t->blocked;
	return answer(r, 0);
}

/* The old mask comes back with attend. */
static void mask_borrow(struct thread *t, uint64_t mask)
{
	if (!t->restore) {
		t->saved = t->blocked;
		t->restore = true;
	}
	mask_set(t, mask);
}

verdict pm_sigmask_wait(struct request *r, uint64_t mask)
{
	struct thread *t = asking(r);

	r->out[OUT_PM_SIGMASK_WAIT_OLD] = t->blocked;
	mask_borrow(t, mask);
	return answer(r, 0);
}

/* The seam ends it for a signal. */
verdict pm_sigsuspend(struct request *r, uint64_t mask)
{
	struct thread *t = asking(r);

	mask_borrow(t, mask);
	if (is_signalled(t))
		return refuse(r, EINTR);
	return park(&t->waiting, r);
}

static int64_t information_write(struct grant to, uint32_t signal, const struct information *i)
{
	struct linux_siginfo out = { .signal = (int32_t)signal, .code = i->code };

	if (to.length == 0)
		return 0;
	out.pid = (int32_t)i->pid;
	out.uid = i->uid;
	out.value = i->value;
	return copy_out(to, 0, &out, sizeof out);
}

verdict pm_sigtimedwait(struct request *r, uint64_t set, struct grant information, uint64_t deadline)
{
	struct thread *t = asking(r);
	struct information i;
	uint32_t signal;

	set &= ~UNBLOCKABLE;
	signal = signal_take(t, set, &i);
	if (signal)
		return settle(r, information_write(information, signal, &i) == 0 ? (int64_t)signal : -EFAULT);
	if (is_signalled(t))
		return refuse(r, EINTR);
	if (r->late || deadline <= now())
		return refuse(r, EAGAIN);
	t->awaiting = set;
	return park_until(&t->waiting, r, deadline);
}

static bool is_on_stack(const struct thread *t, uint64_t stack_pointer)
{
	return stack_pointer > t->stack && stack_pointer - t->stack <= t->stack_size;
}

verdict pm_sigaltstack(struct request *r, struct grant new, struct grant old, uint64_t stack_pointer)
{
	struct thread *t = asking(r);
	bool in_use = is_on_stack(t, stack_pointer);
	struct linux_stack was = { .sp = t->stack, .size = t->stack_size }, set;

	was.flags = in_use ? SS_ONSTACK : t->stack_size ? 0 : SS_DISABLE;
	if (new.length) {
		if (copy_in(&set, new, 0, sizeof set) != 0)
			return refuse(r, EFAULT);
		if (in_use)
			return refuse(r, EPERM);
		if (set.flags & ~(SS_DISABLE | SS_ONSTACK) || set.flags == (SS_DISABLE | SS_ONSTACK))
			return refuse(r, EINVAL);
		if (set.flags == SS_DISABLE)
			set.sp = set.size = 0;
		else if (set.size < MINSIGSTKSZ)
			return refuse(r, ENOMEM);
		t->stack = set.sp;
		t->stack_size = set.size;
	}
	if (old.length && copy_out(old, 0, &was, sizeof was) != 0)
		return refuse(r, EFAULT);
	return answer(r, 0);
}
