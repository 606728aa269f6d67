/* queues.c: the functions of port.h that park and unpark in the same way in every structure. */
#include "queue.h"

verdict park_hard(struct queue *queue, struct request *r)
{
	(void)park(queue, r);
	r->ends = BY_NOTHING;
	return PARKED;
}

verdict park_to_end(struct queue *queue, struct request *r)
{
	(void)park(queue, r);
	r->ends = BY_THE_END;
	return PARKED;
}

bool is_waited_for(const struct queue *queue)
{
	return !queue_is_empty(queue);
}

void unpark_first(struct queue *queue)
{
	unpark_request(CONTAINER(queue->head.next, struct request, link));
}

void unpark(struct queue *queue)
{
	while (is_waited_for(queue))
		unpark_first(queue);
}
