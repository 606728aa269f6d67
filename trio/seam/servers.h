/* servers.h: servers and their callers, for the parts of the kernel's side: ipc.c calls, clients.c programs' requests,
 * traps.c what servers ask, ends.c their end. */
#ifndef TRIO_SERVERS_H
#define TRIO_SERVERS_H

#include "ipc.h"
#include "structure.h"
#include "core/frames.h"
#include "x86/entry.h"

/* One who waits for a reply; on its kernel stack. */
struct caller {
	struct link link;
	struct task *task;
	struct message *m;
	uint32_t endpoint;
	/* NULL: a service's call, or the kernel's. */
	struct request *request;
	bool done;
};

struct server {
	struct task *task;
	/* Whose messages it has not taken yet; and whose call it is to reply to. */
	struct queue callers;
	struct caller *present;
	/* A bit an endpoint: its services that were notified. */
	uint64_t notified;
	/* A bit a task: what it is to be told of parked requests. */
	bool told_of_clients;
	uint64_t signalled[TASKS / 64], late[TASKS / 64], gone[TASKS / 64];
	/* It waits for any of these; it has ended; what it heard last was a notification. */
	bool receives, dead, was_notified;
	/* Of the clock, while it ran, since it asked last for what is next. */
	uint32_t ticks;
	/* Where it counts what the kernel does not see. */
	uint64_t counters_at;
	/* Lines that it may still write to the log. */
	uint32_t lines_written;
};

enum client_state { CLIENT_NONE, CLIENT_SENT, CLIENT_HELD, CLIENT_PARKED };

extern struct server servers[DOMAINS];
/* By task: its program's call under way. */
extern struct client {
	struct caller *caller;
	uint32_t domain;
	enum client_state state;
} clients[TASKS];

/* A server has something to do other than to take a call. */
void server_wake(uint32_t domain);
/* The caller goes on when the server has nothing more to do; its grants end now. */
void call_done(struct caller *c);

/* Between the kernel and the present server, whose word is all that says where: a process's memory is below the
 * kernel's. False: it is not there. */
static inline bool is_servers(uint64_t address, size_t n)
{
	return !is_process(PRESENT_DOMAIN) || is_user(address, n);
}

static inline bool server_get(void *to, uint64_t from, size_t n)
{
	COUNT(bytes_messages, n);
	return is_servers(from, n) && user_copy(to, (const void *)from, n) == 0;
}

static inline bool server_put(uint64_t to, const void *from, size_t n)
{
	COUNT(bytes_messages, n);
	return is_servers(to, n) && user_copy((void *)to, from, n) == 0;
}

/* What a present server asks: see message.h. */
int64_t server_next(uint64_t to, bool waits);
int64_t server_reply(uint64_t from);
int64_t client_answer(uint64_t task, uint64_t from);
int64_t client_parked(uint64_t task, uint64_t ends, nanoseconds deadline);
int64_t client_gave_way(uint64_t task, uint64_t ends);
/* The client's request is no more the server's. */
void client_end(uint32_t task);

#endif
