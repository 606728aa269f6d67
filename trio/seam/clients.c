/* clients.c: programs' requests in the hands of servers: answered, parked, ended by signals and deadlines. */
#include "servers.h"
#include "queue.h"
#include "x86/machine.h"

/* What a server has to answer a client whose process was killed. */
#define KILL_NS 2000000000UL

#define LAST_SIGNAL 64

struct client clients[TASKS];

static bool holds(uint64_t task)
{
	return task < TASKS && clients[task].domain == PRESENT_DOMAIN && clients[task].state >= CLIENT_HELD;
}

/* One that the kernel called the server for, too: the first process begins so. */
bool has_client(uint32_t task)
{
	const struct caller *present = servers[PRESENT_DOMAIN].present;

	return holds(task) || (present && present->task->number == task);
}

/* What a task does beside cannot be left in the middle. */
bool process_may_end(const struct task *t)
{
	return t->state == NEW || holds(t->number);
}

void client_end(uint32_t task)
{
	struct server *s = &servers[clients[task].domain];
	uint64_t keep = ~(1UL << task % 64);

	s->signalled[task / 64] &= keep;
	s->late[task / 64] &= keep;
	timer_clear(task);
	clients[task].state = CLIENT_NONE;
}

int64_t client_answer(uint64_t task, uint64_t from)
{
	struct client_answer a;
	struct caller *c;

	if (!holds(task))
		return -ESRCH;
	if (!server_get(&a, from, sizeof a))
		return -EFAULT;
	if (a.raises > LAST_SIGNAL)
		return -EINVAL;
	c = clients[task].caller;
	client_end((uint32_t)task);
	c->request->result = a.result;
	memcpy(c->request->out, a.out, sizeof a.out);
	if (a.raises) {
		c->request->raises = (uint8_t)a.raises;
		tasks[task]->work |= WORK_RAISE;
	}
	call_done(c);
	return 0;
}

/* What not even the end of a process cuts short is what that end is made of. Others wait for devices, and the end of a
 * process waits for them no longer than for an answer. */
static bool may_keep(uint32_t domain)
{
	return !is_process(domain) || domains[domain].endpoints & (1UL << ENDPOINT_PM | 1UL << ENDPOINT_VM);
}

/* A signal may have come before. */
int64_t client_parked(uint64_t task, uint64_t ends, nanoseconds deadline)
{
	if (!holds(task))
		return -ESRCH;
	if (ends > BY_NOTHING)
		return -EINVAL;
	tasks[task]->request.ends = (uint8_t)ends;
	if (request_is_ended(tasks[task]))
		return 1;
	clients[task].state = CLIENT_PARKED;
	servers[PRESENT_DOMAIN].signalled[task / 64] &= ~(1UL << task % 64);
	servers[PRESENT_DOMAIN].late[task / 64] &= ~(1UL << task % 64);
	if (tasks[task]->work & WORK_END && !may_keep(PRESENT_DOMAIN))
		return 0;
	if (deadline == NEVER)
		timer_clear((uint32_t)task);
	else
		timer_set((uint32_t)task, deadline);
	return 0;
}

int64_t client_gave_way(uint64_t task, uint64_t ends)
{
	if (!holds(task))
		return -ESRCH;
	if (ends > BY_NOTHING)
		return -EINVAL;
	clients[task].state = CLIENT_HELD;
	tasks[task]->request.ends = (uint8_t)ends;
	return request_is_ended(tasks[task]);
}

static void tell(uint32_t task, uint64_t *bits)
{
	uint32_t domain = clients[task].domain;

	bits[task / 64] |= 1UL << task % 64;
	servers[domain].told_of_clients = true;
	server_wake(domain);
}

void server_interrupt(struct task *t)
{
	struct client *c = &clients[t->number];
	bool ends = c->state == CLIENT_PARKED && request_is_ended(t);

	if (ends)
		tell(t->number, servers[c->domain].signalled);
	if (c->state != CLIENT_NONE && t->work & WORK_END &&
	    (ends || c->state != CLIENT_PARKED || !may_keep(c->domain)))
		timer_set(t->number, now() + KILL_NS);
}

static void leave_server(uint32_t task)
{
	if (clients[task].state == CLIENT_SENT)
		list_remove(&clients[task].caller->link);
	else
		tell(task, servers[clients[task].domain].gone);
	client_end(task);
}

/* Its process was killed, and the server has not answered since. */
static void client_killed(uint32_t task)
{
	struct caller *caller = clients[task].caller;

	leave_server(task);
	grants_revoke(0, task);
	caller->request->result = -EINTR;
	call_done(caller);
}

bool server_has_parked(const struct task *t)
{
	return clients[t->number].state == CLIENT_PARKED;
}

void server_late(uint32_t task)
{
	if (clients[task].state == CLIENT_PARKED && !(tasks[task]->work & WORK_END))
		tell(task, servers[clients[task].domain].late);
	else if (clients[task].state != CLIENT_NONE)
		client_killed(task);
}

/* Its kernel stack, where the caller is, goes away. */
void server_forget(struct task *t)
{
	if (clients[t->number].state == CLIENT_NONE)
		return;
	leave_server(t->number);
	grants_end(t->number);
}
