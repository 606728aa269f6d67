/* exit.c: how threads and processes end, and what that means for parents, children, groups and the machine. */
#include "processes/processes.h"
#include "semaphores/semaphores.h"
#include "signals/signals.h"

void thread_end(struct thread *t)
{
	t->leaving = true;
	thread_wake(t, true);
	unpark(&t->waiting);
}

void threads_end(struct process *p, const struct thread *except)
{
	EACH_THREAD (p, t)
		if (t != except && !t->leaving)
			thread_end(t);
}

void process_end(struct process *p, uint32_t status, struct thread *except)
{
	if (p->ending)
		return;
	p->ending = true;
	p->status = status;
	if (p->stop)
		stop_end(p);
	threads_end(p, except);
	if (except)
		except->leaving = true;
}

void parent_tell(struct process *p, uint32_t status)
{
	struct process *parent = p->parent;
	const struct linux_sigaction *action;
	struct information i = child_information(p, status);
	uint32_t signal = p->zombie ? p->exit_signal : SIGCHLD;

	/* Waiters are woken first: the signal must not interrupt a wait that finds its child. */
	unpark(&parent->waiters);
	if (signal && (p->zombie || !(action_of(parent, SIGCHLD)->flags & SA_NOCLDSTOP)))
		(void)signal_send(parent, NULL, signal, &i);
	if (!p->zombie || signal != SIGCHLD)
		return;
	/* The parent may have said that it does not wait for its children. */
	action = action_of(parent, SIGCHLD);
	if (action->handler == SIG_IGN || action->flags & SA_NOCLDWAIT)
		process_remove(p);
}

/* Wakes a stopped group that has just become orphaned: no parent outside of it can continue it any more. */
static void wake_orphaned(int32_t group)
{
	if (pm.stopped == 0 || !group_is_orphaned(group))
		return;
	EACH_PROCESS (p)
		if (p->group == group && p->stop) {
			signal_group(group, SIGHUP);
			signal_group(group, SIGCONT);
			return;
		}
}

static void give_children_to_init(struct process *p)
{
	EACH_CHILD (p, child) {
		list_remove(&child->of_parent);
		list_add(&pm.init->children, &child->of_parent);
		child->parent = pm.init;
		process_identify(child);
		if (child->death_signal)
			signal_plain(child, child->death_signal);
		child->exit_signal = SIGCHLD;
		if (child->zombie)
			parent_tell(child, child->status);
		else if (child->group != p->group && child->session == p->session)
			wake_orphaned(child->group);
	}
}

void shut_down(void)
{
	uint32_t signal = pm.init->status & 0x7f;

	if (vfs_write_back() == -EWAIT)
		return;
	if (signal)
		log_line("pm: the first process was ended by signal %u", signal);
	else
		log_line("pm: the first process has ended with status %u", pm.init->status >> 8);
	kernel_shut_down(KERNEL_ENDING_OFF, signal ? 128 + signal : pm.init->status >> 8);
}

/* Ends a process whose last thread has left. */
static void process_leave(struct process *p)
{
	if (p->timed.next)
		timers_end(p);
	if (p->pending.set)
		pending_flush(p, &p->pending, UINT64_MAX);
	p->zombie = true;
	p->ending = true;
	if (p == pm.init) {
		shut_down();
		return;
	}
	if (!list_is_empty(&p->children))
		give_children_to_init(p);
	if (pm.stopped && p->parent->group != p->group && p->parent->session == p->session)
		wake_orphaned(p->group);
	handlers_give(p->handlers);
	parent_tell(p, p->status);
}

verdict thread_leave(struct thread *t, struct request *r)
{
	struct process *p = t->process;
	uint32_t slot = t->slot;
	struct usage used = { 0 };
	uint64_t peak = 0;

	if (t->image)
		image_drop(t);
	if (semaphores.operations[slot])
		operations_drop(slot);
	if (t->clear_tid && (p->thread_count > 1 || p->shares_space)) {
		vm_clear_and_wake(slot, t->clear_tid);
		t->clear_tid = 0;
	}
	if (t->pending.set)
		pending_flush(p, &t->pending, UINT64_MAX);
	if (semaphores.undos[p->slot] && p->thread_count == 1 && !undo_do(p))
		return give_way(r, BY_NOTHING);
	if (vm_leave(slot, &peak) == -EWAIT)
		return park_hard(&pm.disk, r);
	p->own.resident = MAX(p->own.resident, peak * (PAGE / 1024));
	if (vfs_leave(slot, slot == p->slot) == -EWAIT)
		return park_hard(&pm.disk, r);
	kernel_task_usage(slot, &used.user, &used.system, &used.faults, &used.voluntary, &used.involuntary);
	usage_add(&p->own, &used);
	kernel_task_end(slot);
	thread_remove(t);
	/* The remaining thread may wait for this in execve. */
	if (p->thread_count == 1)
		unpark(&FIRST_THREAD(p)->waiting);
	if (p->thread_count == 0) {
		/* After execve the last thread has the number of the first one. */
		if (slot != p->slot)
			process_identify(p);
		if (p->vfork_parent)
			vfork_end(p);
		process_leave(p);
	} else if (p->stop) {
		stop_check(p);
	}
	return answer(r, 0);
}

verdict pm_exit(struct request *r, uint32_t status, uint32_t all)
{
	struct thread *t = asking(r);
	struct process *p = t->process;

	if (all || p->thread_count == 1)
		process_end(p, (status & 0xff) << 8, t);
	t->leaving = true;
	return thread_leave(t, r);
}
