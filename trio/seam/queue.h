/* queue.h: queues, lists that are empty when they are zero, for the kernel and the seam on both sides; services have
 * port.h's own functions. */
#ifndef TRIO_QUEUE_H
#define TRIO_QUEUE_H

#include "port.h"

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
