/* vfs_seam.c: a mock of the seam, and of the parts of the file service that its pipes and sockets lean on. */
#include <stdlib.h>
#include "pipes/pipe.h"
#include "sockets/socket.h"
#include "vfs_seam.h"

unsigned pages_out, objects_out, fail_at;
bool alarm_is_set;

/* The seam -------------------------------------------------------------------------------------------------------- */

verdict park(struct queue *q, struct request *r)
{
	if (q->head.next == NULL)
		list_start(&q->head);
	list_add(&q->head, &r->link);
	return PARKED;
}

verdict park_until(struct queue *q, struct request *r, nanoseconds deadline)
{
	return park(q, r);
}

verdict park_hard(struct queue *q, struct request *r)
{
	return park(q, r);
}

/* What is asked here is less than a share. */
verdict give_way(struct request *r, enum ends ends)
{
	abort();
}

void raise_signal(struct request *r, uint32_t signal)
{
	r->raises = (uint8_t)signal;
}

verdict disk_park(struct request *request)
{
	return park_hard(&vfs.disk_waiters[0], request);
}

bool is_waited_for(const struct queue *q)
{
	return q->head.next != NULL && !list_is_empty(&q->head);
}

void unpark(struct queue *q)
{
	struct link *next, *l = is_waited_for(q) ? q->head.next : &q->head;

	for (; l != &q->head; l = next) {
		next = l->next;
		list_remove(l);
	}
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	if (offset + n > from.length)
		return -EFAULT;
	memcpy(to, (char *)from.id + offset, n);
	return 0;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	if (offset + n > to.length)
		return -EFAULT;
	memcpy((char *)to.id + offset, from, n);
	return 0;
}

static bool fails(void)
{
	if (fail_at == 0)
		return false;
	fail_at--;
	return fail_at == 0;
}

void *pages_take(size_t count)
{
	if (fails())
		return NULL;
	pages_out += (unsigned)count;
	return calloc(count, PAGE);
}

void pages_give(void *pages, size_t count)
{
	pages_out -= (unsigned)count;
	free(pages);
}

nanoseconds now(void)
{
	return 1;
}

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	alarm_is_set = true;
}

void alarms_ring(void)
{
	while (alarm_is_set) {
		alarm_is_set = false;
		lost_alarm();
	}
}

void panic(const char *format, ...)
{
	abort();
}

int64_t clock_random(struct grant to)
{
	return 0;
}

/* The rest of vfs ------------------------------------------------------------------------------------------------- */

void *heap_allocate(size_t size)
{
	if (fails())
		return NULL;
	objects_out++;
	return calloc(1, size);
}

void heap_free(void *p, size_t size)
{
	objects_out--;
	free(p);
}

void node_forgotten(struct node *n)
{
	fifo_forget(n);
	free(n);
}

int64_t walk(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct node **out)
{
	return -ENOENT;
}

int64_t permitted(uint32_t task, const struct node *n, unsigned wanted)
{
	return 0;
}

int64_t make_at(uint32_t task, int32_t directory, const char *path, uint32_t mode, uint32_t device, struct node **out)
{
	return -EACCES;
}

void locks_drop(struct node *n, uint32_t process, const struct file *f)
{
}
