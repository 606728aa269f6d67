/* ends.c: the end of a server that is a process, after a fault or its own panic. Whoever waits for it gets EIO, and so
 * does whoever calls it later; what it had of the machine is given back. */
#include "servers.h"
#include "core/frames.h"
#include "queue.h"
#include "text.h"
#include "x86/machine.h"

#define LINE 160

static void fail(struct task *t)
{
	if (is_client(&t->caller))
		client_end(t);
	call_done(t, -EIO);
}

static void callers_fail(struct server *s)
{
	if (s->present)
		fail(s->present);
	s->present = NULL;
	while (!queue_is_empty(&s->callers)) {
		struct task *t = first_caller(s);

		list_remove(&t->caller.link);
		fail(t);
	}
	for (uint32_t task = 0; task < TASKS; task++)
		if (tasks[task] && tasks[task]->caller.state != CLIENT_NONE && tasks[task]->caller.server == s)
			fail(tasks[task]);
}

_Noreturn void server_end(const char *format, ...)
{
	uint32_t domain = PRESENT_DOMAIN;
	struct server *s = &servers[domain];
	char line[LINE];
	struct text t = { line, sizeof line, 0 };
	va_list list;

	va_start(list, format);
	text_add_list(&t, format, list);
	va_end(list);
	/* A thread is part of the kernel. */
	if (!is_process(domain))
		panic("%s: %s", domains[domain].name, line);
	log_line("%s ends: %s", domains[domain].name, line);
	s->dead = true;
	callers_fail(s);
	for (uint32_t endpoint = 1; endpoint < ENDPOINTS; endpoint++) {
		if (process_is(endpoint)) {
			timer_clear(TASKS + endpoint);
			interrupts_release(endpoint);
		} else if (domains[domain].notifies >> endpoint & 1) {
			for (unsigned bit = 0; bit < NOTIFY_CANCEL; bit++)
				notify(endpoint, bit);
		}
	}
	grants_revoke(domain, UINT32_MAX);
	process_free(domain);
	current->state = WAITING;
	schedule();
	panic("%s runs after its end", domains[domain].name);
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
