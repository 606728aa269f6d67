/* pm_internal.h: the process service's state, which all its parts share. What they offer each other is in
 * processes/processes.h, signals/signals.h, and of semaphores in their own header. */
#ifndef TRIO_PM_INTERNAL_H
#define TRIO_PM_INTERNAL_H

#include "kernel.h"
#include "pm_serve.h"
#include "process.h"
#include "vfs.h"
#include "vm.h"

/* Process numbers: as Linux's, below 32768. */
#define NUMBERS 32768

/* A number is free while nobody uses it: as a thread's, a process's, a group's or a session's. */
struct number {
	/* Slots plus one; 0: nobody's. */
	uint16_t thread, process;
	uint16_t uses;
};

struct pm {
	struct thread threads[TASKS];
	struct process processes[TASKS];
	struct number numbers[NUMBERS];
	struct link everyone;
	struct process *init;
	/* How many processes are stopped. */
	uint32_t stopped;
	/* Requests that wait for a disk or for memory: what comes wakes all. */
	struct queue disk;
	/* AT_HWCAP, AT_HWCAP2. */
	uint32_t hardware, hardware_2;
};
extern struct pm pm;

#define EACH_THREAD(p, t) LIST_EACH (struct thread, t, &(p)->threads, of_process)
#define FIRST_THREAD(p) CONTAINER((p)->threads.next, struct thread, of_process)
#define EACH_PROCESS(p) LIST_EACH (struct process, p, &pm.everyone, everyone)
#define EACH_CHILD(parent, p) LIST_EACH (struct process, p, &(parent)->children, of_parent)

static inline struct thread *asking(const struct request *r)
{
	return &pm.threads[r->task];
}

/* Who may what nobody else may. */
static inline bool is_root(const struct process *p)
{
	return p->identity.user.effective == 0;
}

/* TRY() in a handler: where a call says no, that is the answer. */
#define TRY_ANSWER(r, call)                         \
	do {                                        \
		int64_t tried_ = (call);            \
                                                    \
		if (tried_ < 0)                     \
			return settle((r), tried_); \
	} while (0)

/* What is known of a number; 0 is nobody's, and stands for what is no number at all. */
static inline struct number *number_of(int32_t number)
{
	return &pm.numbers[number > 0 && number < NUMBERS ? number : 0];
}

#endif
