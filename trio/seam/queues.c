/* queues.c: of port.h, what of parking is the same in every structure. */
#include "queue.h"

bool is_waited_for(const struct queue *queue)
{
	return !queue_is_empty(queue);
}

void unpark(struct queue *queue)
{
	while (is_waited_for(queue))
		unpark_request(CONTAINER(queue->head.next, struct request, link));
}
