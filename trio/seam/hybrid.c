/* hybrid.c: the structure "hybrid". A service is a thread of the kernel's with a stack of its own; a call is a
 * message that is copied, a rendezvous, and two switches. All are in one address space, so that a service reaches a
 * client's memory in whichever space is loaded, after loading the right one. In port.h's order. */
#include "structure.h"
#include "copies.h"
#include "queue.h"
#include "rendezvous.h"
#include "x86/cpu.h"
#include "x86/machine.h"
#include "x86/processor.h"

/* Requests that were parked and are to be handled again, by the server that parked them. */
static struct queue again[ENDPOINTS];
/* By task: the server that parked its request; 0: it is not parked. */
static uint32_t client_server[TASKS];

static uint32_t present_endpoint(void)
{
	return current->number - TASKS;
}

verdict park(struct queue *queue, struct request *r)
{
	r->ends = BY_A_SIGNAL;
	client_server[r->task] = present_endpoint();
	queue_add(queue, &r->link);
	return PARKED;
}

verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline)
{
	if (deadline != NEVER)
		timer_set(r->task, deadline);
	return park(queue, r);
}

void unpark_request(struct request *r)
{
	uint32_t endpoint = client_server[r->task];

	client_server[r->task] = 0;
	queue_remove(&r->link);
	timer_clear(r->task);
	queue_add(&again[endpoint], &r->link);
	server_wake(endpoint);
}

verdict give_way(struct request *r, enum ends ends)
{
	uint32_t endpoint = present_endpoint();

	r->again = true;
	r->ends = (uint8_t)ends;
	client_server[r->task] = endpoint;
	queue_add(&again[endpoint], &r->link);
	return PARKED;
}

/* Whose memory a copy reached last. */
static uint32_t reached;

static struct task *owner_of(struct grant g)
{
	return tasks[g.id >> OWNER_SHIFT & (TASKS - 1)];
}

/* The owner's address space is loaded, and stays so until another is needed. */
static uint64_t reach(struct grant g)
{
	struct task *owner = owner_of(g);

	reached = owner ? owner->number : 0;
	if (owner && cpu_cr3() != owner->root)
		cpu_set_cr3(owner->root);
	return g.id & ((1UL << OWNER_SHIFT) - 1);
}

static long copy_user(struct grant g, uint64_t offset, uint64_t own, size_t n, piece_copy copy)
{
	uint64_t begin = reach(g);
	struct task *owner = owner_of(g);

	while (n > 0) {
		struct piece piece = { begin + offset, n };
		size_t part;

		if (is_vector(g.id))
			piece = vector_piece(&owner->vector, VECTOR_BIT | begin, offset);
		part = MIN(n, piece.length);
		if (part == 0 || !is_user(piece.address, part) || copy(piece.address, own, part) != 0)
			return -EFAULT;
		own += part;
		offset += part;
		n -= part;
	}
	return 0;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	if (is_beyond(from, offset, n))
		return -EFAULT;
	COUNT(bytes_in, n);
	if (!is_own(from))
		return copy_user(from, offset, (uint64_t)to, n, copy_in_piece);
	memcpy(to, (const void *)(from.id + offset), n);
	return 0;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	if (is_beyond(to, offset, n))
		return -EFAULT;
	COUNT(bytes_out, n);
	if (!is_own(to))
		return copy_user(to, offset, (uint64_t)from, n, copy_out_piece);
	memcpy((void *)(to.id + offset), from, n);
	return 0;
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	if (is_beyond(to, offset, n))
		return -EFAULT;
	COUNT(bytes_out, n);
	if (!is_own(to))
		return copy_user(to, offset, 0, n, zero_piece);
	memset((void *)(to.id + offset), 0, n);
	return 0;
}

long copy_string(char *to, size_t size, struct grant from)
{
	if (is_own(from))
		return copy_own_string(to, size, (const char *)from.id);
	return copy_user_string(to, MIN(size, from.length), reach(from));
}

struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length)
{
	return (struct grant){ (uint64_t)task << OWNER_SHIFT | MIN(address, USER_END), length };
}

/* A service's thread ---------------------------------------------------------------------------------------------- */

/* The last one that was answered runs next, if the server has nothing more to do. */
static void answer_caller(struct caller *c, struct task **next)
{
	COUNT(messages, 1);
	c->done = true;
	if (*next)
		task_start(*next);
	*next = c->task;
}

static void request_begin(struct request *r, uint16_t number)
{
	r->call = number;
	r->late = r->again = false;
	r->done = 0;
	memset(r->scratch, 0, sizeof r->scratch);
}

static void handle_request(const struct dispatcher *d, struct request *r, struct task **next)
{
	struct caller *c = clients[r->task];

	if (d->client(d->table, r, c->m->words) == ANSWERED)
		answer_caller(c, next);
}

/* What was parked, or gave way, runs again; others do first, if it is their turn. */
static void handle_again(const struct dispatcher *d, struct request *r, struct task **next)
{
	struct task *t = tasks[r->task];

	queue_remove(&r->link);
	client_server[r->task] = 0;
	processor_look();
	if (others_ready())
		schedule();
	if (r->ends == BY_THE_END && t->work & WORK_END) {
		r->result = r->done ? (int64_t)r->done : -EINTR;
		answer_caller(clients[r->task], next);
	} else {
		handle_request(d, r, next);
	}
}

static void handle_caller(const struct dispatcher *d, struct caller *c, struct task **next)
{
	queue_remove(&c->link);
	if (c->request) {
		request_begin(c->request, c->m->call);
		handle_request(d, c->request, next);
		return;
	}
	d->call(d->table, c->m);
	answer_caller(c, next);
}

static void receive(struct server *s, struct task *next)
{
	s->receiving = true;
	current->state = WAITING;
	if (next) {
		next->state = READY;
		task_run(next);
	} else {
		schedule();
	}
}

/* A service's life. */
static void serve(void)
{
	uint32_t endpoint = present_endpoint();
	const struct dispatcher *d = &dispatchers[endpoint];
	struct server *s = &servers[endpoint];
	struct task *next = NULL;

	d->start(d->table);
	for (;;) {
		if (s->bits) {
			uint64_t bits = s->bits;

			s->bits = 0;
			d->notified(d->table, bits);
		} else if (!queue_is_empty(&again[endpoint])) {
			handle_again(d, CONTAINER(again[endpoint].head.next, struct request, link), &next);
		} else if (!queue_is_empty(&s->callers)) {
			handle_caller(d, CONTAINER(s->callers.head.next, struct caller, link), &next);
		} else {
			receive(s, next);
			next = NULL;
		}
	}
}

void services_begin(void)
{
	for (uint32_t endpoint = ENDPOINTS - 1; endpoint > 0; endpoint--) {
		struct server *s = &servers[endpoint];

		s->task = task_create_server(TASKS + endpoint, dispatchers[endpoint].name, serve);
		task_start(s->task);
	}
}

void request_interrupt(struct task *t)
{
	struct caller *c = clients[t->number];
	struct request *r = &t->request;

	if (!c || r->ends != BY_A_SIGNAL || !client_server[t->number])
		return;
	client_server[t->number] = 0;
	queue_remove(&r->link);
	timer_clear(t->number);
	r->result = r->done ? (int64_t)r->done : -EINTR;
	c->done = true;
	task_start(t);
}

void request_forget(struct task *t)
{
	if (t->request.link.next)
		queue_remove(&t->request.link);
	clients[t->number] = NULL;
}

uint32_t copy_owner(void)
{
	return reached;
}
