/* task.h: a thread of control with its saved registers, and who runs next. One processor; the kernel is not preempted
 * and runs with interrupts off, so nothing here is locked. */
#ifndef TRIO_TASK_H
#define TRIO_TASK_H

#include "calls.h"
#include "port.h"
#include "x86/registers.h"

/* ABSENT: the slot is free. NEW: made, not started. WAITING: a request of it is parked. ENDED: never runs again, its
 * stack may still be in use. */
enum task_state { ABSENT, NEW, READY, WAITING, ENDED };

/* Bits of `work`: what is to be done before the task is next in user mode. */
#define WORK_ATTEND 1 /* ask pm */
#define WORK_YIELD 2  /* its time is up, or it gave way */

/* What happened, exactly: of one task, or summed over those that are gone. Read through /proc/trio/counters. */
struct counters {
	uint64_t system_calls, faults, interrupts;
	uint64_t switches_voluntary, switches_involuntary;
	uint64_t space_switches;
	uint64_t bytes_in, bytes_out;
	uint64_t messages;
	uint64_t calls[CALLS];
};

struct task {
	/* Of the user's, at the top of its kernel stack. */
	struct registers *user;
	/* Where it goes on in the kernel: a stack pointer. */
	uint64_t kernel_sp;
	uint32_t number;
	uint32_t work;
	enum task_state state;
	/* Ended or answered while it waited: it is not to run the handler again. */
	bool answered;
	/* Number of the system call under way, for its restart; -1 once that must not be. */
	int64_t system_call;
	/* In the queue of those that are ready. */
	struct link ready;
	struct request request;
	/* When it is to be woken, NEVER without; its place in the timers' heap. */
	nanoseconds deadline;
	uint32_t timer;
	/* Physical address of its page tables' root, and the address space's number. */
	uint64_t root;
	uint32_t space;
	uint64_t fs_base, gs_base;
	/* Its ports for user mode: a bitmap of two pages and a bit, NULL: none. */
	uint8_t *ports;
	struct counters *counters;
	nanoseconds user_time, system_time, since;
	/* For /proc. */
	char name[16];
	uint32_t parent, process, group, session, shown_state;
	int32_t nice;
	/* The segments of an iovec whose grant is in use. */
	struct vector *vector;
	uint8_t fpu[512] __attribute__((aligned(16)));
};

extern struct task *current;
/* By number; NULL where the slot is free. */
extern struct task *tasks[TASKS];

/* See kernel.idl, calls 1 to 11. */
int64_t task_create(uint32_t parent, uint32_t child, uint64_t stack, uint32_t set_tls, uint64_t tls);
void task_start(struct task *t);
void task_end(struct task *t);
void task_interrupt(struct task *t);

/* Puts the present task aside until somebody wakes it, and runs others or the idle loop. */
void task_wait(void);
void task_wake(struct task *t);
/* The one to run next; the present one goes to the queue's end if it can go on. */
void schedule(void);
/* What stands in `current->work` is done; then the task may go to user mode. */
void task_work(void);
/* At the timer's interrupt: deadlines that have passed, and the end of the present task's share of the processor. */
void timers_expired(void);
void timer_set(struct task *t, nanoseconds deadline);
void timer_clear(struct task *t);
/* The first deadline of all; services' alarms are among them. */
nanoseconds timer_first(void);

#ifdef TRIO_NO_COUNTERS
#define COUNT(what, by) ((void)0)
#else
#define COUNT(what, by) (current->counters->what += (by))
#endif

#endif
