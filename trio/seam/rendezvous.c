/* rendezvous.c: see rendezvous.h; and of port.h and structure.h, what follows from it. */
#include "rendezvous.h"
#include "queue.h"
#include "structure.h"

struct server servers[ENDPOINTS];
struct caller *clients[TASKS];
uint64_t services_notified;

void server_wake(uint32_t endpoint)
{
	struct server *s = &servers[endpoint];

	if (s->receiving) {
		s->receiving = false;
		services_notified |= 1UL << endpoint;
	}
}

void notify(uint32_t endpoint, unsigned bit)
{
	servers[endpoint].bits |= 1UL << bit;
	server_wake(endpoint);
}

/* The lowest service first; each runs until it has nothing more to do. */
void deliver_notifications(void)
{
	while (services_notified) {
		uint32_t endpoint = 63U - (uint32_t)__builtin_clzl(services_notified);

		services_notified &= ~(1UL << endpoint);
		task_start(servers[endpoint].task);
		current->work |= WORK_YIELD;
	}
}

static void call(uint32_t endpoint, struct caller *c)
{
	struct server *s = &servers[endpoint];

	COUNT(messages, 1);
	queue_add(&s->callers, &c->link);
	current->state = WAITING;
	if (s->receiving) {
		s->receiving = false;
		s->task->state = READY;
		task_run(s->task);
	}
	while (!c->done)
		schedule();
}

void message_call(uint32_t endpoint, struct message *m)
{
	struct caller c = { .task = current, .m = m };

	call(endpoint, &c);
}

void message_client_call(uint32_t endpoint, struct request *r, struct message *m)
{
	struct caller c = { .task = current, .m = m, .request = r };

	clients[current->number] = &c;
	call(endpoint, &c);
	clients[current->number] = NULL;
}
