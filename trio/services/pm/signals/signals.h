/* signals.h: signals, from who sends them to the handler that runs.
 *
 * Sending and ending call each other, in a ring that test_stack.py knows. A signal is sent downward in this picture, a
 * parent is told upward:
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
 *	     SIGCHLD, or at the end what clone said
 *
 * It ends: parent_tell goes to a parent, and what it sends there is SIGCHLD, by which nothing ends or continues; but
 * for the end of a process, whose signal clone may have made SIGCONT or SIGKILL. By SIGCONT the parent continues, whose
 * own parent hears it by SIGCHLD; by SIGKILL it is ending, and stop_end tells nobody. An end goes no further at once:
 * process_end marks threads, and each leaves by a request of its own. So no chain has more than three rounds. */
#ifndef TRIO_PM_SIGNALS_H
#define TRIO_PM_SIGNALS_H

#include "pm_internal.h"

/* Default actions. */
#define STOPS (SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
#define IGNORES (SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))
#define UNBLOCKABLE (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))

/* What comes with a signal. */
struct information {
	int32_t code;
	uint32_t pid, uid;
	uint64_t value;
};

/* Of a signal that `p` sends, or that tells of it. */
static inline struct information from_user(const struct process *p, int32_t code, uint64_t value)
{
	return (struct information){
		.code = code, .pid = (uint32_t)p->number, .uid = p->identity.user.real, .value = value
	};
}

/* Of a child's status as wait4 tells it: it continued; of a stopped one the lower byte, the signal is above. */
#define STATUS_CONTINUED 0xffffU
#define STATUS_STOPPED 0x7fU

/* What such a status says. */
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
/* A copy. */
struct handlers *handlers_take(const struct handlers *from);
void handlers_give(struct handlers *handlers);
/* As execve leaves them: the process's own; what was handled is no more, what was ignored stays so. */
void handlers_renew(struct process *p);
/* What is done about a signal; nothing is set where it is left to its default. */
static inline const struct linux_sigaction *action_of(const struct process *p, uint32_t signal)
{
	static const struct linux_sigaction none;
	const struct handlers *h = p->handlers;

	return h->set & SIGNAL_BIT(signal) ? &h->action[signal - 1] : &none;
}

/* SIG_DFL, SIG_IGN or a handler's address. */
static inline uint64_t handler_of(const struct process *p, uint32_t signal)
{
	return action_of(p, signal)->handler;
}

/* signal.c: sending. `t` NULL: to the process. Returns 0, or -EAGAIN where a queued one finds no room. */
int64_t signal_send(struct process *p, struct thread *t, uint32_t signal, const struct information *i);
/* The kernel's own, without information. */
void signal_plain(struct process *p, uint32_t signal);
void signal_group(int32_t group, uint32_t signal);
/* Signals of `set` that wait for the process, or for one of its threads, are gone. */
void process_flush(struct process *p, uint64_t set);
void pending_flush(struct process *p, struct pending *pending, uint64_t set);
/* Takes one of `set` that waits for this thread; 0: none. */
uint32_t signal_take(struct thread *t, uint64_t set, struct information *i);
/* The thread attends before it is in user mode again; `ends`: and then its process ends. */
void thread_wake(struct thread *t, bool ends);
/* Something that waits for it and is not blocked, or its end. */
static inline bool is_signalled(const struct thread *t)
{
	return t->leaving || ((t->pending.set | t->process->pending.set) & ~t->blocked) != 0;
}

/* deliver.c */
void stop_end(struct process *p);
/* How a stopped process came to a halt is told when its last thread has. */
void stop_check(struct process *p);

/* mask.c */
void mask_set(struct thread *t, uint64_t mask);
/* The mask that mask_borrow put aside comes back. */
void mask_restore(struct thread *t);

#endif
