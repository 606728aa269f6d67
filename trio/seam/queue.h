/* queue.h: queues, lists that are empty when they are zero, and requests, for the kernel and the seam on both sides;
 * services have port.h's own functions. */
#ifndef TRIO_QUEUE_H
#define TRIO_QUEUE_H

#include "port.h"

/* Of a call that may wait: its handler may run more than once. Others need nothing of it. */
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
