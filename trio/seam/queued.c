/* queued.c: messages between domains, whatever else is going on. A caller gives its message to a server, which is a
 * task with a queue, and waits for the reply. A caller's number is a task's, or TASKS + a domain's. */
#include "core/task.h"
#include "ipc.h"
#include "message.h"
#include "queue.h"
#include "servers.h"
#include "switches.h"

struct server servers[DOMAINS];
static uint64_t notifications[ENDPOINTS];

void server_wake(uint32_t domain)
{
	struct server *s = &servers[domain];

	if (!s->receives)
		return;
	s->receives = NOTHING;
	services_notified |= 1UL << domain;
}

void server_notify(uint32_t endpoint, uint64_t bits)
{
	uint32_t domain = endpoints[endpoint].domain;

	notifications[endpoint] |= bits;
	servers[domain].notified |= 1UL << endpoint;
	server_wake(domain);
}

void notified_start(void)
{
	for (uint32_t domain = 1; domain < DOMAINS; domain++)
		if (services_notified >> domain & 1)
			task_start_first(servers[domain].task);
	if (services_notified & 1)
		task_start_first(notifier);
	services_notified = 0;
}

/* Calls ----------------------------------------------------------------------------------------------------------- */

int64_t queued_wait(struct caller *c)
{
	while (c->waits) {
		current->state = WAITING;
		schedule();
	}
	return c->result;
}

int64_t queued_call(struct caller *c)
{
	struct server *s = c->server;
	enum task_state before = current->state;

	if (s->lives.now == SERVER_LOST) {
		c->waits = false;
		grants_end(c);
		return -EIO;
	}
	if (is_client(c))
		c->state = CLIENT_SENT;
	COUNT(messages, 1);
	queue_add(&s->callers, &c->link);
	current->state = WAITING;
	if (s->receives) {
		s->receives = NOTHING;
		if (BY_QUEUE) {
			task_start(s->task);
		} else {
			s->task->state = READY;
			COUNT(switches_direct, 1);
			task_enter(s->task);
		}
	}
	(void)queued_wait(c);
	task_goes_on(before);
	return c->result;
}

void call_done(struct task *t, int64_t result)
{
	COUNT_FOR(t, replies, 1);
	grants_end(&t->caller);
	t->caller.waits = false;
	t->caller.result = result;
	/* A task does not lose the rest of its turn by a call. */
	if (t == payer)
		task_start_first(t);
	else
		task_start(t);
}

/* What is next ---------------------------------------------------------------------------------------------------- */

static bool take_bit(uint64_t *bits, uint32_t *which)
{
	for (uint32_t i = 0; i < TASKS / 64; i++) {
		if (!bits[i])
			continue;
		*which = i * 64 + (uint32_t)__builtin_ctzl(bits[i]);
		bits[i] &= bits[i] - 1;
		return true;
	}
	return false;
}

static bool next_of_clients(struct server *s, struct incoming *in)
{
	if (!s->told_of_clients)
		return false;
	if (PROCESSES && s->lives.is_replaced)
		server_end("another program takes its place");
	if (take_bit(s->gone, &in->who))
		in->kind = INCOMING_GONE;
	else if (take_bit(s->signalled, &in->who))
		in->kind = INCOMING_SIGNAL;
	else if (take_bit(s->late, &in->who))
		in->kind = INCOMING_LATE;
	else
		s->told_of_clients = false;
	return s->told_of_clients;
}

static bool next_notification(struct server *s, struct incoming *in)
{
	uint32_t endpoint;

	if (!s->notified)
		return false;
	endpoint = 63U - (uint32_t)__builtin_clzl(s->notified);
	s->notified &= ~(1UL << endpoint);
	*in = (struct incoming){ .kind = INCOMING_NOTIFIED, .endpoint = endpoint, .bits = notifications[endpoint] };
	notifications[endpoint] = 0;
	return true;
}

static bool next_caller(struct server *s, struct incoming *in)
{
	struct task *t;
	struct caller *c;

	if (queue_is_empty(&s->callers))
		return false;
	t = first_caller(s);
	c = &t->caller;
	list_remove(&c->link);
	*in = (struct incoming){ .endpoint = HEADER_ENDPOINT(c->header), .who = t->number };
	in->m.call = HEADER_CALL(c->header);
	words_copy(in->m.words, c->words, HEADER_WORDS(c->header));
	if (is_client(c)) {
		in->kind = INCOMING_CLIENT;
		c->state = CLIENT_HELD;
	} else {
		in->kind = INCOMING_CALL;
		s->present = t;
	}
	return true;
}

/* A caller has its turn between two notifications, of which a service below may send any number. */
static bool next_of_others(struct server *s, struct incoming *in)
{
	bool any = s->was_notified ? next_caller(s, in) || next_notification(s, in)
				   : next_notification(s, in) || next_caller(s, in);

	s->was_notified = in->kind == INCOMING_NOTIFIED;
	return any;
}

/* Three seconds of a server's own time; what a service has to do takes milliseconds. */
#define TICKS_MOST 300

void server_ticked(void)
{
	struct server *s = current->serves;

	s->ticks++;
	/* No call is so long that other tasks should wait for its end. */
	if (s->ticks > 1 && others_ready())
		current->work |= WORK_YIELD;
	if (s->ticks >= TICKS_MOST && is_process(s->domain))
		current->work |= WORK_END;
}

void server_look(void)
{
	const struct server *s = current->serves;

	if (s->ticks >= TICKS_MOST || s->lives.is_stopped)
		server_end(s->lives.is_stopped ? "it was stopped" : "it does not answer");
	current->work &= ~WORK_END;
}

/* The turn of the task that the server works for is over. That task waits, so the server gives way in its place. */
static void take_over_yield(void)
{
	uint32_t yields = payer->work & WORK_YIELD;

	payer->work &= ~WORK_YIELD;
	current->work |= yields;
}

/* A server that does not wait has work of its own to go on with: other tasks run if it is their turn. */
int64_t server_next(uint64_t to, bool waits)
{
	struct server *s = current->serves;
	struct incoming in = { 0 };

	if (s->present)
		return -EINVAL;
	if (!is_servers(to, sizeof in))
		return -EFAULT;
	s->ticks = 0;
	if (!waits) {
		take_over_yield();
		(void)task_look();
	}
	while (!next_of_clients(s, &in) && !next_of_others(s, &in)) {
		if (!waits)
			return 1;
		s->receives = ANYTHING;
		current->state = WAITING;
		schedule();
	}
	if (in.kind > INCOMING_CLIENT)
		COUNT(notifications, 1);
	return server_put(to, &in, sizeof in) ? 0 : -EFAULT;
}

/* Copies as many words as the interface has values. */
static int64_t reply_to_call(struct server *s, int64_t result, const uint64_t *outs)
{
	struct task *t = s->present;

	if (!t)
		return -EINVAL;
	words_copy(t->caller.words, outs, HEADER_OUTS(t->caller.header));
	s->present = NULL;
	call_done(t, result);
	return 0;
}

int64_t server_reply(uint64_t from)
{
	struct message m;

	if (!server_get(&m, from, sizeof m))
		return -EFAULT;
	return reply_to_call(current->serves, m.result, m.words);
}

/* A wait in registers is over. */
int64_t queued_came(void)
{
	struct server *s = current->serves;
	uint64_t came = s->came;

	task_switched();
	s->came = 0;
	if (is_process(s->domain) && (services_notified | current->work))
		task_work();
	return (int64_t)came;
}

/* Replies, if somebody waits for that, and waits if there is nothing yet. The server asks with server_next for what
 * comes, unless it came in registers. */
int64_t queued_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs)
{
	struct server *s = current->serves;

	COUNT(server_traps, 1);
	if (whom == REPLY_TO_CALL) {
		(void)reply_to_call(s, result, outs);
	} else if (is_held(whom)) {
		words_copy(tasks[whom]->request.out, outs, HEADER_OUTS(tasks[whom]->caller.header));
		client_reply(tasks[whom], result);
	}
	if (s->present || s->told_of_clients || s->notified || !queue_is_empty(&s->callers))
		return queued_came();
	s->receives = IN_REGISTERS;
	current->state = WAITING;
	schedule();
	return queued_came();
}

void servers_count(struct counters *sum)
{
	for (uint32_t domain = 1; domain <= SERVERS; domain++) {
		const struct server *s = &servers[domain];
		static struct counters copy;

		if (!is_process(domain))
			counters_add(sum, (const struct counters *)s->counters_at);
		else if (process_read(domain, s->counters_at, &copy, sizeof copy))
			counters_add(sum, &copy);
	}
}

/* The lowest services come first: others may ask for what they do at their start. */
void servers_begin(void)
{
	for (uint32_t domain = SERVERS; domain > 0; domain--) {
		servers[domain].domain = domain;
		servers[domain].rights = &domains[domain];
		if (!server_load(domain))
			panic("no memory for %s", domains[domain].name);
		task_start(servers[domain].task);
	}
}
