/* rendezvous.h: what the structures with messages share on the kernel's side: a caller gives its message to a
 * server, which is a task with a queue, and waits until that has answered. */
#ifndef TRIO_RENDEZVOUS_H
#define TRIO_RENDEZVOUS_H

#include "core/task.h"
#include "messages.h"

/* One who waits for an answer; on the caller's stack. */
struct caller {
	struct link link;
	struct task *task;
	struct message *m;
	/* NULL: a service's or the kernel's call. */
	struct request *request;
	/* It has its answer. */
	bool done;
};

struct server {
	struct task *task;
	/* Whose messages it has not taken yet. */
	struct queue callers;
	/* What it was notified of. */
	uint64_t bits;
	/* It waits for any of these. */
	bool receiving;
};

extern struct server servers[ENDPOINTS];
/* By task: its program's call under way. */
extern struct caller *clients[TASKS];

/* There is something for a server other than a caller: it runs if it was waiting. */
void server_wake(uint32_t endpoint);

#endif
