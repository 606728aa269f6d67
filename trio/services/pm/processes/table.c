/* table.c: slots, numbers and lists of threads and processes. After a slot has been taken, nothing waits or fails. */
#include "processes/processes.h"

static uint16_t free_slots[TASKS];
static uint32_t free_slot_count;

void table_start(void)
{
	list_start(&pm.everyone);
	/* The lowest slot is given out first. Slot 0 is never given out. */
	for (uint32_t i = TASKS - 1; i > 0; i--)
		slot_give(i);
}

int32_t slot_take(void)
{
	return free_slot_count ? free_slots[--free_slot_count] : -EAGAIN;
}

void slot_give(uint32_t slot)
{
	free_slots[free_slot_count++] = (uint16_t)slot;
}

/* After the highest number, numbers are given out from here on. */
#define RESERVED 300
/* There are more numbers than slots have uses (thread, group and session of each), so that the search ends. */
_Static_assert(NUMBERS - RESERVED > 3 * TASKS, "a number is always free");

int32_t number_take(void)
{
	static int32_t last;
	int32_t number = last;

	do
		number = number + 1 < NUMBERS ? number + 1 : RESERVED;
	while (number_of(number)->uses != 0);
	last = number;
	number_of(number)->uses++;
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

static void identify(const struct process *p, uint32_t slot, int32_t number, int32_t nice, char state,
		     struct grant name)
{
	uint32_t parent = p->parent ? (uint32_t)p->parent->number : 0;

	vfs_identify(slot, (uint32_t)number | (uint64_t)p->number << 32,
		     (uint32_t)p->group | (uint64_t)p->session << 32, parent, nice, (uint32_t)state, name);
}

void thread_identify(const struct thread *t)
{
	identify(t->process, t->slot, t->number, t->nice, t->process->stop ? 'T' : 'R',
		 grant_read(t->name, sizeof t->name));
}

void process_identify(struct process *p)
{
	EACH_THREAD (p, t)
		thread_identify(t);
	if (!thread_numbered(p->number))
		identify(p, p->slot, p->number, 0, 'Z', (struct grant){ 0 });
}

struct process *process_add(uint32_t slot, int32_t number, struct process *parent)
{
	struct process *p = &pm.processes[slot];

	memset(p, 0, sizeof *p);
	p->slot = slot;
	number_set(&p->number, number);
	pm.numbers[number].process = (uint16_t)(slot + 1);
	list_start(&p->threads);
	list_start(&p->children);
	list_add(&pm.everyone, &p->everyone);
	p->parent = parent;
	if (parent)
		list_add(&parent->children, &p->of_parent);
	for (uint32_t i = 0; i < TIMERS; i++)
		p->timers[i].at = NEVER;
	return p;
}

void process_remove(struct process *p)
{
	vfs_waited(p->slot, p->parent->slot);
	list_remove(&p->everyone);
	list_remove(&p->of_parent);
	pm.numbers[p->number].process = 0;
	pm.numbers[p->number].uses--;
	pm.numbers[p->group].uses--;
	pm.numbers[p->session].uses--;
	p->number = 0;
	/* A thread may still use the slot: one of a process whose first thread has left during execve. */
	if (!pm.threads[p->slot].process)
		slot_give(p->slot);
}

struct thread *thread_add(struct process *p, uint32_t slot, int32_t number)
{
	struct thread *t = &pm.threads[slot];

	memset(t, 0, sizeof *t);
	t->process = p;
	t->slot = slot;
	t->number = number;
	pm.numbers[number].thread = (uint16_t)(slot + 1);
	list_add(&p->threads, &t->of_process);
	p->thread_count++;
	return t;
}

void thread_remove(struct thread *t)
{
	struct process *p = t->process;

	list_remove(&t->of_process);
	p->thread_count--;
	pm.numbers[t->number].thread = 0;
	pm.numbers[t->number].uses--;
	t->process = NULL;
	if (!pm.processes[t->slot].number)
		slot_give(t->slot);
}
