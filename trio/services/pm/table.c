/* table.c: who there is: slots, numbers, groups. Nothing here waits or fails once a slot has been taken. */
#include "pm_internal.h"

void table_start(void)
{
	list_start(&pm.everyone);
	list_start(&pm.timers);
	/* The lowest slot is given out first; 0 is nobody's. */
	for (uint32_t i = TASKS - 1; i > 0; i--)
		pm.free_slots[pm.free_slot_count++] = (uint16_t)i;
	for (uint32_t i = 0; i < TASKS; i++) {
		pm.handlers[i].next_free = pm.free_handlers;
		pm.free_handlers = &pm.handlers[i];
	}
	for (uint32_t i = 0; i < QUEUED; i++) {
		pm.queued[i].next_free = pm.free_queued;
		pm.free_queued = &pm.queued[i];
	}
}

int32_t slot_take(void)
{
	return pm.free_slot_count ? pm.free_slots[--pm.free_slot_count] : -EAGAIN;
}

void slot_give(uint32_t slot)
{
	pm.free_slots[pm.free_slot_count++] = (uint16_t)slot;
}

static void slot_leave(uint32_t slot)
{
	if (--pm.slot_users[slot] == 0)
		slot_give(slot);
}

/* More numbers than slots have uses (thread, group, session of each), so that the search ends. */
_Static_assert(NUMBERS - RESERVED > 3 * TASKS, "a number is always free");

int32_t number_take(void)
{
	int32_t number = pm.last_number;

	do
		number = number + 1 < NUMBERS ? number + 1 : RESERVED;
	while (number_of(number)->uses != 0);
	pm.last_number = number;
	return number;
}

void number_set(int32_t *user, int32_t number)
{
	pm.numbers[*user].uses--;
	*user = number;
	pm.numbers[number].uses++;
}

struct thread *thread_numbered(int32_t number)
{
	uint32_t slot = number_of(number)->thread;

	return slot ? &pm.threads[slot - 1] : NULL;
}

struct process *process_numbered(int32_t number)
{
	uint32_t slot = number_of(number)->process;

	return slot ? &pm.processes[slot - 1] : NULL;
}

struct process *group_numbered(int32_t group)
{
	EACH_PROCESS (p)
		if (p->group == group)
			return p;
	return NULL;
}

static void identify(const struct process *p, uint32_t slot, int32_t number, int32_t nice, char state,
		     struct grant name)
{
	uint32_t parent = p->parent ? (uint32_t)p->parent->number : 0;

	vfs_identify(slot, (uint32_t)number, (uint32_t)p->number, (uint32_t)p->group, (uint32_t)p->session, parent,
		     nice, (uint32_t)state, name);
}

static void identify_named(const struct thread *t, struct grant name)
{
	identify(t->process, t->slot, t->number, t->nice, t->process->stop ? 'T' : 'R', name);
}

void thread_identify(const struct thread *t)
{
	identify_named(t, (struct grant){ 0 });
}

void thread_named(const struct thread *t)
{
	identify_named(t, grant_read(t->name, sizeof t->name));
}

void process_identify(struct process *p)
{
	EACH_THREAD (p, t)
		thread_identify(t);
}

void zombie_identify(const struct process *p)
{
	identify(p, p->slot, p->number, 0, 'Z', (struct grant){ 0 });
}

struct process *process_add(uint32_t slot, int32_t number, struct process *parent)
{
	struct process *p = &pm.processes[slot];

	memset(p, 0, sizeof *p);
	p->slot = slot;
	number_set(&p->number, number);
	pm.numbers[number].process = (uint16_t)(slot + 1);
	pm.slot_users[slot]++;
	list_start(&p->threads);
	list_start(&p->children);
	list_add(&pm.everyone, &p->everyone);
	p->parent = parent;
	if (parent)
		list_add(&parent->children, &p->of_parent);
	p->virtual.at = p->profile.at = NEVER;
	p->real.process = p->processor.process = p;
	return p;
}

/* A zombie that was waited for. */
void process_remove(struct process *p)
{
	vfs_waited(p->slot, p->parent->slot);
	list_remove(&p->everyone);
	list_remove(&p->of_parent);
	pm.numbers[p->number].process = NOBODY;
	pm.numbers[p->number].uses--;
	pm.numbers[p->group].uses--;
	pm.numbers[p->session].uses--;
	slot_leave(p->slot);
}

struct thread *thread_add(struct process *p, uint32_t slot, int32_t number)
{
	struct thread *t = &pm.threads[slot];

	memset(t, 0, sizeof *t);
	t->process = p;
	t->slot = slot;
	number_set(&t->number, number);
	pm.numbers[number].thread = (uint16_t)(slot + 1);
	pm.slot_users[slot]++;
	list_add(&p->threads, &t->of_process);
	p->thread_count++;
	return t;
}

void thread_remove(struct thread *t)
{
	struct process *p = t->process;

	list_remove(&t->of_process);
	p->thread_count--;
	pm.numbers[t->number].thread = NOBODY;
	pm.numbers[t->number].uses--;
	t->process = NULL;
	slot_leave(t->slot);
}
