/* queue.h: queues, which are lists that are empty when they are zero, and requests, for the kernel and for both sides
 * of the seam. Services have port.h's functions instead. */
#ifndef TRIO_QUEUE_H
#define TRIO_QUEUE_H

#include "port.h"

/* Begins the request of a call that may wait, whose handler may run more than once. Other calls do not need this. */
static inline void request_begin(struct request *r, uint16_t call)
{
	r->call = call;
	r->late = r->again = false;
	r->done = 0;
	for (unsigned i = 0; i < SCRATCH_WORDS; i++)
		r->scratch[i] = 0;
}

static inline bool queue_is_empty(const struct queue *q)
{
	return !q->head.next || list_is_empty(&q->head);
}

static inline void queue_add(struct queue *q, struct link *one)
{
	if (!q->head.next)
		list_start(&q->head);
	list_add(&q->head, one);
}

static inline void queue_add_first(struct queue *q, struct link *one)
{
	if (!q->head.next)
		list_start(&q->head);
	list_add(q->head.next, one);
}

#endif
