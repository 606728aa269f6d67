/* micro_user.c: a service's side of the structure "micro", linked into each service's program: its loop, its
 * requests, and traps for what it cannot do itself. In port.h's order. */
#include "micro.h"
#include "queue.h"
#include "text.h"

/* A request that is parked, or being handled, and the arguments that its handler gets again. */
struct parked {
	struct request request;
	uint64_t words[MESSAGE_WORDS];
	nanoseconds deadline;
	bool is_parked, is_timed;
};

/* Generated: which service this is. */
extern const struct dispatcher this_service;

static struct parked requests[TASKS];
static struct queue again;
static uint32_t self;
/* The service's own alarm, and how many requests have a deadline. */
static nanoseconds own_alarm = NEVER;
static uint32_t timed;

_Noreturn void service_main(uint32_t endpoint);
uint64_t __stack_chk_guard = 0x7a6b5c4d3e2f1000;
_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void)
{
	panic("a stack was overwritten");
}

static int64_t ask_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

verdict park(struct queue *queue, struct request *r)
{
	struct parked *p = CONTAINER(r, struct parked, request);

	r->ends = BY_A_SIGNAL;
	p->is_parked = true;
	queue_add(queue, &r->link);
	return PARKED;
}

/* One alarm of the kernel's for all: the service's own and the first deadline. */
static void set_alarm(void)
{
	nanoseconds first = own_alarm;

	for (uint32_t i = 0; timed && i < TASKS; i++)
		if (requests[i].is_timed)
			first = MIN(first, requests[i].deadline);
	ask_kernel(MICRO_ALARM, first, 0, 0, 0, 0);
}

verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline)
{
	struct parked *p = CONTAINER(r, struct parked, request);

	if (deadline != NEVER && !p->is_timed) {
		p->is_timed = true;
		timed++;
		p->deadline = deadline;
		set_alarm();
	}
	return park(queue, r);
}

static void untime(struct parked *p)
{
	if (!p->is_timed)
		return;
	p->is_timed = false;
	timed--;
}

void unpark_request(struct request *r)
{
	struct parked *p = CONTAINER(r, struct parked, request);

	queue_remove(&r->link);
	untime(p);
	p->is_parked = false;
	queue_add(&again, &r->link);
}

verdict give_way(struct request *r, enum ends ends)
{
	r->again = true;
	r->ends = (uint8_t)ends;
	queue_add(&again, &r->link);
	return PARKED;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	return (long)ask_kernel(MICRO_COPY_IN, (uint64_t)to, from.id, from.length, offset, n);
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	return (long)ask_kernel(MICRO_COPY_OUT, (uint64_t)from, to.id, to.length, offset, n);
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	return (long)ask_kernel(MICRO_COPY_ZEROS, 0, to.id, to.length, offset, n);
}

long copy_string(char *to, size_t size, struct grant from)
{
	return (long)ask_kernel(MICRO_COPY_STRING, (uint64_t)to, size, from.id, from.length, 0);
}

static struct grant own_grant(uint64_t address, size_t length)
{
	return (struct grant){ (uint64_t)(TASKS + self) << OWNER_SHIFT | address, length };
}

struct grant grant_read(const void *own, size_t length)
{
	return own_grant((uint64_t)own, length);
}

struct grant grant_write(void *own, size_t length)
{
	return own_grant((uint64_t)own, length);
}

struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length)
{
	return (struct grant){ (uint64_t)task << OWNER_SHIFT | (address & ((1UL << OWNER_SHIFT) - 1)), length };
}

struct grant grant_part(struct grant whole, uint64_t offset, uint64_t length)
{
	uint64_t rest = offset < whole.length ? whole.length - offset : 0;

	return (struct grant){ whole.id + offset, MIN(length, rest) };
}

void notify(uint32_t endpoint, unsigned bit)
{
	ask_kernel(MICRO_NOTIFY, endpoint, bit, 0, 0, 0);
}

nanoseconds now(void)
{
	return (nanoseconds)ask_kernel(MICRO_NOW, 0, 0, 0, 0, 0);
}

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	(void)endpoint;
	own_alarm = deadline;
	set_alarm();
}

void *pages_take(size_t count)
{
	return (void *)ask_kernel(MICRO_PAGES_TAKE, count, 0, 0, 0, 0);
}

void pages_give(void *pages, size_t count)
{
	ask_kernel(MICRO_PAGES_GIVE, (uint64_t)pages, count, 0, 0, 0);
}

static void say(uint64_t number, const char *format, va_list list)
{
	char line[256];
	struct text t = { line, sizeof line, 0 };

	text_add_list(&t, format, list);
	ask_kernel(number, (uint64_t)line, t.length, 0, 0, 0);
}

void log_line(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(MICRO_LOG, format, list);
	va_end(list);
}

_Noreturn void panic(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	for (;;)
		say(MICRO_PANIC, format, list);
}

void message_call(uint32_t endpoint, struct message *m)
{
	if (endpoint == ENDPOINT_KERNEL)
		ask_kernel(MICRO_KERNEL, (uint64_t)m, 0, 0, 0, 0);
	else if (ask_kernel(MICRO_CALL, endpoint, (uint64_t)m, 0, 0, 0) != 0)
		panic("a call against the order of services");
}

static void answer_request(struct request *r)
{
	struct client_answer a = { .result = r->result };

	memcpy(a.out, r->out, sizeof a.out);
	ask_kernel(MICRO_ANSWER, r->task, (uint64_t)&a, 0, 0, 0);
}

static void handle(struct parked *p)
{
	if (this_service.client(this_service.table, &p->request, p->words) == ANSWERED)
		answer_request(&p->request);
}

static void begin_request(const struct incoming *in)
{
	struct parked *p = &requests[in->who];

	*p = (struct parked){ .request = { .task = in->who, .call = in->m.call } };
	memcpy(p->words, in->m.words, sizeof p->words);
	handle(p);
}

static void cancel(uint32_t task, bool forget)
{
	struct parked *p = &requests[task];

	if (!p->is_parked || (p->request.ends != BY_A_SIGNAL && !forget))
		return;
	queue_remove(&p->request.link);
	untime(p);
	p->is_parked = false;
	p->request.result = p->request.done ? (int64_t)p->request.done : -EINTR;
	if (!forget)
		answer_request(&p->request);
}

/* Those whose deadline has passed run again; the rest of the notification is the service's own. */
static void alarm(uint64_t *bits)
{
	nanoseconds at = now();

	for (uint32_t i = 0; timed && i < TASKS; i++)
		if (requests[i].is_timed && requests[i].deadline <= at) {
			requests[i].request.late = true;
			unpark_request(&requests[i].request);
		}
	if (own_alarm > at)
		*bits &= ~(1UL << NOTIFY_ALARM);
	else
		own_alarm = NEVER;
	set_alarm();
}

static void notified(uint64_t bits)
{
	if (bits & 1UL << NOTIFY_ALARM)
		alarm(&bits);
	if (bits)
		this_service.notified(this_service.table, bits);
}

_Noreturn void service_main(uint32_t endpoint)
{
	self = endpoint;
	this_service.start(this_service.table);
	for (;;) {
		struct incoming in = { .kind = INCOMING_NOTIFIED };

		while (!queue_is_empty(&again)) {
			struct link *first = again.head.next;

			queue_remove(first);
			handle(CONTAINER(CONTAINER(first, struct request, link), struct parked, request));
		}
		ask_kernel(MICRO_RECEIVE, (uint64_t)&in, 0, 0, 0, 0);
		if (in.kind == INCOMING_NOTIFIED) {
			notified(in.bits);
		} else if (in.kind == INCOMING_CANCEL) {
			cancel(in.who, in.forget);
		} else if (in.kind == INCOMING_CLIENT) {
			begin_request(&in);
		} else {
			this_service.call(this_service.table, &in.m);
			ask_kernel(MICRO_REPLY, in.who, (uint64_t)&in.m, 0, 0, 0);
		}
	}
}
