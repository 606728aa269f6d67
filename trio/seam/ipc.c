/* ipc.c: messages that wait for nothing: a caller's words go to a server that waits for any, in registers, and the
 * server has the processor; its reply brings it back, with its wait for the next message. No queue of those that are
 * ready is asked, no time is taken: the processor's time stays the caller's (task_account). Whatever these numbered
 * guards refuse goes by queued.c, which does all. After "committed" nothing fails. */
#include "servers.h"
#include "core/checked.h"
#include "queue.h"
#include "switches.h"
#include "x86/switch.h"

/* Of a server's task. */
#define IS_PROCESS(server) (PROCESSES && (!THREADS || (server)->user))

/* To a server's process that waits for a message: whatever it was doing in the kernel is over. */
static inline void enter_process(struct task *server, bool from_program)
{
	struct task *from = current;

	processor_to_server(from, from_program || from->number < TASKS, server);
	current = server;
	task_leave_for_process(&from->kernel_sp, server->user);
}

/* From a server to a program whose system call is over: to its registers. */
static inline void return_to_program(struct task *server, struct task *program)
{
	if (IS_PROCESS(server))
		processor_to_program(program);
	else
		processor_switch(server, program);
	current = program;
	task_leave_for_program(&server->kernel_sp, program->user);
}

/* From a server to the caller, which waits in the kernel. */
static inline void return_to_caller(struct task *server, struct task *caller)
{
	if (IS_PROCESS(server) && caller->user && !caller->rare) {
		processor_to_program(caller);
		current = caller;
		task_switch_stacks(&server->kernel_sp, caller->kernel_sp);
	} else {
		task_enter(caller);
	}
}

/* The server, which waits for a message, has one; the caller, who runs, waits where it is. */
static inline void enter(struct task *server, uint64_t header, bool from_program)
{
	if (BY_QUEUE) {
		server->serves->came = header;
		task_start(server);
		schedule();
	} else if (IS_PROCESS(server)) {
		server->user->rax = header;
		enter_process(server, from_program);
	} else {
		server->serves->came = header;
		task_enter(server);
	}
}

/* The present task, which waited for a reply, goes on. */
static int64_t replied(void)
{
	struct caller *c = &current->caller;

	if (task_ended)
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
	/* 1. The server waits for a message in registers, so it has nothing else to do and has not ended. 2. Nobody
	 * was notified, who would run before. 3. The words fit. 4. The caller has not been ended. Of a plain call the
	 * last two are so. */
	if (s->receives != IN_REGISTERS || services_notified)
		return queued_call(c);
	if (!plain && (HEADER_WORDS(header) > REGISTER_WORDS || t->state != READY))
		return queued_call(c);
	/* committed */
	if (plain || HEADER_IS_CLIENT(header))
		c->state = CLIENT_HELD;
	else
		s->present = t;
	COUNT_FOR(t, messages, 1);
	if (!BY_QUEUE)
		COUNT_FOR(t, switches_direct, 1);
	s->receives = NOTHING;
	s->task->state = READY;
	t->state = WAITING;
	words_copy(s->words, words, HEADER_WORDS(header));
	enter(s->task, header | t->number, plain);
	return replied();
}

int64_t message_plain_call(uint64_t header, uint64_t *words)
{
	/* A kernel that checks itself looks at the result. */
	return CHECKING ? call(header, words, false) : call(header, words, true);
}

int64_t message_call(uint64_t header, uint64_t *words)
{
	return call(header, words, false);
}

uint64_t thread_reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs)
{
	current->serves->words = words;
	return (uint64_t)server_reply_and_wait(whom, result, outs);
}

/* NULL: it replies to nobody, or to one whom it has no call of. */
static inline struct task *caller_of(const struct server *s, uint64_t whom)
{
	struct task *t = whom < TASKS ? tasks[whom] : NULL;

	if (t && t->caller.server == s && t->caller.state == CLIENT_HELD)
		return t;
	return whom == REPLY_TO_CALL ? s->present : NULL;
}

int64_t server_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs)
{
	struct task *server = current;
	struct server *s = server->serves;
	struct task *t = caller_of(s, whom);
	struct caller *c;

	s->ticks = 0;
	if (BY_MAPPING && s->maps)
		window_lose(s);
	/* 1. It has a call to reply to. 2. Nothing else is to be done by it: so no signal for its clients waits here.
	 * 3. Nobody was notified. 4. Of a client's wait: it has no deadline, its time has not passed to another, and
	 * the server owes no other call a reply. */
	if (BY_QUEUE || !t || s->told_of_clients | s->notified | server->work | services_notified ||
	    !queue_is_empty(&s->callers))
		return queued_reply_and_wait(whom, result, outs);
	if (whom != REPLY_TO_CALL && (timer_places[whom] | (uint64_t)s->present || payer != t))
		return queued_reply_and_wait(whom, result, outs);
	/* committed */
	c = &t->caller;
	COUNT_FOR(server, server_traps, 1);
	COUNT_FOR(t, replies, 1);
	s->receives = IN_REGISTERS;
	server->state = WAITING;
	t->state = READY;
	c->waits = false;
	grants_end(c);
	c->state = CLIENT_NONE;
	if (c->is_plain && !(t->work | t->rare)) {
		t->user->rax = (uint64_t)result;
		return_to_program(server, t);
		return queued_came();
	}
	if (whom == REPLY_TO_CALL)
		s->present = NULL;
	words_copy(whom == REPLY_TO_CALL ? c->words : t->request.out, outs, HEADER_OUTS(c->header));
	c->result = result;
	return_to_caller(server, t);
	return queued_came();
}
