/* ends.c: how a server that is a process ends, after a fault, after its own panic, or when another program takes its
 * place; and how one begins. The kernel takes back the server's rights to the machine. Everybody who has called it
 * waits for the next process, if rs may start one; else their calls, and later ones, fail with EIO. */
#include "core/frames.h"
#include "core/task.h"
#include "ipc.h"
#include "lives.h"
#include "queue.h"
#include "rs.h"
#include "servers.h"
#include "text.h"
#include "x86/machine.h"

#define LINE 160

static void fail(struct task *t)
{
	if (is_client(&t->caller))
		client_end(t);
	call_done(t, -EIO);
}

void server_lose(struct server *s)
{
	s->lives.now = SERVER_LOST;
	while (!queue_is_empty(&s->callers)) {
		struct task *t = first_caller(s);

		list_remove(&t->caller.link);
		fail(t);
	}
}

/* A call that was under way when two processes in turn ended would end the third too, so it fails. */
static void send_again(struct server *s, struct task *t, bool was_under_way)
{
	struct caller *c = &t->caller;

	if (is_client(c)) {
		client_end(t);
		c->state = CLIENT_SENT;
	}
	if (was_under_way && c->header & HEADER_AGAIN) {
		fail(t);
		return;
	}
	if (was_under_way)
		c->header |= HEADER_AGAIN;
	s->lives.calls_waited++;
	queue_add(&s->callers, &c->link);
}

/* The tasks whose requests the server had come before those that have called since. */
static void send_all_again(struct server *s)
{
	struct queue later = { { NULL, NULL } };

	while (!queue_is_empty(&s->callers)) {
		struct task *t = first_caller(s);

		list_remove(&t->caller.link);
		queue_add(&later, &t->caller.link);
	}
	if (s->present)
		send_again(s, s->present, true);
	s->present = NULL;
	for (uint32_t task = 0; task < TASKS; task++) {
		struct task *t = tasks[task];

		if (t && t->caller.server == s && t->caller.state >= CLIENT_HELD)
			send_again(s, t, t->caller.state == CLIENT_HELD);
	}
	while (!queue_is_empty(&later)) {
		struct task *t = CONTAINER(later.head.next, struct task, caller.link);

		list_remove(&t->caller.link);
		s->lives.calls_waited++;
		queue_add(&s->callers, &t->caller.link);
	}
}

void server_tell_above(const struct server *s)
{
	for (uint32_t endpoint = 1; endpoint < ENDPOINTS; endpoint++)
		for (unsigned bit = 0; s->rights->notifies >> endpoint & 1 && bit < NOTIFY_BITS; bit++)
			notify(endpoint, bit);
}

/* Forgets what the server heard, what it was to be told, what it counted, and its interrupts. */
static void forget(struct server *s)
{
	static struct counters counted;

	s->receives = NOTHING;
	s->notified = 0;
	s->told_of_clients = s->lives.is_stopped = s->lives.is_replaced = false;
	memset(s->signalled, 0, sizeof s->signalled);
	memset(s->late, 0, sizeof s->late);
	memset(s->gone, 0, sizeof s->gone);
	s->ticks = s->lives.dma_used = 0;
	s->lives.answers = s->lives.beats;
	if (process_read(s->domain, s->counters_at, &counted, sizeof counted))
		counters_add(&counters_of_others, &counted);
	s->counters_at = 0;
	for (uint32_t endpoint = 1; endpoint < ENDPOINTS; endpoint++) {
		if (!process_is(endpoint))
			continue;
		timer_clear(TASKS + endpoint);
		interrupts_release(endpoint);
	}
	process_free(s->domain);
	s->task = NULL;
}

static bool is_alive(uint32_t endpoint)
{
	const struct server *s = endpoints[endpoint].server;

	return !s || s->lives.now == SERVER_RUNS;
}

static _Noreturn void leave(struct server *s, bool begins_anew)
{
	s->lives.ended_at = now();
	s->lives.now = SERVER_ENDED;
	forget(s);
	send_all_again(s);
	if (begins_anew && is_alive(ENDPOINT_RS)) {
		notify(ENDPOINT_RS, RS_ENDED);
	} else {
		server_lose(s);
		server_tell_above(s);
		grants_revoke(s->domain, UINT32_MAX);
	}
	current->state = ENDED;
	schedule();
	panic("%s runs after its end", domains[s->domain].name);
}

_Noreturn void server_end(const char *format, ...)
{
	struct server *s = current->serves;
	char line[LINE];
	struct text t = { line, sizeof line - 1, 0 };
	va_list list;

	va_start(list, format);
	text_add_list(&t, format, list);
	va_end(list);
	line[t.length] = '\0';
	/* A thread is part of the kernel, so its end is the kernel's. */
	if (!is_process(s->domain) || s->rights->policy == POLICY_STOP)
		panic("%s: %s", domains[s->domain].name, line);
	log_line("%s ends: %s", domains[s->domain].name, line);
	s->lives.faults += !s->lives.is_replaced;
	leave(s, s->rights->policy == POLICY_START_AGAIN);
}

bool server_load(uint32_t domain)
{
	struct server *s = &servers[domain];
	struct task *t = is_process(domain)
				 ? process_load(domain, s->lives.image ? s->lives.image : domains[domain].image)
				 : task_create_server(TASKS + domain, domains[domain].name, domains[domain].run);

	if (!t)
		return false;
	s->task = t;
	t->serves = s;
	if (is_process(domain))
		s->words = &t->user->rdi;
	s->lives.starts++;
	s->lives.now = SERVER_RUNS;
	return true;
}

int64_t server_ready(struct server *s, uint64_t counters_at)
{
	s->counters_at = counters_at;
	/* This is the server's first process, or the process says this a second time. */
	if (!s->lives.ended_at)
		return 0;
	s->lives.pause = now() - s->lives.ended_at;
	s->lives.ended_at = 0;
	log_line("%s has begun anew, after %lu ns", domains[s->domain].name, s->lives.pause);
	/* The process that ended may have been told what those above wait for. */
	server_tell_above(s);
	return 0;
}

void task_end_alone(uint32_t status)
{
	if (current->number == FIRST_TASK) {
		log_line("the first process ends, and so does the machine, with status %u", status);
		machine_end(false, status);
	}
	log_line("%s ends alone, with status %u", current->name, status);
	task_end(current);
}
