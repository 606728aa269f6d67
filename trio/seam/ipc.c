/* ipc.c: messages that wait for nothing. A caller's words go in registers to a server that waits for a message, and the
 * processor goes with them; the server's reply brings the processor back and is its wait for the next message. Neither
 * the ready queue nor the clock is read: the processor's time stays on the caller's account (task_account). Numbered
 * guards (docs/trio-design.md says what each refuses) send whatever is in the way to queued.c, which does all of it.
 * Nothing fails after "committed". */
#include "core/checked.h"
#include "core/task.h"
#include "message.h"
#include "queue.h"
#include "servers.h"
#include "switches.h"
#include "x86/switch.h"

/* Whether a server's task is a process. */
#define IS_PROCESS(server) (PROCESSES && (!THREADS || (server)->user))

/* Switches to a server's process that waits for a message: it does not go on with what it was doing in the kernel. */
static inline void enter_process(struct task *server, bool from_program)
{
	struct task *from = current;

	processor_to_server(from, from_program || from->number < TASKS, server);
	current = server;
	if (from_program) {
		uint64_t *sp = &from->kernel_sp, nothing;
		struct registers *to = server->user;

		CALL_BY_JUMP(task_leave_for_process, sp, to, "=a"(nothing));
	} else {
		task_leave_for_process(&from->kernel_sp, server->user);
	}
}

/* Switches from a server to a program whose system call is over: behind entry_system_call's call. */
static inline void return_to_program(struct task *server, struct task *program, int64_t result)
{
	uint64_t *from = &server->kernel_sp, to = (uint64_t)((uint64_t *)program->user - 1);

	if (IS_PROCESS(server))
		processor_to_program(program);
	else
		processor_switch(server, program);
	current = program;
	CALL_BY_JUMP(task_leave_for_program, from, to, "+a"(result));
}

/* Switches from a server to its caller, which waits in the kernel. */
static inline void return_to_caller(struct task *server, struct task *caller)
{
	uint64_t *from = &server->kernel_sp, to = caller->kernel_sp, nothing;

	if (IS_PROCESS(server) && caller->user && !caller->rare) {
		processor_to_program(caller);
		current = caller;
		CALL_BY_JUMP(task_switch_stacks, from, to, "=a"(nothing));
	} else {
		task_enter(caller);
	}
}

/* Gives a message to a server that waits for one; the caller, which is the present task, waits here. */
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

/* The present task waited for a reply and runs again. Returns the call's result. */
static int64_t replied(void)
{
	struct caller *c = &current->caller;

	if (task_ended)
		task_switched();
	return c->waits ? queued_wait(c) : c->result;
}

/* A call, whose grants have been given (grants_give). */
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
	/* call 1: the server waits for a message in registers, so it has nothing else to do and has not ended.
	 * call 2: nobody was notified, who would run before it. */
	if (s->receives != IN_REGISTERS || services_notified)
		return queued_call(c);
	/* call 3: the words fit into registers. call 4: the caller has not been ended. A plain call passes both. */
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

int64_t message_plain_sent(uint64_t header, uint64_t *words)
{
	/* A kernel that checks itself reads the result. */
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

/* The task whose call a server replies to; NULL: to nobody, or to a task of which it has no call. */
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
	/* reply 1: the server has a call to reply to. reply 2: it has nothing else to do, and no client of its has a
	 * signal. reply 3: nobody was notified. */
	if (BY_QUEUE || !t || s->told_of_clients | s->notified | server->work | services_notified ||
	    !queue_is_empty(&s->callers))
		return queued_reply_and_wait(whom, result, outs);
	/* Of a program's call, reply 4: its wait has no deadline. reply 5: the server owes no other call a reply.
	 * reply 6: the processor's time is still on the program's account. */
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
		return_to_program(server, t, result);
		return queued_came();
	}
	if (whom == REPLY_TO_CALL)
		s->present = NULL;
	words_copy(whom == REPLY_TO_CALL ? c->words : t->request.out, outs, HEADER_OUTS(c->header));
	c->result = result;
	return_to_caller(server, t);
	return queued_came();
}
