/* pm_internal.h: the process service's tables. A thread is a task, its slot the task's number. A process is named by
 * the slot of its first thread and keeps that slot until it has been waited for. Numbers that programs see (pid, tid)
 * are others, given out in turn.
 *
 * A thread ends itself only: to end a process is to mark its threads (`leaving`) and to have the kernel ask for each
 * (attend), so that whatever a thread has under way in other services is finished or undone by its own request. */
#ifndef TRIO_PM_INTERNAL_H
#define TRIO_PM_INTERNAL_H

#include "abi/files.h"
#include "abi/process.h"
#include "abi/signal.h"
#include "kernel.h"
#include "pm_serve.h"
#include "semaphores.h"
#include "vfs.h"
#include "vm.h"

/* Process numbers: as Linux's, below 32768; after a round from RESERVED on. */
#define NUMBERS 32768
#define RESERVED 300
#define INIT 1
#define GROUPS 32
#define NAME_BYTES 16
/* Default actions. */
#define STOPS (SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
#define IGNORES (SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))
/* Signals waiting, in all processes together; one process has at most RLIMIT_SIGPENDING of them. */
#define QUEUED 2048
#define UNBLOCKABLE (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))

/* In place of a slot plus one. */
#define NOBODY 0

/* What comes with a signal. */
struct information {
	int32_t code;
	uint32_t pid, uid;
	uint64_t value;
};

struct queued {
	struct link link;
	struct queued *next_free;
	uint32_t signal;
	struct information information;
};

/* Signals that were sent and not taken: `set` has a bit for each that is in the list, which the first one starts. */
struct pending {
	uint64_t set;
	struct link queued;
};

/* What is done about signals. Only where `set` has its bit does `action` say anything; else it is SIG_DFL. */
struct handlers {
	uint64_t set;
	uint32_t holders;
	struct handlers *next_free;
	struct linux_sigaction action[SIGNALS];
};

/* Of a user or a group, as the calls set them. */
struct ids {
	uint32_t real, effective, saved;
};

struct identity {
	struct ids user, group;
	uint32_t group_count;
	uint32_t groups[GROUPS];
};

/* Nanoseconds and counts. */
struct usage {
	uint64_t user, system, faults, voluntary, involuntary;
	/* KiB. */
	uint64_t resident;
};

struct limit {
	uint64_t soft, hard;
};

/* In the list of all timers, sorted by deadline; not in it when `link.next` is NULL. */
struct timer {
	struct link link;
	struct process *process;
	nanoseconds deadline;
};

/* ITIMER_VIRTUAL and ITIMER_PROF: by the process's time on the processor. `at` is NEVER when it is off. */
struct cpu_timer {
	uint64_t at, interval;
};

struct image;

struct thread {
	/* NULL: the slot is free. */
	struct process *process;
	struct link of_process;
	uint32_t slot;
	int32_t number, nice;
	/* It is to end as soon as it attends. */
	bool leaving;
	/* vfork's parent: until the child has left its memory. */
	bool vforking;
	/* `saved` is to be the mask again when the next handler returns, or when none runs (sigsuspend). */
	bool restore;
	uint64_t blocked, saved;
	struct pending pending;
	/* Of sigtimedwait, while `waiting` is waited for. */
	uint64_t awaiting;
	/* Where it is parked for sigtimedwait, as vfork's parent, or until the other threads have left (execve). */
	struct queue waiting;
	/* CLONE_CHILD_SETTID, to be done in its own memory; CLONE_CHILD_CLEARTID. */
	uint64_t set_tid, clear_tid;
	uint64_t stack, stack_size;
	char name[NAME_BYTES];
	/* Of an execve under way. */
	struct image *image;
};

struct process {
	/* In the list of all. */
	struct link everyone;
	struct link threads;
	uint32_t thread_count;
	uint32_t slot;
	int32_t number, group, session;
	struct process *parent;
	struct link children, of_parent;
	/* Threads of it that wait for children. */
	struct queue waiters;
	uint32_t exit_signal, death_signal;
	/* As wait4 tells it; set once `ending`. */
	uint32_t status;
	bool ending, zombie;
	/* It has executed a program: no setpgid by its parent any more. */
	bool executed;
	bool no_new_rights;
	bool dumpable;
	/* Its memory is used by another process too. */
	bool shares_space;
	/* Children that were stopped or went on, not yet told to a waiting parent. */
	bool tell_stopped, tell_continued;
	/* The signal that stopped it, 0: it runs. Threads that have come to a halt since; a number for this stop. */
	uint32_t stop;
	uint32_t halted, stop_number;
	struct queue stopped;
	struct pending pending;
	uint32_t queued, persona;
	struct handlers *handlers;
	struct identity identity;
	/* Slot of the thread that waits in vfork for it to leave its memory, plus one. */
	uint32_t vfork_parent;
	/* The thread that waits in execve for the others to leave. */
	struct thread *gathering;
	struct timer real;
	nanoseconds real_interval;
	/* When to look at the times below. */
	struct timer processor;
	struct cpu_timer virtual, profile;
	/* Seconds of processor time at which SIGXCPU comes next. */
	uint64_t next_xcpu;
	/* Of threads that have ended; of children waited for. */
	struct usage own, children_usage;
	struct limit limits[RLIMITS];
};

/* A number is free while nobody uses it: as a thread's, a process's, a group's or a session's. */
struct number {
	/* Slots plus one. */
	uint16_t thread, process;
	uint16_t uses;
};

struct pm {
	struct thread threads[TASKS];
	struct process processes[TASKS];
	struct number numbers[NUMBERS];
	struct handlers handlers[TASKS];
	struct queued queued[QUEUED];
	struct queued *free_queued;
	struct handlers *free_handlers;
	uint16_t free_slots[TASKS];
	uint32_t free_slot_count;
	/* A thread and a process may be in a slot. */
	uint8_t slot_users[TASKS];
	int32_t last_number;
	struct link everyone;
	struct process *init;
	/* How many processes are stopped. */
	uint32_t stopped;
	struct link timers;
	struct semaphores semaphores;
	/* Requests that wait for a disk or for memory: what comes wakes all. */
	struct queue disk;
	/* init has ended and what is not yet on a disk is being written. */
	bool shutting_down;
	uint32_t hardware, hardware_2;
};
extern struct pm pm;

#define EACH_THREAD(p, t) LIST_EACH (struct thread, t, &(p)->threads, of_process)
#define EACH_PROCESS(p) LIST_EACH (struct process, p, &pm.everyone, everyone)
#define EACH_CHILD(parent, p) LIST_EACH (struct process, p, &(parent)->children, of_parent)

static inline struct thread *asking(const struct request *r)
{
	return &pm.threads[r->task];
}

/* What is known of a number; 0 is nobody's, and stands for what is no number at all. */
static inline struct number *number_of(int32_t number)
{
	return &pm.numbers[number > 0 && number < NUMBERS ? number : 0];
}

/* table.c: slots, numbers, groups. */
void table_start(void);
/* A slot, or -EAGAIN. */
int32_t slot_take(void);
void slot_give(uint32_t slot);
/* An unused number; there is always one. */
int32_t number_take(void);
/* What has the number `*user`, or none, has another; a number that nobody has is free. */
void number_set(int32_t *user, int32_t number);
/* NULL: there is none. */
struct thread *thread_numbered(int32_t number);
struct process *process_numbered(int32_t number);
/* A member. */
struct process *group_numbered(int32_t group);
/* Tells vfs who a thread is, which is in /proc too. */
void thread_identify(const struct thread *t);
/* And its name, which is new; else it is the one that it has, in a new thread its maker's. */
void thread_named(const struct thread *t);
/* All its threads. */
void process_identify(struct process *p);
/* A process's slot when its first thread has left: a zombie, as Linux shows it, until it is waited for. */
void zombie_identify(const struct process *p);
/* A process without threads, as a child of `parent`, NULL: the first. */
struct process *process_add(uint32_t slot, int32_t number, struct process *parent);
void process_remove(struct process *p);
struct thread *thread_add(struct process *p, uint32_t slot, int32_t number);
void thread_remove(struct thread *t);

/* handlers.c */
struct handlers *handlers_take(void);
void handlers_give(struct handlers *handlers);
void handlers_copy(struct handlers *to, const struct handlers *from);
/* As execve leaves them: the process's own; what was handled is no more, what was ignored stays so. */
void handlers_renew(struct process *p);
/* SIG_DFL, SIG_IGN or a handler's address. */
static inline uint64_t handler_of(const struct process *p, uint32_t signal)
{
	const struct handlers *h = p->handlers;

	return h->set & SIGNAL_BIT(signal) ? h->action[signal - 1].handler : SIG_DFL;
}

/* Of a signal that `p` sends. */
static inline struct information from_user(const struct process *p, int32_t code, uint64_t value)
{
	return (struct information){
		.code = code, .pid = (uint32_t)p->number, .uid = p->identity.user.real, .value = value
	};
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

/* fork.c */
/* The child uses its parent's memory no more. */
void vfork_end(struct process *child);

/* exec.c */
/* Of the first process; it must not be on a disk. 0 or a negative errno. */
int64_t execute_first(struct thread *t, const char *path);
void image_drop(struct thread *t);

/* exit.c. `status`: as wait4 tells it. `except` is the caller's own, that attends or leaves anyway. */
void process_end(struct process *p, uint32_t status, const struct thread *except);
verdict thread_leave(struct thread *t, struct request *r);
void parent_tell(struct process *p, int32_t code, uint32_t status);
void shut_down(void);

/* groups.c */
bool group_is_orphaned(int32_t group, const struct process *except);

/* credentials.c */
bool may_signal(const struct process *from, const struct process *to, uint32_t signal);
/* Tells vfs. */
void credentials_tell(struct process *p);

/* timers.c */
void timers_pass(void);
void timer_end(struct timer *timer);
/* Looks at the process's time, and says when to look again. */
void processor_check(struct process *p);

/* usage.c */
void usage_add(struct usage *to, const struct usage *more);
struct usage thread_usage(const struct thread *t);
/* Of its threads, those that have ended too. */
struct usage process_usage(const struct process *p);
int64_t usage_write(struct grant to, const struct usage *from);

/* limits.c */
void limits_start(struct process *p);
/* Whether it may have one more thread. */
bool may_fork(const struct process *p);

#endif
