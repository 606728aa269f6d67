/* mono.c: the structure "mono". A service is procedures in the kernel; a request is handled on the stack of the
 * task that made it, so that a client's memory is the present address space, and to be parked is to leave the
 * processor. In port.h's order. */
#include "structure.h"
#include "copies.h"
#include "queue.h"
#include "endpoints.h"
#include "x86/machine.h"

/* Who is notified, a bit an endpoint, and what of. */
uint64_t services_notified;
static uint64_t notifications[ENDPOINTS];

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
	queue_remove(&r->link);
	task_wake(CONTAINER(r, struct task, request));
}

verdict give_way(struct request *r, enum ends ends)
{
	INVARIANT(r == &current->request && current->state == READY);
	r->again = true;
	r->ends = (uint8_t)ends;
	return PARKED;
}

static void request_end(struct task *t)
{
	struct request *r = &t->request;

	r->result = r->done ? (int64_t)r->done : -EINTR;
	t->answered = true;
}

/* The present task could go on at once: interrupts that have come meanwhile are taken, and others run if it is their
 * turn. */
static __attribute__((noinline)) void pass(struct task *t)
{
	static const uint32_t work[] = { [BY_A_SIGNAL] = WORK_ATTEND, [BY_THE_END] = WORK_END, [BY_NOTHING] = 0 };
	bool gave_way = !t->ready.next;

	if (!gave_way)
		queue_remove(&t->ready);
	(void)task_look();
	/* What it was parked for has come: then a signal waits. */
	if (gave_way && t->work & work[t->request.ends])
		request_end(t);
}

/* The present task, whose request has just been parked, waits until it is woken. */
static void wait(void)
{
	if (services_notified)
		deliver_notifications();
	if (current->state == WAITING)
		schedule();
	else
		pass(current);
}

bool wait_for_answer(struct request *r)
{
	struct task *t = CONTAINER(r, struct task, request);

	t->answered = false;
	/* A signal that came while it could not be interrupted, between two runs of its handler, say. */
	if (t->work & WORK_ATTEND)
		request_interrupt(t);
	wait();
	return !t->answered;
}

/* A grant of a client's memory is the address there, or that with VECTOR for the iovec that the task's route took
 * apart. */
static long copy_vector(struct grant g, uint64_t offset, uint64_t own, size_t n, piece_copy copy)
{
	while (n > 0) {
		struct piece piece = vector_piece(&current->vector, g.id, offset);
		size_t part = MIN(n, piece.length);

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
	uint64_t address = from.id + offset;

	if (is_beyond(from, offset, n))
		return -EFAULT;
	COUNT(bytes_in, n);
	if (is_user(address, n))
		return user_copy(to, (const void *)address, n) ? -EFAULT : 0;
	if (is_own(from)) {
		memcpy(to, (const void *)address, n);
		return 0;
	}
	return is_vector(from.id) ? copy_vector(from, offset, (uint64_t)to, n, copy_in_piece) : -EFAULT;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	uint64_t address = to.id + offset;

	if (is_beyond(to, offset, n))
		return -EFAULT;
	COUNT(bytes_out, n);
	if (is_user(address, n))
		return user_copy((void *)address, from, n) ? -EFAULT : 0;
	if (is_own(to)) {
		memcpy((void *)address, from, n);
		return 0;
	}
	return is_vector(to.id) ? copy_vector(to, offset, (uint64_t)from, n, copy_out_piece) : -EFAULT;
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	uint64_t address = to.id + offset;

	if (is_beyond(to, offset, n))
		return -EFAULT;
	COUNT(bytes_out, n);
	if (is_user(address, n))
		return user_zero((void *)address, n) ? -EFAULT : 0;
	if (is_own(to)) {
		memset((void *)address, 0, n);
		return 0;
	}
	return is_vector(to.id) ? copy_vector(to, offset, 0, n, zero_piece) : -EFAULT;
}

/* Not beyond the grant, whose length for a string is as much as a string may have. */
long copy_string(char *to, size_t size, struct grant from)
{
	if (is_own(from))
		return copy_own_string(to, size, (const char *)from.id);
	return copy_user_string(to, MIN(size, from.length), from.id);
}

struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length)
{
	(void)task;
	return (struct grant){ MIN(address, USER_END), length };
}

void notify(uint32_t endpoint, unsigned bit)
{
	notifications[endpoint] |= 1UL << bit;
	services_notified |= 1UL << endpoint;
}

/* The lowest service first: what it does may be what the ones above wait for. */
void deliver_notifications(void)
{
	while (services_notified) {
		uint32_t endpoint = 63U - (uint32_t)__builtin_clzl(services_notified);
		uint64_t bits = notifications[endpoint];

		notifications[endpoint] = 0;
		services_notified &= ~(1UL << endpoint);
		COUNT(messages, 1);
		service_notified(endpoint, bits);
	}
}

void services_begin(void)
{
	services_start();
}

void request_interrupt(struct task *t)
{
	struct request *r = &t->request;

	if (t->state != WAITING || r->ends != BY_A_SIGNAL)
		return;
	request_end(t);
	unpark_request(r);
}

void request_forget(struct task *t)
{
	queue_remove(&t->request.link);
}

uint32_t copy_owner(void)
{
	return current->number;
}
