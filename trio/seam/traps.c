/* traps.c: what a server asks of the kernel (message.h): who it is has been checked, what it gives is checked here. */
#include "servers.h"
#include "kernel_calls.h"
#include "x86/machine.h"

static const struct shape *shape_of(uint64_t endpoint, const struct message *m)
{
	const struct endpoint *e = &endpoints[endpoint];

	return m->call < e->count && e->shapes[m->call].kind == SHAPE_CALL ? &e->shapes[m->call] : NULL;
}

/* Down the order alone, to whom it may. */
static int64_t forward(uint64_t to, uint64_t message)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];
	const struct shape *shape;
	struct message m;

	if (to >= ENDPOINTS || !(d->calls >> to & 1))
		return -EPERM;
	if (!server_get(&m, message, sizeof m))
		return -EFAULT;
	/* All who copy may ask vm for a page; what else it does is for those who manage memory. */
	if (to == ENDPOINT_VM && (m.call >= 64 || !(d->vm_calls >> m.call & 1)))
		return -EPERM;
	shape = shape_of(to, &m);
	if (!shape || (is_process(PRESENT_DOMAIN) && !grants_are_own(shape, &m)))
		return -EINVAL;
	if (endpoints[to].domain) {
		message_call((uint32_t)to, &m);
	} else if (SERVICES_IN_KERNEL) {
		current->in_service = true;
		service_entered((uint32_t)to, &m);
		current->in_service = false;
	}
	return server_put(message, &m, sizeof m) ? 0 : -EFAULT;
}

DISPATCHER(kernel);

static int64_t kernel_call(uint64_t message)
{
	struct message m;

	if (!server_get(&m, message, sizeof m))
		return -EFAULT;
	if (m.call >= 64 || !(domains[PRESENT_DOMAIN].kernel_calls >> m.call & 1))
		return -EPERM;
	if (!grants_are_own(shape_of(ENDPOINT_KERNEL, &m), &m))
		return -EFAULT;
	serve_kernel_call(&kernel_service, &m);
	return server_put(message, &m, sizeof m) ? 0 : -EFAULT;
}

#define LINE 256
/* Of one server in the log. */
#define LINES_MOST 1000

static int64_t say(uint64_t text, uint64_t length, bool last)
{
	struct server *s = &servers[PRESENT_DOMAIN];
	char line[LINE];

	length = MIN(length, sizeof line - 1);
	if (!server_get(line, text, length))
		return -EFAULT;
	line[length] = '\0';
	if (last && is_process(PRESENT_DOMAIN))
		server_end("%s", line);
	if (s->lines_written++ < LINES_MOST)
		log_line("%s", line);
	return 0;
}

/* A thread's are as a service's in the kernel. */
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

static int64_t alarm_asked(uint64_t endpoint, nanoseconds deadline)
{
	if (endpoint >= ENDPOINTS || !(domains[PRESENT_DOMAIN].endpoints >> endpoint & 1))
		return -EPERM;
	timer_set(TASKS + (uint32_t)endpoint, deadline);
	return 0;
}

static int64_t notify_asked(uint64_t endpoint, uint64_t bit)
{
	if (endpoint >= ENDPOINTS || !(domains[PRESENT_DOMAIN].notifies >> endpoint & 1))
		return -EPERM;
	if (bit >= NOTIFY_CANCEL)
		return -EINVAL;
	notify((uint32_t)endpoint, (unsigned)bit);
	return 0;
}

int64_t domain_trap(uint64_t number, const uint64_t *a)
{
	COUNT(server_traps, 1);
	switch (number) {
	case TRAP_CALL:
		return forward(a[0], a[1]);
	case TRAP_KERNEL:
		return kernel_call(a[0]);
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
		servers[PRESENT_DOMAIN].counters_at = a[0];
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
