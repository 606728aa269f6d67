/* clients.c: servers have programs' requests: they answer them and park them; signals and deadlines end them. */
#include "core/task.h"
#include "ipc.h"
#include "queue.h"
#include "servers.h"
#include "x86/machine.h"

/* How long a server may take to answer a client whose process was killed. */
#define KILL_NS 2000000000UL

#define LAST_SIGNAL 64

bool is_held(uint64_t task)
{
	const struct task *t = task < TASKS ? tasks[task] : NULL;

	return t && t->caller.server == current->serves && t->caller.state >= CLIENT_HELD;
}

/* Also a task for which the kernel called the server: the first process begins so. */
bool has_client(uint32_t task)
{
	const struct task *present = current->serves ? current->serves->present : NULL;

	return is_held(task) || (present && present->number == task);
}

/* Another task may be in the middle of something. */
bool process_may_end(const struct task *t)
{
	return t->state == NEW || is_held(t->number);
}

void client_end(struct task *t)
{
	struct server *s = t->caller.server;
	uint64_t keep = ~(1UL << t->number % 64);

	s->signalled[t->number / 64] &= keep;
	s->late[t->number / 64] &= keep;
	timer_clear(t->number);
	t->caller.state = CLIENT_NONE;
}

void client_reply(struct task *t, int64_t result)
{
	client_end(t);
	call_done(t, result);
}

int64_t client_answer(uint64_t task, uint64_t from)
{
	struct client_answer a;
	struct task *t;

	if (!is_held(task))
		return -ESRCH;
	if (!server_get(&a, from, sizeof a))
		return -EFAULT;
	if (a.raises > LAST_SIGNAL)
		return -EINVAL;
	t = tasks[task];
	memcpy(t->request.out, a.out, sizeof a.out);
	if (a.raises) {
		t->request.raises = (uint8_t)a.raises;
		t->work |= WORK_RAISE;
	}
	client_reply(t, a.result);
	return 0;
}

/* pm and vm may keep a request even when its process ends, since they make that end. Others wait for devices, and the
 * end of a process waits for them no longer than for an answer. */
static bool may_keep(uint32_t domain)
{
	return !is_process(domain) || domains[domain].endpoints & (1UL << ENDPOINT_PM | 1UL << ENDPOINT_VM);
}

/* A signal may have come before this. */
int64_t client_parked(uint64_t task, uint64_t ends, nanoseconds deadline)
{
	int64_t result = client_gave_way(task, ends);

	if (result != 0)
		return result;
	tasks[task]->caller.state = CLIENT_PARKED;
	current->serves->signalled[task / 64] &= ~(1UL << task % 64);
	current->serves->late[task / 64] &= ~(1UL << task % 64);
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
	if (!is_held(task))
		return -ESRCH;
	if (ends > BY_NOTHING)
		return -EINVAL;
	tasks[task]->caller.state = CLIENT_HELD;
	tasks[task]->request.ends = (uint8_t)ends;
	return request_is_ended(tasks[task]);
}

static void tell(const struct task *t, uint64_t *bits)
{
	struct server *s = t->caller.server;

	bits[t->number / 64] |= 1UL << t->number % 64;
	s->told_of_clients = true;
	server_wake(s->domain);
}

void server_interrupt(struct task *t)
{
	const struct caller *c = &t->caller;
	bool ends = c->state == CLIENT_PARKED && request_is_ended(t);

	if (ends)
		tell(t, c->server->signalled);
	if (c->state != CLIENT_NONE && t->work & WORK_END &&
	    (ends || c->state != CLIENT_PARKED || !may_keep(c->server->domain)))
		timer_set(t->number, now() + KILL_NS);
}

/* The task's process was killed, and the server has not answered in time. */
static void client_killed(struct task *t)
{
	if (t->caller.state == CLIENT_SENT)
		list_remove(&t->caller.link);
	else
		tell(t, t->caller.server->gone);
	client_end(t);
	grants_revoke(0, t->number);
	call_done(t, -EINTR);
}

bool server_has_parked(const struct task *t)
{
	return t->caller.state == CLIENT_PARKED;
}

void server_late(struct task *t)
{
	if (t->caller.state == CLIENT_PARKED && !(t->work & WORK_END))
		tell(t, t->caller.server->late);
	else if (t->caller.state != CLIENT_NONE)
		client_killed(t);
}

/* The server that has the request calls this; it has forgotten the request already, unless that is parked. */
void server_forget(struct task *t)
{
	if (t->caller.state == CLIENT_NONE)
		return;
	if (t->caller.state == CLIENT_PARKED)
		tell(t, t->caller.server->gone);
	client_end(t);
	grants_end(&t->caller);
}
