/* local.c: services in the kernel's own domain, as procedures. A request is handled on the stack of the task that made
 * it, so a client's memory is the present address space, and a task whose request is parked leaves the processor. The
 * order is port.h's. */
#include "core/task.h"
#include "endpoints.h"
#include "local.h"
#include "queue.h"
#include "structure.h"

/* By endpoint: its notifications. A bit for each endpoint that was notified and has not been told. */
static uint64_t notifications[ENDPOINTS], notified;
/* Where there are servers, a notified service may have to wait for one. It runs on the notifier's task then, since the
 * present task may be the idle one. */
static bool notifier_waits;
/* A bit for each endpoint: some task is in the middle of one of its handlers. */
static uint64_t entered;
static struct queue at_doors;

verdict park(struct queue *queue, struct request *r)
{
	INVARIANT(r == &current->request && current->state == READY);
	r->ends = BY_A_SIGNAL;
	queue_add(queue, &r->link);
	current->state = WAITING;
	return PARKED;
}

verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline)
{
	if (deadline != NEVER)
		timer_set(current->number, deadline);
	return park(queue, r);
}

void unpark_request(struct request *r)
{
	list_remove(&r->link);
	task_wake(CONTAINER(r, struct task, request));
}

verdict give_way(struct request *r, enum ends ends)
{
	INVARIANT(r == &current->request && current->state == READY);
	r->again = true;
	r->ends = (uint8_t)ends;
	return PARKED;
}

/* A service may make a request for itself, which is no task's. */
void raise_signal(struct request *r, uint32_t signal)
{
	struct task *t = CONTAINER(r, struct task, request);

	r->raises = (uint8_t)signal;
	if (r->task < TASKS && tasks[r->task] == t)
		t->work |= WORK_RAISE;
}

static void request_end(struct task *t)
{
	struct request *r = &t->request;

	r->result = r->done ? (int64_t)r->done : -EINTR;
	t->answered = true;
}

/* The present task could go on at once: it takes the interrupts that have come, and other tasks run if it is their
 * turn. */
static __attribute__((noinline)) void pass(struct task *t)
{
	bool gave_way = !t->ready.next;

	if (!gave_way)
		list_remove(&t->ready);
	(void)task_look();
	/* The task was parked, and what it waited for has come: the signal waits then. */
	if (gave_way && request_is_ended(t))
		request_end(t);
}

/* The present task, whose request has just been parked, waits until it is woken. */
static void wait(void)
{
	if (services_notified)
		deliver_here();
	if (current->state == WAITING)
		schedule();
	else
		pass(current);
}

bool wait_for_answer(struct request *r)
{
	struct task *t = CONTAINER(r, struct task, request);

	t->answered = false;
	/* A signal came while it could not end the request, between two runs of its handler for example. */
	if (t->work & WORK_ATTEND)
		request_interrupt(t);
	wait();
	return !t->answered;
}

/* A task that waits to enter a service; this lies on its stack. */
struct at_door {
	struct link link;
	struct task *task;
	uint32_t endpoint;
};

void service_enter(uint32_t endpoint)
{
	while (entered >> endpoint & 1) {
		struct at_door door = { .task = current, .endpoint = endpoint };
		enum task_state before = current->state;

		queue_add(&at_doors, &door.link);
		current->state = WAITING;
		schedule();
		task_goes_on(before);
	}
	entered |= 1UL << endpoint;
}

void service_leave(uint32_t endpoint)
{
	entered &= ~(1UL << endpoint);
	for (struct link *l = at_doors.head.next; l && l != &at_doors.head; l = l->next) {
		struct at_door *door = CONTAINER(l, struct at_door, link);

		if (door->endpoint != endpoint)
			continue;
		list_remove(l);
		task_start(door->task);
		return;
	}
}

void local_notify(uint32_t endpoint, unsigned bit)
{
	notifications[endpoint] |= 1UL << bit;
	notified |= 1UL << endpoint;
	if (SERVERS && !notifier_waits)
		return;
	notifier_waits = false;
	services_notified |= 1;
}

/* The lowest service comes first: it may bring what those above wait for. */
static void deliver(void)
{
	while (notified) {
		uint32_t endpoint = 63U - (uint32_t)__builtin_clzl(notified);
		uint64_t bits;

		if (SERVERS)
			service_enter(endpoint);
		bits = notifications[endpoint];
		notifications[endpoint] = 0;
		notified &= ~(1UL << endpoint);
		COUNT(notifications, 1);
		service_notified(endpoint, bits);
		if (SERVERS)
			service_leave(endpoint);
	}
}

static void notifier_life(void)
{
	for (;;) {
		deliver();
		notifier_waits = true;
		current->state = WAITING;
		schedule();
	}
}

void local_begin(void)
{
	services_start();
	if (!SERVERS)
		return;
	notifier = task_create_server(NOTIFIER, "notifier", notifier_life);
	if (!notifier)
		panic("no memory for what is notified");
	task_start(notifier);
}

void local_deliver(void)
{
	deliver();
	services_notified = 0;
}

void local_interrupt(struct task *t)
{
	if (t->state != WAITING || !request_is_ended(t))
		return;
	request_end(t);
	unpark_request(&t->request);
}
