/* ipc.c: messages between domains: a caller gives its message to a server, which is a task with a queue, and waits until
 * that has replied. Numbers of callers: a task's, or TASKS + a domain's. */
#include "ipc.h"
#include "kernel_calls.h"
#include "queue.h"
#include "structure.h"
#include "x86/machine.h"
#include "x86/entry.h"
#include "x86/processor.h"

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
	/* It waits for any of these. */
	bool receives;
};

enum client_state { CLIENT_NONE, CLIENT_SENT, CLIENT_HELD, CLIENT_PARKED };

static struct server servers[DOMAINS];
static uint64_t notifications[ENDPOINTS];
/* Servers that were notified, a bit a domain. */
static uint64_t servers_notified;
/* By task: its program's call under way. */
static struct client {
	struct caller *caller;
	uint32_t domain;
	enum client_state state;
} clients[TASKS];

static bool holds(uint32_t task)
{
	return task < TASKS && clients[task].domain == PRESENT_DOMAIN && clients[task].state >= CLIENT_HELD;
}

/* One that the kernel called the server for, too: the first process begins so. */
bool has_client(uint32_t task)
{
	const struct caller *present = servers[PRESENT_DOMAIN].present;

	return holds(task) || (present && present->task->number == task);
}

/* A server has something to do other than to take a call. */
static void wake(uint32_t domain)
{
	struct server *s = &servers[domain];

	if (!s->receives)
		return;
	s->receives = false;
	servers_notified |= 1UL << domain;
	services_notified |= SERVERS_NOTIFIED;
}

void server_notify(uint32_t endpoint, uint64_t bits)
{
	uint32_t domain = endpoints[endpoint].domain;

	notifications[endpoint] |= bits;
	servers[domain].notified |= 1UL << endpoint;
	wake(domain);
}

/* They run before who runs now, the one with the lowest services first. */
void servers_deliver(void)
{
	for (uint32_t domain = 1; servers_notified; domain++) {
		if (!(servers_notified >> domain & 1))
			continue;
		servers_notified &= ~(1UL << domain);
		task_start_first(servers[domain].task);
		current->work |= WORK_YIELD;
	}
}

/* Calls ----------------------------------------------------------------------------------------------------------- */

static void wait_for_reply(struct caller *c)
{
	struct server *s = &servers[endpoints[c->endpoint].domain];

	COUNT(messages, 1);
	queue_add(&s->callers, &c->link);
	current->state = WAITING;
	if (s->receives) {
		s->receives = false;
		s->task->state = READY;
		task_run(s->task);
	}
	while (!c->done) {
		current->state = WAITING;
		schedule();
	}
}

static void call(uint32_t endpoint, struct message *m, struct request *r, bool trusted)
{
	const struct endpoint *e = &endpoints[endpoint];
	struct caller c = { .task = current, .m = m, .endpoint = endpoint, .request = r };

	m->result = grants_give(&e->shapes[m->call], m, e->domain, trusted);
	if (m->result == 0) {
		if (r)
			clients[r->task] = (struct client){ &c, e->domain, CLIENT_SENT };
		wait_for_reply(&c);
	} else if (r) {
		r->result = m->result;
	}
	grants_end();
}

void message_call(uint32_t endpoint, struct message *m)
{
	call(endpoint, m, NULL, true);
}

void message_client_call(uint32_t endpoint, struct request *r, struct message *m)
{
	call(endpoint, m, r, true);
}

/* The caller goes on when the server has nothing more to do. */
static void done(struct caller *c)
{
	COUNT(messages, 1);
	c->done = true;
	task_start(c->task);
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
	struct caller *c;

	if (queue_is_empty(&s->callers))
		return false;
	c = CONTAINER(s->callers.head.next, struct caller, link);
	queue_remove(&c->link);
	*in = (struct incoming){ .kind = INCOMING_CALL, .endpoint = c->endpoint, .who = c->task->number, .m = *c->m };
	if (c->request) {
		in->kind = INCOMING_CLIENT;
		clients[c->request->task].state = CLIENT_HELD;
	} else {
		s->present = c;
	}
	return true;
}

/* One that does not wait has work of its own to go on with: others run if it is their turn. */
static int64_t next(uint64_t to, bool waits)
{
	struct server *s = &servers[PRESENT_DOMAIN];
	struct incoming in = { 0 };

	if (s->present)
		return -EINVAL;
	if (!waits)
		(void)task_look();
	while (!next_of_clients(s, &in) && !next_notification(s, &in) && !next_caller(s, &in)) {
		if (!waits)
			return 1;
		s->receives = true;
		current->state = WAITING;
		schedule();
	}
	return user_copy((void *)to, &in, sizeof in) ? -EFAULT : 0;
}

static int64_t reply(uint64_t from)
{
	struct server *s = &servers[PRESENT_DOMAIN];
	struct caller *c = s->present;

	if (!c)
		return -EINVAL;
	if (user_copy(c->m, (const void *)from, sizeof *c->m))
		return -EFAULT;
	s->present = NULL;
	done(c);
	return 0;
}

/* Clients' requests ----------------------------------------------------------------------------------------------- */

static void client_end(uint32_t task)
{
	struct server *s = &servers[clients[task].domain];
	uint64_t keep = ~(1UL << task % 64);

	s->signalled[task / 64] &= keep;
	s->late[task / 64] &= keep;
	timer_clear(task);
	clients[task].state = CLIENT_NONE;
}

static int64_t answer_client(uint64_t task, uint64_t from)
{
	struct client_answer a;
	struct caller *c;

	if (!holds((uint32_t)MIN(task, TASKS)))
		return -ESRCH;
	if (user_copy(&a, (const void *)from, sizeof a))
		return -EFAULT;
	c = clients[task].caller;
	client_end((uint32_t)task);
	c->request->result = a.result;
	memcpy(c->request->out, a.out, sizeof a.out);
	done(c);
	return 0;
}

static const uint32_t ending_work[] = { [BY_A_SIGNAL] = WORK_ATTEND, [BY_THE_END] = WORK_END, [BY_NOTHING] = 0 };

/* A signal may have come before. */
static int64_t parked(uint64_t task, uint64_t ends, nanoseconds deadline)
{
	if (!holds((uint32_t)MIN(task, TASKS)))
		return -ESRCH;
	if (ends > BY_NOTHING)
		return -EINVAL;
	if (ends == BY_A_SIGNAL && tasks[task]->work & WORK_ATTEND)
		return 1;
	clients[task].state = CLIENT_PARKED;
	servers[PRESENT_DOMAIN].late[task / 64] &= ~(1UL << task % 64);
	tasks[task]->request.ends = (uint8_t)ends;
	if (deadline == NEVER)
		timer_clear((uint32_t)task);
	else
		timer_set((uint32_t)task, deadline);
	return 0;
}

static int64_t gave_way(uint64_t task, uint64_t ends)
{
	if (!holds((uint32_t)MIN(task, TASKS)))
		return -ESRCH;
	if (ends > BY_NOTHING)
		return -EINVAL;
	clients[task].state = CLIENT_HELD;
	return (tasks[task]->work & ending_work[ends]) != 0;
}

static void tell(uint32_t task, uint64_t *bits)
{
	uint32_t domain = clients[task].domain;

	bits[task / 64] |= 1UL << task % 64;
	servers[domain].told_of_clients = true;
	wake(domain);
}

void server_interrupt(struct task *t)
{
	struct client *c = &clients[t->number];

	if (c->state == CLIENT_PARKED && t->request.ends == BY_A_SIGNAL)
		tell(t->number, servers[c->domain].signalled);
}

bool server_has_parked(const struct task *t)
{
	return clients[t->number].state == CLIENT_PARKED;
}

void server_late(uint32_t task)
{
	if (clients[task].state == CLIENT_PARKED)
		tell(task, servers[clients[task].domain].late);
}

/* Its kernel stack, where the caller is, goes away. */
void server_forget(struct task *t)
{
	struct client *c = &clients[t->number];

	if (c->state == CLIENT_NONE)
		return;
	if (c->state == CLIENT_SENT)
		queue_remove(&c->caller->link);
	else
		tell(t->number, servers[c->domain].gone);
	client_end(t->number);
}

/* Traps ----------------------------------------------------------------------------------------------------------- */

static const struct shape *shape_of(uint64_t endpoint, const struct message *m)
{
	const struct endpoint *e = &endpoints[endpoint];

	return m->call < e->count && e->shapes[m->call].kind == SHAPE_CALL ? &e->shapes[m->call] : NULL;
}

/* Down the order alone, to whom it may. */
static int64_t forward(uint64_t to, uint64_t message)
{
	bool trusted = !is_process(PRESENT_DOMAIN);
	const struct shape *shape;
	struct message m;

	if (to >= ENDPOINTS || !(domains[PRESENT_DOMAIN].calls >> to & 1))
		return -EPERM;
	if (user_copy(&m, (const void *)message, sizeof m))
		return -EFAULT;
	shape = shape_of(to, &m);
	if (!shape || (!trusted && !grants_are_own(shape, &m)))
		return -EINVAL;
	if (endpoints[to].domain)
		call((uint32_t)to, &m, NULL, trusted);
	else if (SERVICES_IN_KERNEL)
		service_entered((uint32_t)to, &m);
	return user_copy((void *)message, &m, sizeof m) ? -EFAULT : 0;
}

DISPATCHER(kernel);

static int64_t kernel_call(uint64_t message)
{
	struct message m;

	if (user_copy(&m, (const void *)message, sizeof m))
		return -EFAULT;
	if (m.call >= 64 || !(domains[PRESENT_DOMAIN].kernel_calls >> m.call & 1))
		return -EPERM;
	if (!grants_are_own(shape_of(ENDPOINT_KERNEL, &m), &m))
		return -EFAULT;
	serve_kernel_call(&kernel_service, &m);
	return user_copy((void *)message, &m, sizeof m) ? -EFAULT : 0;
}

#define LINE 256

static int64_t say(uint64_t text, uint64_t length, bool last)
{
	char line[LINE];

	length = MIN(length, sizeof line - 1);
	if (user_copy(line, (const void *)text, length))
		return -EFAULT;
	line[length] = '\0';
	if (last)
		panic("%s: %s", current->name, line);
	log_line("%s", line);
	return 0;
}

/* A thread's is as a service's in the kernel. */
static int64_t take_pages(uint64_t count)
{
	return is_process(PRESENT_DOMAIN) ? process_pages_take(count) : (int64_t)pages_take(count);
}

static int64_t give_pages(uint64_t pages, uint64_t count)
{
	if (is_process(PRESENT_DOMAIN))
		return process_pages_give(pages, count);
	pages_give((void *)pages, count);
	return 0;
}

static int64_t copy_asked(uint64_t from)
{
	struct copying c;
	int64_t result;

	if (user_copy(&c, (const void *)from, sizeof c))
		return -EFAULT;
	result = grants_copy(&c, !is_process(PRESENT_DOMAIN));
	if (result == -EAGAIN && user_copy((void *)from, &c, sizeof c))
		return -EFAULT;
	return result;
}

static int64_t alarm_asked(uint64_t endpoint, nanoseconds deadline)
{
	if (endpoint >= ENDPOINTS || !(domains[PRESENT_DOMAIN].endpoints >> endpoint & 1))
		return -EPERM;
	timer_set(TASKS + (uint32_t)endpoint, deadline);
	return 0;
}

static int64_t notify_asked(uint64_t endpoint, uint64_t bit)
{
	if (endpoint == 0 || endpoint >= ENDPOINTS || bit >= NOTIFY_ALARM)
		return -EINVAL;
	notify((uint32_t)endpoint, (unsigned)bit);
	return 0;
}

int64_t domain_trap(uint64_t number, const uint64_t *a)
{
	switch (number) {
	case TRAP_CALL:
		return forward(a[0], a[1]);
	case TRAP_KERNEL:
		return kernel_call(a[0]);
	case TRAP_NEXT:
		return next(a[0], a[1]);
	case TRAP_REPLY:
		return reply(a[0]);
	case TRAP_ANSWER:
		return answer_client(a[0], a[1]);
	case TRAP_PARKED:
		return parked(a[0], a[1], a[2]);
	case TRAP_GAVE_WAY:
		return gave_way(a[0], a[1]);
	case TRAP_COPY:
		return copy_asked(a[0]);
	case TRAP_GRANT_CALLER:
		return (int64_t)grant_of_client((uint32_t)MIN(a[0], TASKS), a[1], a[2]);
	case TRAP_NOTIFY:
		return notify_asked(a[0], a[1]);
	case TRAP_ALARM:
		return alarm_asked(a[0], a[1]);
	case TRAP_NOW:
		return (int64_t)clock_now();
	case TRAP_PAGES_TAKE:
		return take_pages(a[0]);
	case TRAP_PAGES_GIVE:
		return give_pages(a[0], a[1]);
	case TRAP_LOG:
		return say(a[0], a[1], false);
	case TRAP_PANIC:
		return say(a[0], a[1], true);
	default:
		return -ENOSYS;
	}
}

/* The lowest services first: what they do at their start may be what the others ask for at theirs. */
void servers_begin(void)
{
	if (PROCESSES)
		windows_start();
	for (uint32_t domain = SERVERS; domain > 0; domain--) {
		servers[domain].task = is_process(domain) ?
					       process_load(domain) :
					       task_create_server(TASKS + domain, domains[domain].name, domains[domain].run);
		task_start(servers[domain].task);
	}
}
