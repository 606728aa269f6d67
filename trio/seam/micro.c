/* micro.c: the kernel's side of the structure "micro": services are processes; a call is a message copied through the
 * kernel between two address spaces. micro_user.c is the processes' side,
 * micro_load.c makes them. */
#include "structure.h"
#include "kernel_calls.h"
#include "copies.h"
#include "queue.h"
#include "rendezvous.h"
#include "x86/paging.h"
#include "vm.h"
#include "x86/machine.h"
#include "x86/processor.h"

#define READ_WRITE 3
#define LINE 256

/* Callers whose calls a service has received, by the number that it replies to. */
static struct caller *received[ENDPOINTS][ENDPOINTS + TASKS];
/* By task: the service that has its request, 0: none; and that it is to give it up. */
static uint32_t client_server[TASKS];
static bool cancelled[TASKS], forgotten[TASKS];

DISPATCHER(kernel);

/* Copies ---------------------------------------------------------------------------------------------------------- */

/* Where the byte at `address` of an owner's space is in the direct map, and how many follow in its page. NULL: nowhere,
 * or not to be written. */
static char *find(uint32_t owner, uint64_t address, bool write, size_t *room)
{
	uint32_t space = owner < TASKS ? tasks[owner]->space : owner;
	uint64_t frame;
	uint32_t protection;

	*room = PAGE - address % PAGE;
	for (unsigned tries = 0; tries < 3; tries++) {
		if (space_find(space, address & ~(PAGE - 1), &frame, &protection) == 0 && (!write || protection & 2))
			return (char *)physical(frame) + address % PAGE;
		if (owner >= TASKS || vm_fault(owner, address, write ? 6 : 4) != 0)
			break;
	}
	return NULL;
}

/* A task that there is, or a service, which has no iovec: the grant's number is what a service says. */
static bool may_own(struct grant g, uint32_t owner)
{
	return owner < TASKS ? tasks[owner] != NULL : owner > TASKS && owner < TASKS + ENDPOINTS && !is_vector(g.id);
}

/* Between `own`, which is the kernel's or the present space's, and a grant. `own` 0: zeros go out. */
static long copy(struct grant g, uint64_t offset, uint64_t own, size_t n, bool out)
{
	uint32_t owner = (uint32_t)(g.id >> OWNER_SHIFT & (OWNERS - 1));
	uint64_t begin = g.id & ((1UL << OWNER_SHIFT) - 1);

	if (is_beyond(g, offset, n) || !may_own(g, owner))
		return -EFAULT;
	while (n > 0) {
		struct piece piece = { begin + offset, n };
		size_t room;
		char *there;

		if (is_vector(g.id))
			piece = vector_piece(&tasks[owner]->vector, VECTOR_BIT | begin, offset);
		there = piece.length && piece.address < USER_END ? find(owner, piece.address, out, &room) : NULL;
		if (!there)
			return -EFAULT;
		room = MIN(MIN(room, piece.length), n);
		if (!own)
			memset(there, 0, room);
		else if (user_copy(out ? there : (void *)own, out ? (const void *)own : there, room) != 0)
			return -EFAULT;
		own = own ? own + room : 0;
		offset += room;
		n -= room;
	}
	return 0;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	COUNT(bytes_in, n);
	if (!is_own(from))
		return copy(from, offset, (uint64_t)to, n, false);
	memcpy(to, (const void *)(from.id + offset), n);
	return 0;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	COUNT(bytes_out, n);
	if (!is_own(to))
		return copy(to, offset, (uint64_t)from, n, true);
	memcpy((void *)(to.id + offset), from, n);
	return 0;
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	return copy(to, offset, 0, n, true);
}

long copy_string(char *to, size_t size, struct grant from)
{
	for (size_t i = 0; i < size; i++) {
		char c;

		if (copy_in(&c, from, i, 1) != 0 || user_copy(to + i, &c, 1) != 0)
			return -EFAULT;
		if (!c)
			return (long)i;
	}
	return -ENAMETOOLONG;
}

/* A service's traps ----------------------------------------------------------------------------------------------- */

static void done(struct caller *c)
{
	COUNT(messages, 1);
	c->done = true;
	task_start(c->task);
}

static bool take_cancellation(uint32_t endpoint, struct incoming *in)
{
	for (uint32_t i = 0; i < TASKS; i++) {
		if (!cancelled[i] || client_server[i] != endpoint)
			continue;
		cancelled[i] = false;
		*in = (struct incoming){ .kind = INCOMING_CANCEL, .who = i, .forget = forgotten[i] };
		forgotten[i] = false;
		return true;
	}
	return false;
}

static void take_caller(struct server *s, uint32_t endpoint, struct incoming *in)
{
	struct caller *c = CONTAINER(s->callers.head.next, struct caller, link);

	queue_remove(&c->link);
	in->m = *c->m;
	in->who = c->task->number;
	in->kind = c->request ? INCOMING_CLIENT : INCOMING_CALL;
	received[endpoint][in->who] = c;
	if (c->request)
		client_server[in->who] = endpoint;
}

static int64_t receive(uint64_t to)
{
	uint32_t endpoint = current->number - TASKS;
	struct server *s = &servers[endpoint];
	struct incoming in = { 0 };

	while (!s->bits && queue_is_empty(&s->callers)) {
		s->receiving = true;
		current->state = WAITING;
		schedule();
	}
	if (s->bits & 1UL << NOTIFY_CANCEL && take_cancellation(endpoint, &in)) {
		return user_copy((void *)to, &in, sizeof in);
	}
	s->bits &= ~(1UL << NOTIFY_CANCEL);
	if (s->bits) {
		in.kind = INCOMING_NOTIFIED;
		in.bits = s->bits;
		s->bits = 0;
	} else if (!queue_is_empty(&s->callers)) {
		take_caller(s, endpoint, &in);
	} else {
		in.kind = INCOMING_NOTIFIED;
	}
	return user_copy((void *)to, &in, sizeof in);
}

static int64_t reply(uint64_t who, uint64_t message)
{
	struct caller **calls = received[current->number - TASKS];
	struct caller *c = who < COUNT_OF(received[0]) ? calls[who] : NULL;

	if (!c || c->request || user_copy(c->m, (const void *)message, sizeof *c->m) != 0)
		return -EINVAL;
	calls[who] = NULL;
	done(c);
	return 0;
}

static int64_t answer_client(uint64_t who, uint64_t from)
{
	struct client_answer a;

	if (who >= TASKS || client_server[who] != current->number - TASKS ||
	    user_copy(&a, (const void *)from, sizeof a))
		return -EINVAL;
	client_server[who] = 0;
	cancelled[who] = false;
	clients[who]->request->result = a.result;
	memcpy(clients[who]->request->out, a.out, sizeof a.out);
	done(clients[who]);
	return 0;
}

static int64_t forward(uint64_t to, uint64_t message)
{
	struct message m;

	/* Down the order alone. */
	if (to >= ENDPOINTS || to <= current->number - TASKS || user_copy(&m, (const void *)message, sizeof m) != 0)
		return -EINVAL;
	message_call((uint32_t)to, &m);
	return user_copy((void *)message, &m, sizeof m);
}

static int64_t kernel_call(uint64_t message)
{
	struct message m;

	if (user_copy(&m, (const void *)message, sizeof m) != 0)
		return -EFAULT;
	serve_kernel_call(&kernel_service, &m);
	return user_copy((void *)message, &m, sizeof m);
}

/* Tables that are not there on the way to an address of a service's. */
static int64_t tables_lacking(uint32_t space, uint64_t address)
{
	const uint64_t *table = physical(space_root(space));

	for (int level = 3; level > 0; level--) {
		uint64_t entry = table[ENTRY_OF(address, level)];

		if (entry == 0)
			return level;
		table = table_below(entry);
	}
	return 0;
}

/* Services' own tables are promised as they come, and given back as they go. */
bool service_map(uint32_t space, uint64_t address, uint64_t frame, uint32_t protection)
{
	if (frames_promise(tables_lacking(space, address)) != 0)
		return false;
	(void)space_map(space, address, frame, 1, protection);
	return true;
}

uint64_t service_address(uint32_t endpoint, uint64_t frame)
{
	return service_map(TASKS + endpoint, SERVICE_WINDOW + frame, frame, READ_WRITE) ? SERVICE_WINDOW + frame : 0;
}

static int64_t take_pages(uint64_t count)
{
	uint32_t endpoint = current->number - TASKS;
	uint64_t frame = count == 1 ? frame_take() : frames_take(count);

	for (uint64_t i = 0; frame && i < count; i++)
		if (!service_address(endpoint, frame + i * PAGE))
			return 0;
	return frame ? (int64_t)(SERVICE_WINDOW + frame) : 0;
}

static int64_t give_pages(uint64_t address, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = address + i * PAGE;

		/* First: the last hold of an ordinary frame is not for spaces.c to drop. */
		(void)space_unmap(current->number, at, 1);
		(void)frames_promise(-tables_lacking(current->number, at));
		frame_drop(at - SERVICE_WINDOW);
	}
	return (int64_t)count;
}

static int64_t say(uint64_t text, uint64_t length, bool last)
{
	char line[LINE];

	length = MIN(length, sizeof line - 1);
	if (user_copy(line, (const void *)text, length) != 0)
		return -EFAULT;
	line[length] = '\0';
	if (last)
		panic("%s: %s", current->name, line);
	log_line("%s", line);
	return 0;
}

bool is_service_trap(uint64_t number)
{
	return current->number > TASKS && number >= MICRO_CALL;
}

int64_t service_trap(uint64_t number, const uint64_t *a)
{
	switch (number) {
	case MICRO_CALL:
		return forward(a[0], a[1]);
	case MICRO_RECEIVE:
		return receive(a[0]);
	case MICRO_REPLY:
		return reply(a[0], a[1]);
	case MICRO_ANSWER:
		return answer_client(a[0], a[1]);
	case MICRO_KERNEL:
		return kernel_call(a[0]);
	case MICRO_COPY_IN:
		return copy_in((void *)a[0], (struct grant){ a[1], a[2] }, a[3], a[4]);
	case MICRO_COPY_OUT:
		return copy_out((struct grant){ a[1], a[2] }, a[3], (const void *)a[0], a[4]);
	case MICRO_COPY_ZEROS:
		return copy_zeros((struct grant){ a[1], a[2] }, a[3], a[4]);
	case MICRO_COPY_STRING:
		return copy_string((char *)a[0], a[1], (struct grant){ a[2], a[3] });
	case MICRO_NOTIFY:
		if (a[0] >= ENDPOINTS || a[1] >= NOTIFY_CANCEL)
			return -EINVAL;
		notify((uint32_t)a[0], (unsigned)a[1]);
		return 0;
	case MICRO_ALARM:
		timer_set(current->number, a[0]);
		return 0;
	case MICRO_NOW:
		return (int64_t)clock_now();
	case MICRO_PAGES_TAKE:
		return take_pages(a[0]);
	case MICRO_PAGES_GIVE:
		return give_pages(a[0], a[1]);
	case MICRO_LOG:
		return say(a[0], a[1], false);
	case MICRO_PANIC:
		return say(a[0], a[1], true);
	default:
		return -ENOSYS;
	}
}

static void cancel(struct task *t, bool forget)
{
	if (!client_server[t->number])
		return;
	cancelled[t->number] = true;
	forgotten[t->number] = forget;
	notify(client_server[t->number], NOTIFY_CANCEL);
}

void request_interrupt(struct task *t)
{
	cancel(t, false);
}

void request_forget(struct task *t)
{
	cancel(t, true);
}

void deadline_passed(uint32_t who)
{
	notify(who - TASKS, NOTIFY_ALARM);
}

uint32_t copy_owner(void)
{
	panic("a service's own memory is not there");
}
