/* task.h: a thread of control with its saved registers, and who runs next. One processor; the kernel is not preempted
 * and runs with interrupts off, so nothing here is locked. */
#ifndef TRIO_TASK_H
#define TRIO_TASK_H

#include "abi/vector.h"
#include "caller.h"
#include "numbers.h"
#include "port.h"
#include "x86/registers.h"

/* NEW: made, not started. WAITING: a request of it is parked. ENDED: never runs again, its
 * stack may still be in use. */
enum task_state { NEW, READY, WAITING, ENDED };

/* Bits of `work`: what is to be done before the task is next in user mode. */
#define WORK_ATTEND 1U /* ask pm */
#define WORK_YIELD 2U  /* its time is up */
#define WORK_END 4U    /* its process ends */
#define WORK_ABSENT 8U /* its call met a page that has to be brought */
#define WORK_RAISE 16U /* its call raised a signal */
#define WORK_STAYS 32U /* its call is part of another: the reply is the kernel's, not the program's */

/* What a sleep goes on with that a signal without a handler ended. deadline, of that clock: 0: there is none. */
struct sleep {
	nanoseconds deadline;
	uint64_t left_to;
	uint32_t clock;
};

/* Bits of `rare`. */
#define RARE_PORTS 1U
#define RARE_SELECTORS 2U
#define SELECTORS 4

/* A bit a port. */
#define PORTS 65536U
#define PORT_BYTES (PORTS / 8)

struct task {
	/* Of the user's, at the top of its kernel stack. */
	struct registers *user;
	/* Where it goes on in the kernel: a stack pointer. */
	uint64_t kernel_sp;
	/* Of a server, what it is; entry.S looks here too. */
	struct server *serves;
	uint32_t number;
	uint32_t work;
	enum task_state state;
	/* Ended or answered while it waited: it is not to run the handler again. */
	bool answered;
	/* Of a server: a service in the kernel, which it called, runs on its stack. */
	bool in_service;
	/* Number of the system call under way, for its restart; -1 once that must not be. */
	int64_t system_call;
	/* In the queue of those that are ready. */
	struct link ready;
	struct request request;
	/* Where there are servers: its call of one. */
	struct caller caller;
	/* With WORK_ABSENT: where a copy of its memory ended, and the processor's error code. */
	uint64_t absent;
	uint32_t absent_access;
	struct sleep sleep;
	/* Physical address of its page tables' root, and the address space's number. */
	uint64_t root;
	uint32_t space;
	uint64_t fs_base, gs_base;
	/* What most tasks do not have, so that a switch asks for all of it at once. */
	uint32_t rare;
	/* Of DS, ES, FS and GS; with RARE_SELECTORS, else all are 0. While it runs, those of the processor. */
	uint16_t selectors[SELECTORS];
	/* Its ports for user mode: PORT_BYTES of bits, a set one refuses; with RARE_PORTS, else NULL. */
	uint8_t *ports;
	struct counters *counters;
	/* On the processor; and how many of the clock's ticks met it in user mode and in the kernel, to divide that. */
	nanoseconds time;
	uint64_t ticks_user, ticks_system;
	/* What was told of it last: neither part ever becomes less. */
	nanoseconds told_user, told_system;
	/* For the log: a service's, or that it is a program's. */
	const char *name;
	/* The segments of an iovec whose grant is in use. */
	struct vector vector;
	uint8_t fpu[512] __attribute__((aligned(16)));
};

#define FIRST_TASK 1

extern struct task *current, idle;
/* The one that ran last, where it has ended and is not gone yet; NULL: none. task_switched() */
extern struct task *task_ended;
/* By number; NULL where the slot is free. */
extern struct task *tasks[TASKS];

/* See kernel.idl, calls 1 to 10. */
int64_t task_create(uint32_t parent, uint32_t child, uint64_t stack, uint32_t set_tls, uint64_t tls);
void task_start(struct task *t);
/* The same, before all others that are ready. */
void task_start_first(struct task *t);
void task_end(struct task *t);

/* Its first words will be in the kernel, in `function`: of the first task, which no program made. */
void task_begins_with(struct task *t, void (*function)(void));
/* The present task, in the middle of a service, has waited: it is what it was before. One that the service had ended
 * still runs the handler to its end, and then leaves the processor. */
void task_goes_on(enum task_state before);
/* A service's: one that runs `function` in the kernel for good, or with NULL one for user mode. NULL: no memory. */
struct task *task_create_server(uint32_t number, const char *name, void (*function)(void));
/* All that it has; it runs no more. */
void task_discard(struct task *t);
void task_exec(struct task *t, uint64_t entry, uint64_t stack);
void task_wake(struct task *t);
/* In the middle of a call, with no service at work: interrupts are taken, and others run if it is their turn. False:
 * the task's process is to end. */
bool task_look(void);
/* Whoever was notified runs, then whoever is ready and has waited longest. The present one, if it can go on, goes to
 * the queue's end where its time is up; else it gives way to the notified alone. */
void schedule(void);
/* That one at once, the present one staying as it is; on its return others have run. */
void task_run(struct task *next);
/* The same to a server and back to its caller, on whose account the processor's time stays. */
void task_enter(struct task *next);
bool others_ready(void);
/* What the kernel does when all is set up, for good: waits where nobody can run. */
_Noreturn void idle_loop(void);
/* How many tasks live in each space; of a program's task, that it leaves the one it lives in. */
extern uint32_t space_tasks[];
void space_leave(const struct task *t);
/* Before the present task is in user mode again: notified services, and what stands in its `work`. */
void task_work(void);

/* timer.c: deadlines of tasks (`who` is a number) and alarms of services (TASKS + endpoint), and the tick. */
void timer_set(uint32_t who, nanoseconds deadline);
void timer_take_out(uint32_t who);
/* Of each one's deadline in the heap, plus 1; 0: it has none. */
extern uint32_t timer_places[];
static inline void timer_clear(uint32_t who)
{
	if (timer_places[who])
		timer_take_out(who);
}
/* Deadlines that have passed. `tick`: a share of the processor is used up. */
void timers_expired(const struct registers *interrupted);
/* Whether there is to be a tick: not while nobody runs. */
void timer_tick(bool on);
/* Whose account the processor's time is on. */
extern struct task *payer;
/* The time up to now is `payer`'s, who is `next` from now on. */
void task_account(struct task *next);
/* Sum over the tasks that are gone and those that are no program's. */
extern struct counters counters_of_others;
void counters_add(struct counters *sum, const struct counters *one);
/* Since boot. */
extern uint64_t tasks_made;

#define COUNT_FOR(task, what, by) COUNT_IN(*(task)->counters, what, by)
#define COUNT(what, by) COUNT_FOR(current, what, by)

#endif
