/* lives.c: calls 50 to 56 of kernel.idl: the state of servers that are processes, and what rs decides about them. */
#include "kernel_serve.h"
#include "servers.h"
#include "queue.h"

/* Many times as many as the largest program of a service has. */
#define PROGRAM_PAGES_MOST 512UL

static bool is_server_number(uint32_t number)
{
	const uint32_t last = SERVERS;

	return number - 1 < last;
}

/* Returns NULL if the server is no process. */
static struct server *process_numbered(uint32_t number)
{
	return PROCESSES && is_server_number(number) && is_process(number) ? &servers[number] : NULL;
}

int64_t kernel_server(uint32_t number, struct grant to)
{
	const struct server *s = process_numbered(number);
	struct server_numbers n;

	if (!s)
		return is_server_number(number) ? -EINVAL : -ESRCH;
	n = (struct server_numbers){ .life = s->lives.now,
				     .policy = s->rights->policy,
				     .starts = s->lives.starts,
				     .faults = s->lives.faults,
				     .beats = s->lives.beats,
				     .answers = s->lives.answers,
				     .pause = s->lives.pause,
				     .calls_waited = s->lives.calls_waited };
	memcpy(n.name, s->rights->name, MIN(strlen(s->rights->name), sizeof n.name - 1));
	return copy_out(to, 0, &n, sizeof n);
}

int64_t kernel_server_start(uint32_t number)
{
	struct server *s = process_numbered(number);

	if (!s || s->lives.now != SERVER_ENDED)
		return -EINVAL;
	if (!server_load(number))
		return -ENOMEM;
	task_start(s->task);
	return 0;
}

int64_t kernel_server_give_up(uint32_t number)
{
	struct server *s = process_numbered(number);

	if (!s || s->lives.now != SERVER_ENDED)
		return -EINVAL;
	server_lose(s);
	server_tell_above(s);
	return 0;
}

int64_t kernel_server_stop(uint32_t number)
{
	struct server *s = process_numbered(number);

	if (!s || s->lives.now != SERVER_RUNS)
		return -EINVAL;
	s->lives.is_stopped = true;
	s->task->work |= WORK_END;
	server_wake(number);
	return 0;
}

int64_t kernel_server_stuck(uint32_t endpoint)
{
	const struct server *s = PROCESSES && endpoint < ENDPOINTS ? endpoints[endpoint].server : NULL;

	if (IS_REFUSED(s && domains[PRESENT_DOMAIN].calls >> endpoint & 1))
		return -EPERM;
	if (!s || s->rights->policy != POLICY_START_AGAIN)
		return -EINVAL;
	log_line("%s answers, and gets nothing done", s->rights->name);
	return kernel_server_stop(s->domain);
}

int64_t kernel_server_ask(uint32_t number)
{
	struct server *s = HEARTBEATS ? process_numbered(number) : NULL;

	if (!s || s->lives.now != SERVER_RUNS)
		return -EINVAL;
	s->lives.beats++;
	server_notify((uint32_t)__builtin_ctzl(s->rights->endpoints), 1UL << NOTIFY_ASKED);
	return 0;
}

static void program_free(struct server *s)
{
	if (s->lives.image)
		pages_give((void *)(uintptr_t)s->lives.image, s->lives.image_pages);
	s->lives.image = NULL;
}

/* A server looks for news of its clients before it waits, and finds this then. */
int64_t kernel_server_replace(uint32_t number, struct grant image)
{
	struct server *s = process_numbered(number);
	size_t pages = pages_for(image.length);
	uint8_t *copy;

	if (!s || s->rights->policy != POLICY_START_AGAIN || s->lives.now == SERVER_LOST || image.length == 0 ||
	    image.length > PROGRAM_PAGES_MOST * PAGE)
		return -EINVAL;
	copy = pages_take(pages);
	if (!copy)
		return -ENOMEM;
	if (copy_in(copy, image, 0, image.length) != 0 || !process_is_program(number, copy, image.length)) {
		pages_give(copy, pages);
		return -EINVAL;
	}
	program_free(s);
	s->lives.image = copy;
	s->lives.image_pages = pages;
	if (s->lives.now == SERVER_RUNS) {
		s->lives.is_replaced = s->told_of_clients = true;
		server_wake(number);
	}
	return 0;
}
