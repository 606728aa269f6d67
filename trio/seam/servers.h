/* servers.h: servers and their callers, for the parts of the kernel's side: ipc.c calls, clients.c programs' requests,
 * traps.c what servers ask, ends.c their end. */
#ifndef TRIO_SERVERS_H
#define TRIO_SERVERS_H

#include "ipc.h"
#include "lives.h"
#include "structure.h"
#include "core/frames.h"

struct server {
	struct task *task;
	uint32_t domain;
	/* What it may do. */
	const struct domain *rights;
	/* Whose messages it has not taken yet; and whose call it is to reply to. */
	struct queue callers;
	struct task *present;
	/* A bit an endpoint: its services that were notified. */
	uint64_t notified;
	/* What it heard last was a notification; a bit a task: what it is to be told of parked requests. */
	bool was_notified, told_of_clients;
	uint64_t signalled[TASKS / 64], late[TASKS / 64], gone[TASKS / 64];
	/* What it waits for: nothing; any of these; or the same, and a message may come in registers: its words where
	 * `words` points, what it is in rax of a process, else in `came`. */
	enum { NOTHING, ANYTHING, IN_REGISTERS } receives;
	uint64_t *words, came;
	struct lives lives;
	/* Of the clock, while it ran, since it asked last for what is next. */
	uint32_t ticks;
	/* With the switch by-mapping: the page table's entry of PROCESS_MAPPED; what stands there once a page is taken
	 * away; whether there is one, and whether it was. */
	uint64_t *window, lost_frame;
	bool maps, has_lost;
	/* Where it counts what the kernel does not see. */
	uint64_t counters_at;
	/* Lines that it may still write to the log. */
	uint32_t lines_written;
};

extern struct server servers[DOMAINS];

/* Of the first whose message a server has not taken yet; there is one. */
static inline struct task *first_caller(const struct server *s)
{
	return CONTAINER(s->callers.head.next, struct task, caller.link);
}

/* Of a program's, and not a service's or the kernel's. */
static inline bool is_client(const struct caller *c)
{
	return HEADER_IS_CLIENT(c->header);
}

/* The first `n` words. */
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

/* A server has something to do other than to take a call. */
void server_wake(uint32_t domain);
/* window.c: a page for a copy of the present server's, until it says that this is done. False: it is to be made again,
 * since the page was lost: others ran, or something else was asked for. A server in the middle of its copy goes on with
 * a page of its own. */
void window_open(struct server *s, uint64_t frame, bool write);
bool window_close(struct server *s);
void window_lose(struct server *s);

/* The caller goes on when the server has nothing more to do; its grants end now. */
void call_done(struct task *t, int64_t result);

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

/* queued.c: as ipc.c's functions, where something is in the way. The call; the rest of the wait for its reply. Both
 * return the result. */
int64_t queued_call(struct caller *c);
int64_t queued_wait(struct caller *c);
int64_t queued_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs);
/* The wait is over: what came to a thread; 0: something that is to be asked for. */
int64_t queued_came(void);

/* What a present server asks: see message.h. */
int64_t server_next(uint64_t to, bool waits);
int64_t server_reply(uint64_t from);
int64_t client_answer(uint64_t task, uint64_t from);
void client_reply(struct task *t, int64_t result);
/* Whether the present server has a request of that task's to answer. */
bool is_held(uint64_t task);
int64_t client_parked(uint64_t task, uint64_t ends, nanoseconds deadline);
int64_t client_gave_way(uint64_t task, uint64_t ends);
/* The client's request is no more the server's. */
void client_end(struct task *t);

#endif
