/* process.h: what a thread and a process are, and all that is known of one. A thread is a task, its slot the task's
 * number. A process is named by the slot of its first thread and keeps that slot until it has been waited for. Numbers
 * that programs see (pid, tid) are others, given out in turn.
 *
 * A thread ends itself only: to end a process is to mark its threads (`leaving`) and to have the kernel ask for each
 * (attend), so that whatever a thread has under way in other services is finished or undone by its own request. */
#ifndef TRIO_PM_PROCESS_H
#define TRIO_PM_PROCESS_H

#include "abi/process.h"
#include "abi/signal.h"
#include "port.h"

#define GROUPS 32
#define NAME_BYTES 16

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

/* Timers by ITIMER_, and the one of RLIMIT_CPU. */
enum { TIMER_LIMIT = ITIMER_PROF + 1, TIMERS };

/* Nanoseconds; `at` NEVER: it is off. */
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
	/* It is to end as soon as it attends. */
	bool leaving;
	/* `saved` is to be the mask again when the next handler returns, or when none runs (sigsuspend). */
	bool restore;
	uint64_t blocked, saved;
	struct pending pending;
	/* Of sigtimedwait, while `waiting` is waited for. */
	uint64_t awaiting;
	/* Where it is parked for sigtimedwait, as vfork's parent, or until the other threads have left (execve). */
	struct queue waiting;
	/* CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID: addresses; 0: none. */
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
	/* Children that were stopped or continued, which a waiting parent has not been told. */
	bool tell_stopped, tell_continued;
	/* The signal that stopped it, 0: it runs. Threads that have come to a halt since; a number for this stop. */
	uint32_t stop;
	uint32_t halted, stop_number;
	struct queue stopped;
	struct pending pending;
	uint32_t queued, persona;
	struct handlers *handlers;
	struct identity identity;
	/* The thread that waits in vfork for it to leave its memory; NULL: none. */
	struct thread *vfork_parent;
	struct interval_timer timers[TIMERS];
	/* In the list of those that have timers, by when to look at them. */
	struct link timed;
	nanoseconds look_at;
	/* Of threads that have ended; of children waited for. */
	struct usage own, children_usage;
	struct limit limits[RLIMITS];
};

#endif
