/* queue.h: rings of links through a head, for the kernel and the seam on both sides; services have port.h's own
 * functions. */
#ifndef TRIO_QUEUE_H
#define TRIO_QUEUE_H

#include "port.h"

static inline bool queue_is_empty(const struct queue *q)
{
	return !q->head.next || q->head.next == &q->head;
}

static inline void queue_add(struct queue *q, struct link *one)
{
	struct link *head = &q->head;

	if (!head->next)
		head->next = head->previous = head;
	INVARIANT(!one->next && !one->previous && head->previous->next == head);
	one->previous = head->previous;
	one->next = head;
	head->previous->next = one;
	head->previous = one;
}

static inline void queue_remove(struct link *one)
{
	INVARIANT(one->next && one->previous->next == one && one->next->previous == one);
	one->previous->next = one->next;
	one->next->previous = one->previous;
	one->next = one->previous = NULL;
}

#endif
