/* handlers.c: what a process does about signals. Processes may share a table (CLONE_SIGHAND). A copy copies only
 * signals that are not left to their default, so that fork copies almost nothing. */
#include "signals/signals.h"

static struct handlers *free_handlers;

/* The pool cannot run out: each process has at most one table. */
struct handlers *handlers_take(const struct handlers *from)
{
	static struct handlers pool[TASKS], *next = pool;
	struct handlers *h = free_handlers ? free_handlers : next++;

	free_handlers = h->next_free;
	h->holders = 1;
	h->set = from->set;
	for (uint64_t rest = h->set; rest != 0; rest &= rest - 1) {
		int i = __builtin_ctzl(rest);

		h->action[i] = from->action[i];
	}
	return h;
}

void handlers_give(struct handlers *h)
{
	if (--h->holders > 0)
		return;
	h->next_free = free_handlers;
	free_handlers = h;
}

void handlers_renew(struct process *p)
{
	struct handlers *h = p->handlers;

	if (h->holders > 1) {
		p->handlers = handlers_take(h);
		handlers_give(h);
		h = p->handlers;
	}
	for (uint64_t rest = h->set; rest != 0; rest &= rest - 1) {
		struct linux_sigaction *action = &h->action[__builtin_ctzl(rest)];

		if (action->handler != SIG_IGN)
			h->set &= ~(rest & -rest);
		else
			*action = (struct linux_sigaction){ .handler = SIG_IGN };
	}
}

static void set_action(struct process *p, uint32_t signal, const struct linux_sigaction *action)
{
	struct handlers *h = p->handlers;
	uint64_t bit = SIGNAL_BIT(signal);

	h->action[signal - 1] = *action;
	h->action[signal - 1].mask &= ~UNBLOCKABLE;
	if (action->handler == SIG_DFL && action->flags == 0)
		h->set &= ~bit;
	else
		h->set |= bit;
	if (action->handler != SIG_IGN && !(action->handler == SIG_DFL && IGNORES & bit))
		return;
	/* Pending signals that are ignored from now on are dropped. */
	process_flush(p, bit);
}

verdict pm_sigaction(struct request *r, uint32_t signal, struct grant action, struct grant old)
{
	struct process *p = asking(r)->process;
	struct linux_sigaction new, before;

	if (signal < 1 || signal > SIGNALS || (action.length && (UNBLOCKABLE & SIGNAL_BIT(signal))))
		return refuse(r, EINVAL);
	if (action.length)
		TRY_ANSWER(r, copy_in(&new, action, 0, sizeof new));
	before = *action_of(p, signal);
	if (action.length)
		set_action(p, signal, &new);
	return answer_with(r, 0, old, &before, sizeof before);
}
