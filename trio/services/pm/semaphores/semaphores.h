/* semaphores.h: System V semaphores. They belong to this service because it knows credentials and the ends of
 * processes, which SEM_UNDO needs. A set lasts until it is removed.
 *
 * Requests wait in a queue of the set, in order of arrival. Whoever changes a value completes for them what is now
 * possible, so that no later call overtakes an earlier one. */
#ifndef TRIO_PM_SEMAPHORES_H
#define TRIO_PM_SEMAPHORES_H

#include "abi/semaphore.h"
#include "pm_internal.h"

/* An id is the place of the set, with a sequence number above it. */
#define SEMAPHORE_PLACE_BITS 15

/* may_use() takes READ or ALTER. MODE_ALL masks the permission bits of a set's mode. */
#define READ 4U
#define ALTER 2U
#define MODE_ALL 0777U

struct semaphore {
	int32_t value;
	/* The process that changed the value last. */
	int32_t process;
};

/* The adjustments to one set when one process ends. */
struct undo {
	struct undo *next_of_process;
	struct link of_set;
	struct semaphore_set *set;
	/* The slot of the process. */
	uint32_t slot;
	int16_t adjust[];
};

struct semaphore_set {
	int32_t id, key;
	uint32_t uid, gid, cuid, cgid, mode;
	/* Since boot; 0: never. */
	nanoseconds operated, changed;
	/* One queue for requests that wait only for zeros, one for requests that change a value. */
	struct queue waiting[2];
	struct link undos;
	/* set_update() is to be called again. Until then new calls queue behind those that wait. */
	bool updating;
	uint32_t count;
	struct semaphore semaphores[];
};

struct semaphores {
	struct semaphore_set *sets[SEMMNI];
	/* All used places are below this one. */
	uint32_t top;
	/* The operations of each thread's present call, by slot: a page, allocated at the first call. */
	struct linux_sembuf *operations[TASKS];
	/* By the slot of the process. */
	struct undo *undos[TASKS];
};
extern struct semaphores semaphores;

/* sets.c: both return NULL if there is none. */
struct semaphore_set *set_of(int32_t id);
struct semaphore_set *set_at(int32_t place);
/* wanted: READ or ALTER. */
bool may_use(const struct process *p, const struct semaphore_set *s, uint32_t wanted);
void set_remove(struct semaphore_set *s);

/* operations.c: to be called when a thread leaves. */
void operations_drop(uint32_t slot);
/* To be called when a value has changed; requests proceed by shares. `s` is NULL once the set is gone. */
verdict update_share(struct request *r, struct semaphore_set *s);
/* Answers all waiting requests with -EIDRM. */
void set_refuse(struct semaphore_set *s);
/* Counts the requests that wait for semaphore `number` to become zero, or to become greater. */
int64_t set_waiting(struct semaphore_set *s, uint32_t number, bool zero);
/* Clears all adjustments to `count` semaphores of a set. */
void undo_forget(struct semaphore_set *s, uint32_t first, uint32_t count);
void undo_remove(struct semaphore_set *s);
/* To be called when a process ends. Returns false if only a share is done; then it is to be called again. */
bool undo_do(const struct process *p);

#endif
