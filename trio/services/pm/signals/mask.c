/* mask.c: which signals a thread blocks, which wait for it, and how it waits for signals. */
#include "signals/signals.h"

void mask_set(struct thread *t, uint64_t mask)
{
	struct process *p = t->process;
	uint64_t newly = mask & ~t->blocked;

	t->blocked = mask & ~UNBLOCKABLE;
	if (is_signalled(t))
		kernel_task_attend(t->slot, false);
	if (!(p->pending.set & newly))
		return;
	/* Another thread may have to take pending signals that this thread now blocks. */
	EACH_THREAD (p, other) {
		if (other != t && p->pending.set & newly & ~other->blocked)
			thread_wake(other, false);
	}
}

verdict pm_sigmask(struct request *r, uint32_t how, uint32_t sets, uint64_t set)
{
	struct thread *t = asking(r);
	uint64_t before = t->blocked, mask = set;

	r->out[OUT_PM_SIGMASK_OLD] = before;
	if (sets) {
		if (how > SIG_SETMASK)
			return refuse(r, EINVAL);
		if (how == SIG_BLOCK)
			mask |= before;
		else if (how == SIG_UNBLOCK)
			mask = before & ~mask;
		t->restore = false;
		mask_set(t, mask);
	}
	return answer(r, 0);
}

verdict pm_sigpending(struct request *r, struct grant to)
{
	const struct thread *t = asking(r);
	uint64_t set = (t->pending.set | t->process->pending.set) & t->blocked;

	return answer_with(r, 0, to, &set, to.length);
}

/* attend restores the old mask. */
static int64_t mask_borrow(struct thread *t, struct grant mask)
{
	uint64_t set;

	TRY(copy_in(&set, mask, 0, sizeof set));
	if (!t->restore)
		t->saved = t->blocked;
	t->restore = true;
	mask_set(t, set);
	return 0;
}

verdict pm_sigmask_wait(struct request *r, struct grant mask)
{
	return answer(r, mask_borrow(asking(r), mask));
}

void mask_restore(struct thread *t)
{
	if (!t->restore)
		return;
	t->restore = false;
	mask_set(t, t->saved);
}

verdict pm_sigmask_waited(struct request *r)
{
	mask_restore(asking(r));
	return answer(r, 0);
}

/* The seam ends the request when a signal arrives. */
verdict pm_sigsuspend(struct request *r, struct grant mask)
{
	struct thread *t = asking(r);

	if (mask.length)
		TRY_ANSWER(r, mask_borrow(t, mask));
	return is_signalled(t) ? refuse(r, EINTR) : park(&t->waiting, r);
}

verdict pm_sigtimedwait(struct request *r, struct grant wanted, struct grant information, uint64_t deadline)
{
	struct thread *t = asking(r);
	struct information i;
	uint32_t signal;
	uint64_t set;

	TRY_ANSWER(r, copy_in(&set, wanted, 0, sizeof set));
	set &= ~UNBLOCKABLE;
	signal = signal_take(t, set, &i);
	if (signal) {
		struct linux_siginfo out;

		siginfo_fill(&out, signal, &i);
		return answer_with(r, signal, information, &out, sizeof out);
	}
	if (is_signalled(t))
		return refuse(r, EINTR);
	if (r->late || deadline <= now())
		return refuse(r, EAGAIN);
	t->awaiting = set;
	return park_until(&t->waiting, r, deadline);
}

verdict pm_sigaltstack(struct request *r, struct grant new, struct grant old, uint64_t stack_pointer)
{
	struct thread *t = asking(r);
	bool in_use = stack_pointer > t->stack && stack_pointer - t->stack <= t->stack_size;
	struct linux_stack was = { .sp = t->stack, .size = t->stack_size }, set;

	was.flags = in_use ? SS_ONSTACK : t->stack_size ? 0 : SS_DISABLE;
	if (new.length) {
		TRY_ANSWER(r, copy_in(&set, new, 0, sizeof set));
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
	return answer_with(r, 0, old, &was, sizeof was);
}
