/* traps.c: the requests of a server (message.h). The kernel knows who the server is; what it gives is checked here. */
#include "ipc.h"
#include "message.h"
#include "servers.h"
#include "switches.h"
#include "x86/machine.h"

/* Makes a call of the kernel for a process that has the right to it. Beside that only the grants can be wrong. */
static inline int64_t kernel_call(const struct server *s, uint16_t call, uint64_t *words)
{
	if (call >= KERNEL_CALLS || !(s->rights->kernel_calls >> call & 1))
		return -EPERM;
	if (kernel_calls_with_grants >> call & 1 && !grants_are_own(&endpoints[ENDPOINT_KERNEL].shapes[call], words))
		return -EFAULT;
	return kernel_calls_by_words[call](words);
}

/* Calls go down the order of services only. Every service that copies may ask vm for a page; vm's other calls are for
 * those that manage memory. */
static bool may_call(const struct domain *rights, uint64_t to, uint16_t call)
{
	if (to >= ENDPOINTS || !(rights->calls >> to & 1))
		return false;
	return to != ENDPOINT_VM || (call < 64 && rights->vm_calls >> call & 1);
}

int64_t domain_call(uint64_t header, uint64_t *words)
{
	const struct server *s = current->serves;
	uint32_t to = HEADER_ENDPOINT(header);
	uint16_t call = HEADER_CALL(header);
	const struct endpoint *e = &endpoints[to];
	int64_t result;

	if (!may_call(s->rights, to, call))
		return -EPERM;
	if (call >= e->count || e->shapes[call].kind != SHAPE_CALL)
		return -EINVAL;
	if (e->shapes[call].grants && is_process(s->domain) && !grants_are_own(&e->shapes[call], words))
		return -EINVAL;
	if (e->shapes[call].grants && e->server && !grants_give(current, e, call, words))
		return -EFAULT;
	header = HEADER(false, to, call, e->shapes[call].words, e->shapes[call].outs);
	if (e->server || !SERVICES_IN_KERNEL)
		return message_call(header, words);
	current->in_service = true;
	result = service_entered(header, words);
	current->in_service = false;
	return result;
}

#define LINE 256
/* How many lines a server may write to the log. */
#define LINES_MOST 1000

static int64_t say(uint64_t text, uint64_t length, bool last)
{
	struct server *s = current->serves;
	char line[LINE];

	length = MIN(length, sizeof line - 1);
	if (!server_get(line, text, length))
		return -EFAULT;
	line[length] = '\0';
	if (last && is_process(s->domain))
		server_end("%s", line);
	if (s->lines_written++ < LINES_MOST)
		log_line("%s", line);
	return 0;
}

/* A thread's pages are as those of a service in the kernel. */
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

	if (!server_get(&c, from, sizeof c))
		return -EFAULT;
	result = grants_copy(&c, !is_process(PRESENT_DOMAIN));
	if (result == -EAGAIN && !server_put(from, &c, sizeof c))
		return -EFAULT;
	return result;
}

/* Whether the endpoint is one of the present server's services. */
static bool is_presents(uint64_t endpoint)
{
	return endpoint < ENDPOINTS && current->serves->rights->endpoints >> endpoint & 1;
}

static int64_t alarm_asked(uint64_t endpoint, nanoseconds deadline)
{
	if (!is_presents(endpoint))
		return -EPERM;
	timer_set(TASKS + (uint32_t)endpoint, deadline);
	return 0;
}

static int64_t notify_asked(uint64_t endpoint, uint64_t bit)
{
	if (endpoint >= ENDPOINTS || !(current->serves->rights->notifies >> endpoint & 1))
		return -EPERM;
	if (bit >= NOTIFY_BITS)
		return -EINVAL;
	notify((uint32_t)endpoint, (unsigned)bit);
	return 0;
}

int64_t domain_trap(uint64_t number, uint64_t *a)
{
	switch (number) {
	case TRAP_NEXT:
		return server_next(a[0], a[1]);
	case TRAP_REPLY:
		return server_reply(a[0]);
	case TRAP_ANSWER:
		return client_answer(a[0], a[1]);
	case TRAP_PARKED:
		return client_parked(a[0], a[1], a[2]);
	case TRAP_GAVE_WAY:
		return client_gave_way(a[0], a[1]);
	case TRAP_COPY:
		return copy_asked(a[0]);
	case TRAP_GRANT_CALLER:
		return (int64_t)grant_of_client((uint32_t)MIN(a[0], TASKS), a[1], a[2]);
	case TRAP_BEGIN:
		return server_ready(current->serves, a[0]);
	case TRAP_KEEP:
		if (!is_presents(a[0]))
			return -EPERM;
		keep((uint32_t)a[0], a[1]);
		return 0;
	case TRAP_KEPT:
		return is_presents(a[0]) ? (int64_t)kept((uint32_t)a[0]) : 0;
	case TRAP_ALIVE:
		current->serves->lives.answers++;
		return 0;
	case TRAP_NOTIFY:
		return notify_asked(a[0], a[1]);
	case TRAP_ALARM:
		return alarm_asked(a[0], a[1]);
	case TRAP_NOW:
		return (int64_t)now();
	case TRAP_PAGES_TAKE:
		return is_process(PRESENT_DOMAIN) ? process_pages_take(a[0]) : (int64_t)pages_take(a[0]);
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

int64_t process_trap(uint64_t number, uint64_t *a)
{
	struct task *t = current;
	int64_t result;

	COUNT_FOR(t, server_traps, 1);
	if (BY_MAPPING)
		server_stops();
	if ((uint16_t)number == TRAP_SEND && HEADER_ENDPOINT(number) == ENDPOINT_KERNEL)
		result = kernel_call(t->serves, HEADER_CALL(number), a);
	else if ((uint16_t)number == TRAP_SEND)
		result = domain_call(number, a);
	else
		result = domain_trap(number, a);
	if (services_notified | t->work)
		task_work();
	return result;
}
