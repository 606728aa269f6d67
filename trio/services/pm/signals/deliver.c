/* deliver.c: a thread takes its signals before it is in user mode again: it runs handlers and default actions. */
#include "processes/processes.h"
#include "signals/signals.h"

/* A program cannot block or ignore a fault of its own: the default action is taken then, even in the first process. */
verdict pm_raise(struct request *r, uint32_t signal, uint32_t code, uint64_t address)
{
	struct thread *t = asking(r);
	struct process *p = t->process;
	uint64_t bit = SIGNAL_BIT(signal);
	struct information i = { .code = (int32_t)code, .value = address };

	if (code == 0 || t->blocked & bit || handler_of(p, signal) == SIG_IGN)
		p->handlers->set &= ~bit;
	t->blocked &= ~bit;
	if (handler_of(p, signal) == SIG_DFL)
		process_end(p, signal, NULL);
	else
		(void)signal_send(p, t, signal, &i);
	return answer(r, 0);
}

verdict pm_raised(struct request *r, uint32_t signal)
{
	struct thread *t = asking(r);
	struct information i = from_user(t->process, SI_USER, 0);

	(void)signal_send(t->process, t, signal, &i);
	return answer(r, 0);
}

void stop_check(struct process *p)
{
	if (p->halted < p->thread_count || p->tell_stopped)
		return;
	p->tell_stopped = true;
	parent_tell(p, p->stop << 8 | STATUS_STOPPED);
	process_identify(p);
}

static void stop_begin(struct process *p, uint32_t signal, const struct thread *self)
{
	p->stop = signal;
	p->stop_number++;
	p->halted = 0;
	p->tell_continued = false;
	pm.stopped++;
	EACH_THREAD (p, t) {
		if (t != self)
			thread_wake(t, false);
	}
}

void stop_end(struct process *p)
{
	bool was_told = p->halted == p->thread_count;

	p->stop = 0;
	pm.stopped--;
	p->tell_stopped = false;
	unpark(&p->stopped);
	process_identify(p);
	if (p->ending || !was_told)
		return;
	p->tell_continued = true;
	parent_tell(p, STATUS_CONTINUED);
}

/* A thread halts once for each stop, which `scratch` remembers. It is parked hard: stop_end decides about signals. */
static verdict halt(struct process *p, struct request *r)
{
	if (r->scratch[0] != p->stop_number) {
		r->scratch[0] = p->stop_number;
		p->halted++;
		stop_check(p);
	}
	return park_hard(&p->stopped, r);
}

static void take_default(struct thread *t, uint32_t signal)
{
	struct process *p = t->process;

	if (IGNORES & SIGNAL_BIT(signal) || p == pm.init)
		return;
	if (!(STOPS & SIGNAL_BIT(signal)))
		process_end(p, signal, t);
	else if (signal == SIGSTOP || !group_is_orphaned(p->group))
		stop_begin(p, signal, t);
}

static verdict handle(struct thread *t, struct request *r, uint32_t signal, const struct information *i)
{
	struct linux_sigaction *action = &t->process->handlers->action[signal - 1];
	uint64_t *out = r->out;

	out[OUT_PM_ATTEND_HANDLER] = action->handler;
	out[OUT_PM_ATTEND_FLAGS] = (uint32_t)action->flags | (uint64_t)i->uid << 32;
	out[OUT_PM_ATTEND_RESTORER] = action->restorer;
	out[OUT_PM_ATTEND_MASK] = t->restore ? t->saved : t->blocked;
	out[OUT_PM_ATTEND_CODE_AND_PID] = (uint32_t)i->code | (uint64_t)i->pid << 32;
	out[OUT_PM_ATTEND_VALUE] = i->value;
	out[OUT_PM_ATTEND_STACK] = t->stack;
	out[OUT_PM_ATTEND_STACK_SIZE] = t->stack_size;
	t->restore = false;
	if (action->flags & SA_RESETHAND)
		action->handler = SIG_DFL;
	t->blocked |= action->mask | (action->flags & SA_NODEFER ? 0 : SIGNAL_BIT(signal));
	return answer(r, signal);
}

verdict pm_attend(struct request *r, uint64_t stack_pointer)
{
	struct thread *t = asking(r);
	struct process *p = t->process;
	struct information i;
	uint32_t signal;

	if (!p)
		return answer(r, 0);
	if (t->set_tid) {
		(void)copy_out(grant_caller(t->slot, t->set_tid, sizeof t->number), 0, &t->number, sizeof t->number);
		t->set_tid = 0;
	}
	for (;;) {
		uint64_t handler;

		if (t->leaving)
			return thread_leave(t, r);
		if (p->stop)
			return halt(p, r);
		signal = signal_take(t, ~t->blocked, &i);
		if (signal == 0)
			break;
		handler = handler_of(p, signal);
		if (handler == SIG_DFL)
			take_default(t, signal);
		else if (handler != SIG_IGN)
			return handle(t, r, signal, &i);
	}
	mask_restore(t);
	return answer(r, 0);
}

verdict pm_sigreturn(struct request *r, uint64_t mask, uint64_t stack, uint64_t size, uint32_t flags)
{
	struct thread *t = asking(r);

	mask_set(t, mask);
	if (flags & SS_DISABLE)
		t->stack = t->stack_size = 0;
	else if (size >= MINSIGSTKSZ) {
		t->stack = stack;
		t->stack_size = size;
	}
	return answer(r, 0);
}
