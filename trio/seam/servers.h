/* servers.h: servers and their callers, for the kernel's files about them: ipc.c has the calls, clients.c programs'
 * requests, traps.c the requests of servers, ends.c their end. */
#ifndef TRIO_SERVERS_H
#define TRIO_SERVERS_H

#include "ipc.h"
#include "lives.h"
#include "structure.h"
#include "core/frames.h"

struct server {
	struct task *task;
	uint32_t domain;
	/* Its rights. */
	const struct domain *rights;
	/* The tasks whose messages it has not taken yet; and the task to whose call it has to reply. */
	struct queue callers;
	struct task *present;
	/* A bit for each endpoint: which of its services were notified. */
	uint64_t notified;
	/* was_notified: what it took last was a notification. told_of_clients: it has to be told of parked requests,
	 * which the bits below list by task. */
	bool was_notified, told_of_clients;
	uint64_t signalled[TASKS / 64], late[TASKS / 64], gone[TASKS / 64];
	/* What it waits for: nothing; anything; or anything, and a message may come in registers. Then its words go
	 * where `words` points, and its header into rax of a process, else into `came`. */
	enum { NOTHING, ANYTHING, IN_REGISTERS } receives;
	uint64_t *words, came;
	struct lives lives;
	/* Ticks of the clock while it ran, since it last asked for its next message. */
	uint32_t ticks;
	/* With the switch by-mapping: the page table's entry of PROCESS_MAPPED, and what the kernel puts there when it
	 * takes a page away; whether a page is mapped, and whether one was taken away. */
	uint64_t *window, lost_frame;
	bool maps, has_lost;
	/* Where it counts what the kernel does not see. */
	uint64_t counters_at;
	/* How many lines it may still write to the log. */
	uint32_t lines_written;
};

extern struct server servers[DOMAINS];

/* The first task whose message a server has not taken yet; there must be one. */
static inline struct task *first_caller(const struct server *s)
{
	return CONTAINER(s->callers.head.next, struct task, caller.link);
}

/* Whether the caller is a program, and not a service or the kernel. */
static inline bool is_client(const struct caller *c)
{
	return HEADER_IS_CLIENT(c->header);
}

/* Copies the first `n` words. */
static inline void words_copy(uint64_t *to, const uint64_t *from, unsigned n)
{
	switch (n) {
	default:
		memcpy(to, from, n * sizeof *to);
		break;
	case 5:
		to[4] = from[4];
		/* fall through */
	case 4:
		to[3] = from[3];
		/* fall through */
	case 3:
		to[2] = from[2];
		/* fall through */
	case 2:
		to[1] = from[1];
		/* fall through */
	case 1:
		to[0] = from[0];
		/* fall through */
	case 0:
		break;
	}
}

/* The server has something to do beside taking a call. */
void server_wake(uint32_t domain);
/* window.c: maps a page for a copy of the present server, until the server says that it is done. False: the server has
 * to copy again, since the page was taken away: other tasks ran, or it asked for something else. A server in the middle
 * of its copy goes on with a page of its own. */
void window_open(struct server *s, uint64_t frame, bool write);
bool window_close(struct server *s);
void window_lose(struct server *s);

/* The caller goes on when the server has nothing more to do. The call's grants end. */
void call_done(struct task *t, int64_t result);

/* Copies between the kernel and the present server, at addresses that only the server vouches for: a process's memory
 * must be its own. False: that memory is absent. */
static inline bool is_servers(uint64_t address, size_t n)
{
	return !is_process(PRESENT_DOMAIN) || is_process_memory(address, n);
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

/* queued.c: what ipc.c's functions do when something is in the way. queued_call makes the call, queued_wait waits for
 * its reply; both return the result. */
int64_t queued_call(struct caller *c);
int64_t queued_wait(struct caller *c);
int64_t queued_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs);
/* A wait is over. Returns what came to a thread; 0: the server has to ask. */
int64_t queued_came(void);

/* The requests of a present server: see message.h. */
int64_t server_next(uint64_t to, bool waits);
int64_t server_reply(uint64_t from);
int64_t client_answer(uint64_t task, uint64_t from);
void client_reply(struct task *t, int64_t result);
/* Whether the present server has to answer a request of that task. */
bool is_held(uint64_t task);
int64_t client_parked(uint64_t task, uint64_t ends, nanoseconds deadline);
int64_t client_gave_way(uint64_t task, uint64_t ends);
/* The server no longer has the client's request. */
void client_end(struct task *t);

#endif
