/* pm_internal.h: the process service's state, which all its parts share. Their functions are declared in
 * processes/processes.h, signals/signals.h and semaphores/semaphores.h. */
#ifndef TRIO_PM_INTERNAL_H
#define TRIO_PM_INTERNAL_H

#include "kernel.h"
#include "pm_serve.h"
#include "process.h"
#include "vfs.h"
#include "vm.h"

/* Process numbers are below 32768, as on Linux. */
#define NUMBERS 32768

/* A number is free if no thread, process, group or session uses it. */
struct number {
	/* Slots plus one; 0: the number names none. */
	uint16_t thread, process;
	uint16_t uses;
};

struct pm {
	struct thread threads[TASKS];
	struct process processes[TASKS];
	struct number numbers[NUMBERS];
	struct link everyone;
	struct process *init;
	/* The number of stopped processes. */
	uint32_t stopped;
	/* Requests that wait for a disk or for memory. Each notification wakes all of them. */
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

/* Whether the process has all rights. */
static inline bool is_root(const struct process *p)
{
	return p->identity.user.effective == 0;
}

/* The entry of a number. Invalid numbers get entry 0, which names no thread and no process. */
static inline struct number *number_of(int32_t number)
{
	return &pm.numbers[number > 0 && number < NUMBERS ? number : 0];
}

#endif
