/* fork.c: makes threads and processes. First all checks; then slot, kernel task, memory and files are reserved, and a
 * failure undoes what was reserved before; after that nothing fails. */
#include "processes/processes.h"
#include "signals/signals.h"

#define KNOWN                                                                                                        \
	(CSIGNAL | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_PTRACE | CLONE_VFORK | CLONE_PARENT |   \
	 CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_DETACHED | \
	 CLONE_UNTRACED | CLONE_CHILD_SETTID | CLONE_IO)

/* Words of the request's scratch: the child's number; its slot plus one while memory is copied, 0 while vfork waits. */
enum { CHILD, SLOT };

/* Trio has no namespaces and no pidfds, so the flags for these are refused. */
static bool is_possible(const struct process *p, uint64_t flags)
{
	if (flags & ~KNOWN || (flags & CSIGNAL) > SIGNALS)
		return false;
	if (flags & CLONE_SIGHAND && !(flags & CLONE_VM))
		return false;
	if (flags & CLONE_THREAD && (!(flags & CLONE_SIGHAND) || flags & CLONE_VFORK))
		return false;
	return !(flags & CLONE_PARENT && p == pm.init);
}

/* Reserves the kernel task and the files of `child`. On an error nothing stays reserved. */
static int64_t reserve(const struct thread *from, uint32_t child, int32_t number, uint64_t flags, uint64_t stack,
		       uint64_t tls)
{
	uint32_t share = (flags & CLONE_FILES ? VFS_SHARE_DESCRIPTORS : 0) |
			 (flags & CLONE_FS ? VFS_SHARE_DIRECTORIES : 0) |
			 (flags & (CLONE_PARENT | CLONE_THREAD) ? VFS_SHARE_PARENT : 0);
	int32_t process = flags & CLONE_THREAD ? from->process->number : number;
	int64_t result;

	TRY(kernel_task_create(from->slot, child, stack, (flags & CLONE_SETTLS) != 0, tls));
	result = vfs_fork(from->slot, child, share, (uint32_t)number, (uint32_t)process);
	if (result != 0)
		kernel_task_end(child);
	return result;
}

/* Copies or shares the memory of `child`. -EWAIT: call again. On another error nothing stays reserved. */
static int64_t reserve_memory(uint32_t parent, uint32_t child, uint64_t flags)
{
	int64_t result = vm_fork(parent, child, (flags & CLONE_VM) != 0);

	if (result == 0 || result == -EWAIT)
		return result;
	/* The parent still holds all these files, so this closes none of them. */
	while (vfs_leave(child, false) == -EWAIT)
		continue;
	kernel_task_end(child);
	return result;
}

static struct process *process_fork(struct process *from, uint32_t slot, int32_t number, uint64_t flags)
{
	struct process *p = process_add(slot, number, flags & CLONE_PARENT ? from->parent : from);

	number_set(&p->group, from->group);
	number_set(&p->session, from->session);
	p->exit_signal = flags & CLONE_PARENT ? from->exit_signal : (uint32_t)(flags & CSIGNAL);
	if (flags & CLONE_SIGHAND) {
		p->handlers = from->handlers;
		p->handlers->holders++;
	} else {
		p->handlers = handlers_take(from->handlers);
	}
	memcpy(&p->identity, &from->identity,
	       offsetof(struct identity, groups) + from->identity.group_count * sizeof p->identity.groups[0]);
	memcpy(p->limits, from->limits, sizeof p->limits);
	p->persona = from->persona;
	p->dumpable = from->dumpable;
	p->no_new_rights = from->no_new_rights;
	if (flags & CLONE_VM)
		p->shares_space = from->shares_space = true;
	if (p->limits[RLIMIT_CPU].soft != RLIM_INFINITY)
		timers_limit(p);
	return p;
}

static struct thread *thread_fork(struct process *p, const struct thread *from, uint32_t slot, int32_t number,
				  uint64_t flags, uint64_t child_tid)
{
	struct thread *t = thread_add(p, slot, number);

	t->blocked = from->restore ? from->saved : from->blocked;
	t->nice = from->nice;
	memcpy(t->name, from->name, sizeof t->name);
	if (flags & CLONE_CHILD_CLEARTID)
		t->clear_tid = child_tid;
	/* The child writes its number itself before it enters user mode. */
	if (flags & CLONE_CHILD_SETTID) {
		t->set_tid = child_tid;
		kernel_task_attend(slot, false);
	}
	if (!(flags & CLONE_VM) || flags & CLONE_VFORK) {
		t->stack = from->stack;
		t->stack_size = from->stack_size;
	}
	return t;
}

/* vfork: the handler runs again when the child has left the memory or the parent is to end. */
static verdict wait_for_child(struct thread *t, struct request *r)
{
	struct process *child = process_numbered((int32_t)r->scratch[CHILD]);

	if (child && child->vfork_parent == t) {
		if (!t->leaving)
			return park_hard(&t->waiting, r);
		child->vfork_parent = NULL;
	}
	return answer(r, (int64_t)r->scratch[CHILD]);
}

verdict pm_clone(struct request *r, uint64_t flags, uint64_t stack, struct grant parent_tid, uint64_t child_tid,
		 uint64_t tls)
{
	struct thread *self = asking(r), *t;
	struct process *p = self->process;
	int32_t number = (int32_t)r->scratch[CHILD], slot = (int32_t)r->scratch[SLOT] - 1;
	int64_t result = 0;

	if (number && slot < 0)
		return wait_for_child(self, r);
	if (!number) {
		if (self->leaving)
			return refuse(r, EINTR);
		if (!is_possible(p, flags))
			return refuse(r, EINVAL);
		if (!may_fork(p))
			return refuse(r, EAGAIN);
		slot = slot_take();
		if (slot < 0)
			return refuse(r, EAGAIN);
		number = number_take();
		result = reserve(self, (uint32_t)slot, number, flags, stack, tls);
	}
	if (result == 0)
		result = reserve_memory(self->slot, (uint32_t)slot, flags);
	if (result == -EWAIT) {
		r->scratch[CHILD] = (uint64_t)number;
		r->scratch[SLOT] = (uint64_t)slot + 1;
		return park_hard(&pm.disk, r);
	}
	if (result != 0) {
		number_of(number)->uses--;
		slot_give((uint32_t)slot);
		return answer(r, result);
	}
	/* committed */
	if (!(flags & CLONE_THREAD))
		p = process_fork(p, (uint32_t)slot, number, flags);
	t = thread_fork(p, self, (uint32_t)slot, number, flags, child_tid);
	/* The parent was told to end meanwhile. The child must not escape that, nor delay an execve. */
	if (self->leaving && flags & CLONE_THREAD)
		thread_end(t);
	else if (self->leaving)
		process_end(p, SIGKILL, NULL);
	/* An invalid address is ignored, as on Linux. */
	if (flags & CLONE_PARENT_SETTID)
		(void)copy_out(parent_tid, 0, &t->number, sizeof t->number);
	kernel_task_start(t->slot);
	if (!(flags & CLONE_VFORK))
		return answer(r, number);
	p->vfork_parent = self;
	r->scratch[CHILD] = (uint64_t)number;
	r->scratch[SLOT] = 0;
	return wait_for_child(self, r);
}

void vfork_end(struct process *child)
{
	unpark(&child->vfork_parent->waiting);
	child->vfork_parent = NULL;
}

verdict pm_set_tid_address(struct request *r, uint64_t address)
{
	struct thread *t = asking(r);

	t->clear_tid = address;
	return answer(r, t->number);
}
