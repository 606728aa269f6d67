/* signals.h: signals, from their senders to the handlers that run.
 *
 * Sending and ending call each other in a cycle that test_stack.py knows. In this picture signals are sent downward and
 * parents are told upward:
 *
 *	kill.c, timers, the terminal       attend (deliver.c)                 a thread's end (exit.c)
 *	      |                                 | takes it: default action         |  |
 *	      v              SIGKILL            v                                  |  v  orphaned? (groups.c)
 *	signal_send ----------------------> process_end                           |  signal_group: SIGHUP, SIGCONT
 *	   ^  |                                 | was stopped                      |
 *	   |  | SIGCONT                         v                                  |
 *	   |  +-----------------------------> stop_end                             |
 *	   |                                    | continues, and is not ending     |
 *	   +------------ parent_tell <----------+<---------------------------------+
 *	     SIGCHLD, or at an end the signal that clone chose
 *
 * The cycle ends: what parent_tell sends to a parent is SIGCHLD, which ends and continues nothing. Only for the end of
 * a process clone may have chosen SIGCONT or SIGKILL. After SIGCONT the parent continues and its own parent gets
 * SIGCHLD; after SIGKILL it is ending, and stop_end tells nobody. An end does not propagate at once: process_end marks
 * threads, and each leaves by a request of its own. So no chain has more than three rounds. */
#ifndef TRIO_PM_SIGNALS_H
#define TRIO_PM_SIGNALS_H

#include "pm_internal.h"

/* Signals by default action. */
#define STOPS (SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
#define IGNORES (SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))
#define UNBLOCKABLE (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))

/* What a signal carries. */
struct information {
	int32_t code;
	uint32_t pid, uid;
	uint64_t value;
};

/* The information of a signal that `p` sends or that reports on `p`. */
static inline struct information from_user(const struct process *p, int32_t code, uint64_t value)
{
	return (struct information){
		.code = code, .pid = (uint32_t)p->number, .uid = p->identity.user.real, .value = value
	};
}

/* wait4's statuses. A stopped child's status has STATUS_STOPPED as the lower byte and the signal above it. */
#define STATUS_CONTINUED 0xffffU
#define STATUS_STOPPED 0x7fU

/* Converts a wait4 status. */
static inline struct information child_information(const struct process *p, uint32_t status)
{
	uint32_t signal = status & 0x7f;

	if (signal == 0)
		return from_user(p, CLD_EXITED, status >> 8);
	if (status == STATUS_CONTINUED)
		return from_user(p, CLD_CONTINUED, SIGCONT);
	return signal == STATUS_STOPPED ? from_user(p, CLD_STOPPED, status >> 8) : from_user(p, CLD_KILLED, signal);
}

static inline void siginfo_fill(struct linux_siginfo *out, uint32_t signal, const struct information *i)
{
	*out = (struct linux_siginfo){ .signal = (int32_t)signal, .code = i->code };
	out->pid = (int32_t)i->pid;
	out->uid = i->uid;
	out->value = i->value;
}

/* handlers.c */
/* Returns a copy. */
struct handlers *handlers_take(const struct handlers *from);
void handlers_give(struct handlers *handlers);
/* Sets the handlers as execve leaves them, in a table of the process's own: only ignored signals stay as they are. */
void handlers_renew(struct process *p);
/* Returns the action for a signal; an empty one stands for the default. */
static inline const struct linux_sigaction *action_of(const struct process *p, uint32_t signal)
{
	static const struct linux_sigaction none;
	const struct handlers *h = p->handlers;

	return h->set & SIGNAL_BIT(signal) ? &h->action[signal - 1] : &none;
}

static inline uint64_t handler_of(const struct process *p, uint32_t signal)
{
	return action_of(p, signal)->handler;
}

/* signal.c: sends to thread `t`, or to the process if `t` is NULL. Returns 0, or -EAGAIN if the queue is full. */
int64_t signal_send(struct process *p, struct thread *t, uint32_t signal, const struct information *i);
/* Sends a signal of the kernel's own, without information. */
void signal_plain(struct process *p, uint32_t signal);
void signal_group(int32_t group, uint32_t signal);
/* Drops the signals of `set` that are pending for the process and its threads. */
void process_flush(struct process *p, uint64_t set);
void pending_flush(struct process *p, struct pending *pending, uint64_t set);
/* Takes one pending signal of `set`. Returns 0 if there is none. */
uint32_t signal_take(struct thread *t, uint64_t set, struct information *i);
/* Makes the thread attend before it is in user mode again. `ends`: its process ends then. */
void thread_wake(struct thread *t, bool ends);
/* Whether an unblocked signal is pending or the thread is to end. */
static inline bool is_signalled(const struct thread *t)
{
	return t->leaving || ((t->pending.set | t->process->pending.set) & ~t->blocked) != 0;
}

/* deliver.c */
void stop_end(struct process *p);
/* Tells the parent that the process has stopped once its last thread has halted. */
void stop_check(struct process *p);

/* mask.c */
void mask_set(struct thread *t, uint64_t mask);
/* Restores the mask that mask_borrow saved. */
void mask_restore(struct thread *t);

#endif
