/* task.c: tasks are made, run, woken and ended here. See task.h. */
#include "core/task.h"
#include "core/checked.h"
#include "core/memory.h"
#include "queue.h"
#include "structure.h"
#include "x86/cpu.h"
#include "x86/entry.h"
#include "x86/machine.h"
#include "x86/processor.h"

/* A task and its counters share a page. */
struct task_page {
	struct task task;
	struct counters counters;
};
_Static_assert(sizeof(struct task_page) <= PAGE, "a task fits into a page");

/* A new task's stack: six saved registers, and the address to which task_switch_stacks returns. task_first calls the
 * function in rbx. */
struct first_frame {
	uint64_t r15, r14, r13, r12, rbp, rbx, rip;
};

#define FLAGS_FRESH 0x202

_Static_assert(offsetof(struct task, serves) == 16 && offsetof(struct task, work) == 28, "as entry.S has them");

struct task *tasks[TASKS];
struct counters counters_of_others;
uint64_t tasks_made;

/* The idle task runs when no other can; it has no user mode and no number of its own. */
struct task idle = { .number = TASKS, .counters = &counters_of_others, .name = "" };
struct task *current = &idle, *payer = &idle;
uint64_t cr3_loaded __attribute__((section(".data")));
/* The time up to which the payer's account is settled. */
static nanoseconds since;

static struct queue ready;
/* The ended task leaves the processor only when the next one runs on its own stack. */
struct task *task_ended;

/* Makes a task with a kernel stack, on which it will begin. Returns NULL without memory. */
static inline struct task *task_make(uint32_t number, const char *name, void (*function)(void))
{
	uint64_t page = frame_take(), top = page ? kernel_stack_take(number) : 0;
	struct task *t = physical(page);
	struct first_frame *first;

	if (!top) {
		if (page)
			frame_drop(page);
		return NULL;
	}
	/* committed */
	t->number = number;
	t->state = NEW;
	t->name = name;
	t->user = (struct registers *)top - 1;
	first = (struct first_frame *)t->user - 1;
	*first = (struct first_frame){ .rip = (uint64_t)task_first, .rbx = (uint64_t)function };
	t->kernel_sp = (uint64_t)first;
	return t;
}

int64_t task_create(uint32_t parent, uint32_t child, uint64_t stack, uint32_t set_tls, uint64_t tls)
{
	struct task *t;

	/* The processor would refuse any other base when it loads it, which is in the kernel. */
	if (set_tls && tls >= USER_END)
		return -EPERM;
	t = task_make(child, "program", NULL);
	if (!t)
		return -ENOMEM;
	/* committed */
	t->counters = &CONTAINER(t, struct task_page, task)->counters;
	t->request.task = child;
	t->cr3 = kernel_cr3;
	if (parent != child) {
		const struct task *from = tasks[parent];

		processor_copy(t, from);
		*t->user = *from->user;
		t->user->rax = 0;
		if (stack)
			t->user->rsp = stack;
		if (set_tls)
			processor_set_base(t, false, tls);
	} else {
		/* While it is in the kernel the processor would refuse registers without selectors. */
		task_exec(t, USER_END, 0);
	}
	tasks[child] = t;
	tasks_made++;
	return 0;
}

struct task *task_create_server(uint32_t number, const char *name, void (*function)(void))
{
	struct task *t = task_make(number, name, function);

	if (!t)
		return NULL;
	t->counters = &counters_of_others;
	if (function)
		t->user = NULL;
	return t;
}

void task_begins_with(struct task *t, void (*function)(void))
{
	((struct first_frame *)t->kernel_sp)->rbx = (uint64_t)function;
}

void task_start(struct task *t)
{
	t->state = READY;
	queue_add(&ready, &t->ready);
}

void task_start_first(struct task *t)
{
	t->state = READY;
	queue_add_first(&ready, &t->ready);
}

void task_wake(struct task *t)
{
	if (t->state != WAITING)
		return;
	timer_clear(t->number);
	t->state = READY;
	queue_add(&ready, &t->ready);
}

void task_exec(struct task *t, uint64_t entry, uint64_t stack)
{
	/* On the way out of the kernel the processor would refuse an address beyond this one; nothing is mapped at this
	 * one. */
	entry = MIN(entry, USER_END);
	*t->user =
		(struct registers){ .rip = entry, .cs = USER_CS, .rflags = FLAGS_FRESH, .rsp = stack, .ss = USER_SS };
	t->system_call = -1;
	processor_fresh(t);
}

void counters_add(struct counters *sum, const struct counters *one)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)one;

	/* This runs at the end of each task. */
#pragma GCC unroll 16
	for (size_t n = sizeof *sum / sizeof *to; n > 0; n--)
		*to++ += *from++;
}

void task_discard(struct task *t)
{
	if (is_programs(t)) {
		if (COUNTING)
			counters_add(&counters_of_others, t->counters);
		space_leave(t);
		tasks[t->number] = NULL;
	}
	stack_measure(kernel_stack_lowest(t->number), STACK_PAGES * PAGE);
	kernel_stack_give(t->number);
	if (t->ports)
		pages_give(t->ports, PORT_BYTES / PAGE);
	if (t->vector.many)
		pages_give(t->vector.many, SEGMENTS_PAGES);
	frame_drop(physical_of(t));
}

void task_end(struct task *t)
{
	timer_clear(t->number);
	if (t->state == READY && t != current)
		list_remove(&t->ready);
	else if (t->state == WAITING)
		request_forget(t);
	t->state = ENDED;
	t->work |= WORK_YIELD;
	if (t == current)
		return;
	if (t == payer)
		task_account(current);
	task_discard(t);
}

void task_goes_on(enum task_state before)
{
	current->state = before;
	if (before == ENDED)
		current->work |= WORK_YIELD;
}

void task_account(struct task *next)
{
	nanoseconds at = now();

	payer->time += at - since;
	since = at;
	payer = next;
}

void task_switched(void)
{
	if (task_ended) {
		task_discard(task_ended);
		task_ended = NULL;
	}
}

static inline void switch_to(struct task *next)
{
	struct task *from = current;

	processor_switch(from, next);
	current = next;
	task_switch_stacks(&from->kernel_sp, next->kernel_sp);
	task_switched();
}

void task_run(struct task *next)
{
	struct task *from = current;

	if (next == from)
		return;
	task_account(next);
	if (from->state == ENDED)
		task_ended = from;
	switch_to(next);
}

void task_enter(struct task *next)
{
	switch_to(next);
}

static struct task *first_ready(void)
{
	struct link *first = ready.head.next;

	list_remove(first);
	return CONTAINER(first, struct task, ready);
}

static __attribute__((noinline)) void idle_run(void)
{
	COUNT(switches_voluntary, 1);
	task_run(&idle);
}

void schedule(void)
{
	bool goes_on = current->state == READY && current != &idle;
	bool has_turn = false;

	if (servers_notified()) {
		has_turn = goes_on && !(current->work & WORK_YIELD);
		if (has_turn)
			queue_add_first(&ready, &current->ready);
		notified_start();
	}
	current->work &= ~WORK_YIELD;
	if (queue_is_empty(&ready)) {
		if (!goes_on)
			idle_run();
		return;
	}
	if (goes_on) {
		if (!has_turn)
			queue_add(&ready, &current->ready);
		COUNT(switches_involuntary, 1);
	} else {
		COUNT(switches_voluntary, 1);
	}
	task_run(first_ready());
}

bool task_look(void)
{
	struct task *t = current;

	cpu_look();
	deliver_notifications();
	if (t->work & WORK_YIELD)
		schedule();
	return !(t->work & WORK_END);
}

bool others_ready(void)
{
	return !queue_is_empty(&ready);
}

void idle_loop(void)
{
	since = now();
	for (;;) {
		deliver_here();
		if (servers_notified() || !queue_is_empty(&ready)) {
			timer_tick(true);
			schedule();
			continue;
		}
		timer_tick(false);
		cpu_wait();
	}
}
