/* micro.c: the kernel's side of the structure "micro": services are processes; a call is a message copied through the
 * kernel between two address spaces. micro_user.c is the processes' side. */
#include "structure.h"
#include "core/kernel_calls.h"
#include "core/memory.h"
#include "queue.h"
#include "x86/paging.h"
#include "elf.h"
#include "messages.h"
#include "vm.h"
#include "x86/entry.h"
#include "x86/machine.h"
#include "x86/processor.h"

#define READ_WRITE 3
#define LINE 256

struct caller {
	struct link link;
	struct task *task;
	struct message *m;
	/* NULL: a service's or the kernel's call. */
	struct request *request;
	bool done;
};

/* `calls`: callers whose calls it has received, by the number that it replies to. */
struct server {
	struct task *task;
	struct queue callers;
	struct caller *calls[ENDPOINTS + TASKS];
	uint64_t bits;
	bool receiving;
};

struct cancellation {
	struct link link;
	uint32_t task;
	bool forget;
};

static struct server servers[ENDPOINTS];
static struct caller *clients[TASKS];
/* By task: the service that has its request, 0: none; and that it is to give it up. */
static uint32_t client_server[TASKS];
static bool cancelled[TASKS], forgotten[TASKS];
uint64_t services_notified;

extern const uint8_t *const service_images[ENDPOINTS];
extern const char *const service_names[ENDPOINTS];
extern const struct kernel_service kernel_service;
DISPATCHER(kernel);

static void wake_server(uint32_t endpoint)
{
	if (servers[endpoint].receiving) {
		servers[endpoint].receiving = false;
		services_notified |= 1UL << endpoint;
	}
}

void notify(uint32_t endpoint, unsigned bit)
{
	servers[endpoint].bits |= 1UL << bit;
	wake_server(endpoint);
}

void deliver_notifications(void)
{
	while (services_notified) {
		uint32_t endpoint = 63U - (uint32_t)__builtin_clzl(services_notified);

		services_notified &= ~(1UL << endpoint);
		task_start(servers[endpoint].task);
		current->work |= WORK_YIELD;
	}
}

/* Copies --------------------------------------------------------------------------------------------------------------- */

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

/* Between `own`, which is the kernel's or the present space's, and a grant. `own` NULL: zeros go out. */
static long copy(struct grant g, uint64_t offset, char *own, size_t n, bool out)
{
	uint32_t owner = (uint32_t)(g.id >> OWNER_SHIFT & (OWNERS - 1));
	uint64_t begin = g.id & ((1UL << OWNER_SHIFT) - 1);

	if (offset > g.length || n > g.length - offset || (owner < TASKS && !tasks[owner]))
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
		else if (user_copy(out ? there : own, out ? own : there, room) != 0)
			return -EFAULT;
		own = own ? own + room : NULL;
		offset += room;
		n -= room;
	}
	return 0;
}

static bool is_own(struct grant g)
{
	return g.id >= DIRECT_MAP;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	COUNT(bytes_in, n);
	if (!is_own(from))
		return copy(from, offset, to, n, false);
	memcpy(to, (const void *)(from.id + offset), n);
	return 0;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	COUNT(bytes_out, n);
	if (!is_own(to))
		return copy(to, offset, (char *)from, n, true);
	memcpy((void *)(to.id + offset), from, n);
	return 0;
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	return copy(to, offset, NULL, n, true);
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

/* Messages ------------------------------------------------------------------------------------------------------------- */

static void call(uint32_t endpoint, struct caller *c)
{
	struct server *s = &servers[endpoint];

	COUNT(messages, 1);
	queue_add(&s->callers, &c->link);
	current->state = WAITING;
	if (s->receiving) {
		s->receiving = false;
		s->task->state = READY;
		task_run(s->task);
	}
	while (!c->done)
		schedule();
}

void message_call(uint32_t endpoint, struct message *m)
{
	struct caller c = { .task = current, .m = m };

	call(endpoint, &c);
}

void message_client_call(uint32_t endpoint, struct request *r, struct message *m)
{
	struct caller c = { .task = current, .m = m, .request = r };

	clients[current->number] = &c;
	call(endpoint, &c);
	clients[current->number] = NULL;
}

static void done(struct caller *c)
{
	COUNT(messages, 1);
	c->done = true;
	task_start(c->task);
}

/* A service's traps ---------------------------------------------------------------------------------------------------- */

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
	s->calls[in->who] = c;
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
	struct server *s = &servers[current->number - TASKS];
	struct caller *c = who < COUNT_OF(s->calls) ? s->calls[who] : NULL;

	if (!c || c->request || user_copy(c->m, (const void *)message, sizeof *c->m) != 0)
		return -EINVAL;
	s->calls[who] = NULL;
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

uint64_t service_address(uint32_t endpoint, uint64_t frame)
{
	if (space_map(TASKS + endpoint, SERVICE_WINDOW + frame, frame, 1, READ_WRITE) < 0)
		return 0;
	return SERVICE_WINDOW + frame;
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
	for (uint64_t i = 0; i < count; i++)
		frame_drop(address - SERVICE_WINDOW + i * PAGE);
	return space_unmap(current->number, address, count);
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

/* A service's process -------------------------------------------------------------------------------------------------- */

/* One segment of a service's program: pages of its own with what the file has. */
static void load_segment(uint32_t space, const uint8_t *image, const struct elf_segment *segment)
{
	uint64_t end = segment->address + segment->memory_bytes;
	uint32_t protection =
		(segment->flags & 4 ? 1 : 0) | (segment->flags & 2 ? 2 : 0) | (segment->flags & 1 ? 4 : 0);

	for (uint64_t at = segment->address & ~(PAGE - 1); at < end; at += PAGE) {
		uint64_t frame = frame_take();
		uint64_t from = MAX(at, segment->address), to = MIN(at + PAGE, segment->address + segment->file_bytes);

		if (!frame || space_map(space, at, frame, 1, protection) < 0)
			panic("no memory for a service");
		if (from < to)
			memcpy((char *)physical(frame) + (from - at),
			       image + segment->offset + (from - segment->address), to - from);
		frame_drop(frame);
	}
}

static struct task *load_service(uint32_t endpoint)
{
	const uint8_t *image = service_images[endpoint];
	const struct elf_header *head = (const struct elf_header *)image;
	const struct elf_segment *segments = (const struct elf_segment *)(image + head->segments_at);
	uint32_t number = TASKS + endpoint;
	struct task *t = task_create_server(number, service_names[endpoint], NULL);

	if (space_create(number) != 0)
		panic("no memory for a service");
	for (unsigned i = 0; i < head->segment_count; i++)
		if (segments[i].type == ELF_LOAD)
			load_segment(number, image, &segments[i]);
	for (unsigned i = 1; i <= SERVICE_STACK_PAGES; i++)
		if (space_zero(number, SERVICE_STACK_TOP - i * PAGE, READ_WRITE) < 0)
			panic("no memory for a service");
	t->root = space_root(number);
	t->space = number;
	task_exec(t, head->entry, SERVICE_STACK_TOP - 8);
	t->user->rdi = endpoint;
	return t;
}

void services_begin(void)
{
	for (uint32_t endpoint = ENDPOINTS - 1; endpoint > 0; endpoint--) {
		servers[endpoint].task = load_service(endpoint);
		task_start(servers[endpoint].task);
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
