/* process.h: threads and processes, and all that pm knows of each. A thread is a task; its slot is the task's number. A
 * process is named by the slot of its first thread and keeps that slot until its parent has waited for it. The numbers
 * that programs see (pid, tid) are different ones, given out in turn.
 *
 * A thread ends only itself. To end a process, pm marks its threads (`leaving`) and has the kernel call attend for
 * each, so that each thread's own request finishes or undoes what the thread has under way in other services. */
#ifndef TRIO_PM_PROCESS_H
#define TRIO_PM_PROCESS_H

#include "abi/process.h"
#include "abi/signal.h"
#include "port.h"

#define GROUPS 32
#define NAME_BYTES 16

/* Signals that were sent and not yet taken. The list is valid only if `set`, the set of its signals, is not 0. */
struct pending {
	uint64_t set;
	struct link queued;
};

/* What the process does about signals. `action` is valid only for signals in `set`; others are SIG_DFL. */
struct handlers {
	uint64_t set;
	uint32_t holders;
	struct handlers *next_free;
	struct linux_sigaction action[SIGNALS];
};

/* The ids of a user or of a group, as the set*id calls know them. */
struct ids {
	uint32_t real, effective, saved;
};

struct identity {
	struct ids user, group;
	uint32_t group_count;
	uint32_t groups[GROUPS];
};

/* Times are in nanoseconds. */
struct usage {
	uint64_t user, system, faults, voluntary, involuntary;
	/* In KiB. */
	uint64_t resident;
};

struct limit {
	uint64_t soft, hard;
};

/* Timers are indexed by ITIMER_ numbers; the last one serves RLIMIT_CPU. */
enum { TIMER_LIMIT = ITIMER_PROF + 1, TIMERS };

/* In nanoseconds. `at` is NEVER if the timer is off. */
struct interval_timer {
	uint64_t at, interval;
};

struct image;

struct thread {
	/* NULL: the slot is free. */
	struct process *process;
	struct link of_process;
	uint32_t slot;
	int32_t number, nice;
	/* The thread ends when it next attends. */
	bool leaving;
	/* `saved` becomes the mask again when the next handler returns, or if no handler runs (sigsuspend). */
	bool restore;
	uint64_t blocked, saved;
	struct pending pending;
	/* The signals that sigtimedwait awaits; valid while the thread is parked in `waiting`. */
	uint64_t awaiting;
	/* The thread is parked here by sigtimedwait, vfork (the parent), and execve until other threads have left. */
	struct queue waiting;
	/* The addresses of CLONE_CHILD_SETTID and CLONE_CHILD_CLEARTID; 0: none. */
	uint64_t set_tid, clear_tid;
	uint64_t stack, stack_size;
	char name[NAME_BYTES];
	/* The state of a running execve. */
	struct image *image;
};

struct process {
	/* The link in pm.everyone. */
	struct link everyone;
	struct link threads;
	uint32_t thread_count;
	uint32_t slot;
	int32_t number, group, session;
	struct process *parent;
	struct link children, of_parent;
	/* Threads of this process that wait for children. */
	struct queue waiters;
	uint32_t exit_signal, death_signal;
	/* In wait4's format; valid once `ending` is set. */
	uint32_t status;
	bool ending, zombie;
	/* The process has executed a program: its parent may no longer call setpgid for it. */
	bool executed;
	bool no_new_rights;
	bool dumpable;
	/* Another process uses the same memory. */
	bool shares_space;
	/* The process was stopped or continued, and its parent has not been told yet. */
	bool tell_stopped, tell_continued;
	/* The signal that stopped it (0: it runs), the threads that have halted since, and a number for this stop. */
	uint32_t stop;
	uint32_t halted, stop_number;
	struct queue stopped;
	struct pending pending;
	uint32_t queued, persona;
	struct handlers *handlers;
	struct identity identity;
	/* The thread that waits in vfork until this process leaves its memory; NULL: none. */
	struct thread *vfork_parent;
	struct interval_timer timers[TIMERS];
	/* The link in the list of processes with timers, which is sorted by `look_at`. */
	struct link timed;
	nanoseconds look_at;
	/* The sums of threads that have ended, and of children that were waited for. */
	struct usage own, children_usage;
	struct limit limits[RLIMITS];
};

#endif
