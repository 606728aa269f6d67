/* queues.c: of port.h, what of parking is the same in every structure. */
#include "queue.h"

bool is_waited_for(const struct queue *queue)
{
	return !queue_is_empty(queue);
}

bool unpark_one(struct queue *queue)
{
	if (!is_waited_for(queue))
		return false;
	unpark_request(CONTAINER(queue->head.next, struct request, link));
	return true;
}

void unpark(struct queue *queue)
{
	while (unpark_one(queue))
		continue;
}
