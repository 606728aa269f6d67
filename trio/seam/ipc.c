/* ipc.c: messages that wait for nothing: a caller's words go to a server that waits for any, in registers, and the server
 * has the processor; its reply brings it back, with its wait for the next message. No queue of those that are ready is
 * asked, no time is taken: the processor's time stays the caller's (task_account). Whatever these numbered guards refuse
 * goes by queued.c, which does all. After "committed" nothing fails. */
#include "servers.h"
#include "core/checked.h"
#include "queue.h"
#include "x86/switch.h"

/* To a server's process that waits for a message: whatever it was doing in the kernel is over. */
static inline void enter_process(struct task *server)
{
	struct task *from = current;

	processor_to_server(from, server);
	current = server;
	task_leave_for_process(&from->kernel_sp, server->user);
}

/* From a server to a program whose system call is over: to its registers. */
static inline void return_to_program(struct task *program)
{
	struct task *server = current;

	program->user->rax = (uint64_t)program->caller.result;
	if (payer != program)
		task_account(program);
	if (server->user)
		processor_to_program(server, program);
	else
		processor_switch(server, program);
	current = program;
	task_leave_for_program(&server->kernel_sp, program->user);
}

/* The server, which waits for a message, has one; the caller, who runs, waits where it is. */
static inline void enter(struct task *server, uint64_t header)
{
	if (PROCESSES && server->user) {
		server->user->rax = header;
		enter_process(server);
	} else {
		server->serves->came = header;
		task_enter(server);
	}
}

/* The present task, which waited for a reply, goes on. */
static int64_t replied(void)
{
	struct caller *c = &current->caller;

	task_switched();
	return c->waits ? queued_wait(c) : c->result;
}

/* What it grants has been given (grants_give). */
static inline __attribute__((always_inline)) int64_t call(uint64_t header, uint64_t *words, bool plain)
{
	struct server *s = endpoints[HEADER_ENDPOINT(header)].server;
	struct task *t = current;
	struct caller *c = &t->caller;

	c->words = words;
	c->header = header;
	c->server = s;
	c->waits = true;
	c->is_plain = plain;
	/* 1. The server waits for a message in registers, so it has nothing else to do and has not ended. 2. Nobody was
	 * notified, who would run before. 3. The words fit. 4. The caller has not been ended. */
	if (s->receives != IN_REGISTERS || services_notified || HEADER_WORDS(header) > REGISTER_WORDS || t->state != READY)
		return queued_call(c);
	/* committed */
	if (HEADER_IS_CLIENT(header))
		c->state = CLIENT_HELD;
	else
		s->present = c;
	COUNT_FOR(t, messages, 1);
	COUNT_FOR(t, switches_direct, 1);
	s->receives = NOTHING;
	s->task->state = READY;
	t->state = WAITING;
	words_copy(s->words, words, HEADER_WORDS(header));
	enter(s->task, header | t->number);
	return replied();
}

int64_t message_client_call(uint64_t header, uint64_t *words)
{
	return call(header, words, false);
}

int64_t message_plain_call(uint64_t header, uint64_t *words)
{
	/* A kernel that checks itself looks at the result. */
	return call(header, words, !CHECKING);
}

int64_t message_call(uint64_t header, uint64_t *words)
{
	return call(header, words, false);
}

int64_t message_call_long(uint64_t header, uint64_t *words)
{
	return call(header, words, false);
}

uint64_t thread_reply_and_wait(uint64_t whom, int64_t result, uint64_t *words)
{
	current->serves->words = words;
	return (uint64_t)server_reply_and_wait(whom, result, words);
}

/* NULL: it replies to nobody, or to one whom it has no call of. */
static inline struct caller *caller_of(const struct server *s, uint64_t whom)
{
	struct task *t = whom < TASKS ? tasks[whom] : NULL;

	if (t && t->caller.server == s && t->caller.state == CLIENT_HELD)
		return &t->caller;
	return whom == REPLY_TO_CALL ? s->present : NULL;
}

int64_t server_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs)
{
	struct task *server = current, *t;
	struct server *s = server->serves;
	struct caller *c = caller_of(s, whom);

	COUNT_FOR(server, server_traps, 1);
	s->ticks = 0;
	/* 1. It has a call to reply to. 2. Nothing else is to be done by it: so no signal for its clients waits here.
	 * 3. Nobody was notified. 4. No deadline waits for the reply. */
	if (!c || s->told_of_clients | s->notified | server->work | services_notified || !queue_is_empty(&s->callers) ||
	    timer_places[task_of_caller(c)->number])
		return queued_reply_and_wait(whom, result, outs);
	/* committed */
	t = task_of_caller(c);
	COUNT_FOR(t, replies, 1);
	s->receives = IN_REGISTERS;
	server->state = WAITING;
	t->state = READY;
	c->waits = false;
	grants_end(c);
	if (whom != REPLY_TO_CALL) {
		c->state = CLIENT_NONE;
	} else {
		words_copy(c->words, outs, shape_of_call(c)->outs);
		s->present = NULL;
	}
	c->result = result;
	if (!c->is_plain || t->work)
		task_reply(t);
	else
		return_to_program(t);
	return queued_came();
}
