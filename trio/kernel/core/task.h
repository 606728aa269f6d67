/* task.h: a task is a thread of control with its saved registers; this is what is known of it, and who runs next. There
 * is one processor, and the kernel runs with interrupts off and is not preempted, so nothing here is locked. */
#ifndef TRIO_TASK_H
#define TRIO_TASK_H

#include "abi/vector.h"
#include "caller.h"
#include "numbers.h"
#include "port.h"
#include "x86/registers.h"

/* NEW: made and not started. WAITING: its request is parked. ENDED: it never runs again, but its stack may still be in
 * use. */
enum task_state { NEW, READY, WAITING, ENDED };

/* Bits of `work`: what has to be done before the task is in user mode again. */
#define WORK_ATTEND 1U /* ask pm */
#define WORK_YIELD 2U  /* its time is up */
#define WORK_END 4U    /* its process ends */
#define WORK_ABSENT 8U /* its call met a page that has to be read first */
#define WORK_RAISE 16U /* its call raised a signal */
#define WORK_STAYS 32U /* its call is part of another: the reply is for the kernel, not for the program */

/* A sleep that was ended by a signal without a handler goes on with this. deadline: of that clock; 0: there is none. */
struct sleep {
	nanoseconds deadline;
	uint64_t left_to;
	uint32_t clock;
};

/* Bits of `rare`. */
#define RARE_PORTS 1U
#define RARE_SELECTORS 2U
#define SELECTORS 4

/* A bit for each port. */
#define PORTS 65536U
#define PORT_BYTES (PORTS / 8)

struct task {
	/* The program's registers, at the top of its kernel stack. */
	struct registers *user;
	/* Where it goes on in the kernel: its stack pointer. */
	uint64_t kernel_sp;
	/* The server that it runs, if any; entry.S reads this too, and its work. */
	struct server *serves;
	uint32_t number;
	uint32_t work;
	enum task_state state;
	/* It was ended or answered while it waited, so its handler does not run again. */
	bool answered;
	/* Of a server's task: a service in the kernel, which it called, runs on its stack. */
	bool in_service;
	/* The number of the system call under way, for its restart; -1: it must not restart. */
	int64_t system_call;
	/* Its place in the ready queue. */
	struct link ready;
	struct request request;
	/* Where there are servers: its call of one of them. */
	struct caller caller;
	/* With WORK_ABSENT: where a copy of its memory ended, and the processor's error code for that. */
	uint64_t absent;
	uint32_t absent_access;
	struct sleep sleep;
	/* The value of CR3 for its address space, and that space's number. */
	uint64_t cr3;
	uint32_t space;
	uint64_t fs_base, gs_base;
	/* Bits for what few tasks have, so that a switch tests all of it at once. */
	uint32_t rare;
	/* DS, ES, FS and GS with RARE_SELECTORS, else 0. While it runs the processor has them. */
	uint16_t selectors[SELECTORS];
	/* The ports that it may use in user mode: PORT_BYTES of bits, a set bit refuses; NULL without RARE_PORTS. */
	uint8_t *ports;
	struct counters *counters;
	/* Its time on the processor; and how many ticks of the clock met it in user mode and in the kernel, which
	 * divide that time. */
	nanoseconds time;
	uint64_t ticks_user, ticks_system;
	/* What was told of that time last: neither part ever becomes less. */
	nanoseconds told_user, told_system;
	/* For the log: a service's name, or that this is a program. */
	const char *name;
	/* The segments of the iovec whose grant is in use. */
	struct vector vector;
	uint8_t fpu[512] __attribute__((aligned(16)));
};

#define FIRST_TASK 1

extern struct task *current, idle;
/* The task that ran last, if it has ended and is not freed yet, else NULL. See task_switched(). */
extern struct task *task_ended;
/* By number; NULL: the slot is free. */
extern struct task *tasks[TASKS];

/* See kernel.idl, calls 1 to 10. */
int64_t task_create(uint32_t parent, uint32_t child, uint64_t stack, uint32_t set_tls, uint64_t tls);
void task_start(struct task *t);
/* The same, before all other ready tasks. */
void task_start_first(struct task *t);
void task_end(struct task *t);

/* The first task, which no program made, begins in the kernel with `function`. */
void task_begins_with(struct task *t, void (*function)(void));
/* The present task has waited in the middle of a service: it gets back the state that it had before. A task that the
 * service had ended runs its handler to the end and then leaves the processor. */
void task_goes_on(enum task_state before);
/* Makes a service's task, which runs `function` in the kernel for good, or with NULL is one for user mode. Returns NULL
 * without memory. */
struct task *task_create_server(uint32_t number, const char *name, void (*function)(void));
/* Frees all that the task has; it runs no more. */
void task_discard(struct task *t);
void task_exec(struct task *t, uint64_t entry, uint64_t stack);
void task_wake(struct task *t);
/* In the middle of a call, while no service is at work: takes interrupts, and runs other tasks if it is their turn.
 * Returns false if the task's process has to end. */
bool task_look(void);
/* Runs those that were notified, then the ready task that has waited longest. If the present task can go on it goes to
 * the end of the queue if its time is up, else it gives way only to those that were notified. */
void schedule(void);
/* Runs that task at once and leaves the present task's state alone. When it returns, other tasks have run. */
void task_run(struct task *next);
/* Switches to a server or back to its caller; the processor's time stays on the caller's account. */
void task_enter(struct task *next);
bool others_ready(void);
/* What the kernel does for good once all is set up: it waits while no task can run. */
_Noreturn void idle_loop(void);
/* By space: how many tasks live in it. space_leave: a program's task leaves its space. */
extern uint32_t space_tasks[];
void space_leave(const struct task *t);
/* Before the present task is in user mode again: delivers notifications, and does what stands in its `work`. */
void task_work(void);

/* timer.c: deadlines of tasks (`who` is a task's number) and alarms of services (TASKS + endpoint), and the tick. */
void timer_set(uint32_t who, nanoseconds deadline);
void timer_take_out(uint32_t who);
/* By `who`: the place of its deadline in the heap, plus 1; 0: it has none. */
extern uint32_t timer_places[];
static inline void timer_clear(uint32_t who)
{
	if (timer_places[who])
		timer_take_out(who);
}
/* Handles the deadlines that have passed, and the tick. */
void timers_expired(const struct registers *interrupted);
/* Turns the tick on or off: it is off while no task runs. */
void timer_tick(bool on);
/* The task on whose account the processor's time is. */
extern struct task *payer;
/* Settles `payer`'s account; `next` pays from now on. */
void task_account(struct task *next);
/* The sum over the tasks that have ended and those that are no program's. */
extern struct counters counters_of_others;
void counters_add(struct counters *sum, const struct counters *one);
/* How many since boot. */
extern uint64_t tasks_made;

#define COUNT_FOR(task, what, by) COUNT_IN(*(task)->counters, what, by)
#define COUNT(what, by) COUNT_FOR(current, what, by)

#endif
