/* semaphores.h: System V semaphores. They are this service's since it knows who asks, who may, and who ends: SEM_UNDO
 * is of a process. A set lasts until it is removed, whoever made it.
 *
 * Who waits does so in a queue of the set, in the order of coming. Whoever changes a value does for them what can be
 * done by then, as they would, so that no later call comes before an earlier one. */
#ifndef TRIO_PM_SEMAPHORES_H
#define TRIO_PM_SEMAPHORES_H

#include "abi/semaphore.h"
#include "pm_internal.h"

/* An id is the place of the set and above it a number that tells its users apart. */
#define SEMAPHORE_PLACE_BITS 15

/* Of a set's mode: what may_use() is asked for, and all of it. */
#define READ 4U
#define ALTER 2U
#define MODE_ALL 0777U

struct semaphore {
	int32_t value;
	/* The process that changed it last. */
	int32_t process;
};

/* What is undone in one set when one process ends. */
struct undo {
	struct undo *next_of_process;
	struct link of_set;
	struct semaphore_set *set;
	/* Of the process's slot. */
	uint32_t slot;
	int16_t adjust[];
};

struct semaphore_set {
	int32_t id, key;
	uint32_t uid, gid, cuid, cgid, mode;
	/* Since boot; 0: never. */
	nanoseconds operated, changed;
	/* Of requests that wait for zeros alone, and of those that change something. */
	struct queue waiting[2];
	struct link undos;
	/* set_update() is to be called again; until then no new call is before those that wait. */
	bool updating;
	uint32_t count;
	struct semaphore semaphores[];
};

struct semaphores {
	struct semaphore_set *sets[SEMMNI];
	/* Places up to the last that is taken. */
	uint32_t top;
	/* By the slot of a thread, of its present call: a page, once there was one. */
	struct linux_sembuf *operations[TASKS];
	/* By the slot of a process. */
	struct undo *undos[TASKS];
};
extern struct semaphores semaphores;

/* sets.c: NULL: there is none. */
struct semaphore_set *set_of(int32_t id);
struct semaphore_set *set_at(int32_t place);
/* wanted: READ or ALTER. */
bool may_use(const struct process *p, const struct semaphore_set *s, uint32_t wanted);
void set_remove(struct semaphore_set *s);

/* operations.c: a thread leaves. */
void operations_drop(uint32_t slot);
/* The request has changed a value: whoever can proceed does, by shares. `s` is NULL once the set is gone. */
verdict update_share(struct request *r, struct semaphore_set *s);
/* All that wait are answered -EIDRM. */
void set_refuse(struct semaphore_set *s);
/* Requests that wait for semaphore `number`: for zero, or for more than it has. */
int64_t set_waiting(struct semaphore_set *s, uint32_t number, bool zero);
/* Nobody gives anything back to so many semaphores of a set. */
void undo_forget(struct semaphore_set *s, uint32_t first, uint32_t count);
void undo_remove(struct semaphore_set *s);
/* The process ends; false: a share is done, and it is to be called again. */
bool undo_do(const struct process *p);

#endif
