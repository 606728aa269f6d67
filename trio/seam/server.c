/* server.c: the loop of a domain that is a thread or a process: the messages that come to it, the requests that it has
 * parked, and port.h's functions, in port.h's order. It is linked into each such domain. */
#include "message.h"
#include "process_traps.h"
#include "queue.h"
#include "server.h"
#include "vm.h"

#ifdef PROCESS
#define reply_and_wait reply_and_wait_by_registers
#define MAPS BY_MAPPING
#else
#define MAPS 0
#endif

/* Requests whose handlers are to run again. */
static struct queue again = { { &again.head, &again.head } };

static struct held *held_of(struct request *r)
{
	return CONTAINER(r, struct held, request);
}

verdict park(struct queue *queue, struct request *r)
{
	return park_until(queue, r, NEVER);
}

verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline)
{
	struct held *h = held_of(r);

	r->ends = BY_A_SIGNAL;
	h->is_parked = true;
	h->deadline = deadline;
	queue_add(queue, &r->link);
	return PARKED;
}

static void run_again(struct held *h)
{
	h->runs_again = true;
	queue_add(&again, &h->request.link);
}

void unpark_request(struct request *r)
{
	struct held *h = held_of(r);

	list_remove(&r->link);
	h->is_parked = false;
	run_again(h);
}

verdict give_way(struct request *r, enum ends ends)
{
	r->again = true;
	r->ends = (uint8_t)ends;
	run_again(held_of(r));
	return PARKED;
}

/* The answer carries the signal. */
void raise_signal(struct request *r, uint32_t signal)
{
	r->raises = (uint8_t)signal;
}

/* Copies somebody else's memory, and asks vm for each page that is absent. */
static __attribute__((noinline)) long copy_asked(enum copy_kind kind, struct grant g, uint64_t offset, uint64_t own,
						 size_t n)
{
	struct copying c = { g, offset, own, n, kind, .why = 0 };
	int64_t result;

	while ((result = trap_kernel(TRAP_COPY, (uint64_t)&c, 0, 0)) == -EAGAIN)
		c.why = vm_fault(c.task, c.address, c.access);
	return (long)result;
}

static inline __attribute__((always_inline)) long copy(enum copy_kind kind, struct grant g, uint64_t offset,
						       uint64_t own, size_t n)
{
	int64_t result;

	if (is_beyond(g, offset, n))
		return -EFAULT;
	if (n == 0)
		return 0;
	if (is_entry(g.id)) {
		result = MAPS ? copy_by_mapping(g, offset, own, n, kind) : copy_directly(g, offset, own, n, kind);
		return result == -EAGAIN ? copy_asked(kind, g, offset, own, n) : (long)result;
	}
	if (kind == COPY_IN)
		COUNT(bytes_in, n);
	else
		COUNT(bytes_out, n);
	copy_own(kind, g.id + offset, own, n);
	return 0;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	return copy(COPY_IN, from, offset, (uint64_t)to, n);
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	return copy(COPY_OUT, to, offset, (uint64_t)from, n);
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	return copy(COPY_ZEROS, to, offset, 0, n);
}

long copy_string(char *to, size_t size, struct grant from)
{
	size_t most = MIN(size, from.length);
	int64_t result;

	if (most == 0)
		return -ENAMETOOLONG;
	if (is_entry(from.id)) {
		result = MAPS ? string_by_mapping(to, most, from) : -EAGAIN;
		return result == -EAGAIN ? copy_asked(COPY_STRING, from, 0, (uint64_t)to, most) : (long)result;
	}
	return copy_own_string(to, size, (const char *)from.id);
}

struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length)
{
	return (struct grant){ (uint64_t)trap_kernel(TRAP_GRANT_CALLER, task, address, length), length };
}

void notify(uint32_t endpoint, unsigned bit)
{
	trap_kernel(TRAP_NOTIFY, endpoint, bit, 0);
}

nanoseconds now(void)
{
	return (nanoseconds)trap_kernel(TRAP_NOW, 0, 0, 0);
}

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	trap_kernel(TRAP_ALARM, endpoint, deadline, 0);
}

/* What comes ------------------------------------------------------------------------------------------------------ */

static const struct dispatcher *service_at(uint32_t endpoint)
{
	return &domain_services[domain_places[endpoint]];
}

/* The words of a message that came in registers, and those of the reply that is due. */
static uint64_t words[MESSAGE_WORDS];

/* A reply that goes with the wait for the next message. */
struct due {
	uint64_t whom;
	int64_t result;
	/* Further values; NULL: there are none. */
	const uint64_t *outs;
};
static const struct due nothing = { .whom = REPLY_TO_NOBODY };

static void answer_client(struct held *h)
{
	struct client_answer a = { .result = h->request.result, .raises = h->request.raises };

	memcpy(a.out, h->request.out, sizeof a.out);
	trap_kernel(TRAP_ANSWER, h->request.task, (uint64_t)&a, 0);
}

/* The answer goes with the wait if it has no signal and few further values. */
static inline struct due answer_later(struct held *h)
{
	const struct request *r = &h->request;

	if (!(r->raises | r->outs))
		return (struct due){ r->task, r->result, NULL };
	if (r->raises || r->outs > REPLY_WORDS) {
		answer_client(h);
		return nothing;
	}
	return (struct due){ r->task, r->result, r->out };
}

/* Replies without a wait. */
static void reply_due(struct due due)
{
	if (due.whom == REPLY_TO_CALL) {
		struct message m = { .result = due.result };

		memcpy(m.words, words, sizeof m.words);
		trap_kernel(TRAP_REPLY, (uint64_t)&m, 0, 0);
	} else if (due.whom != REPLY_TO_NOBODY) {
		struct client_answer a = { .result = due.result };

		if (due.outs)
			memcpy(a.out, due.outs, REPLY_WORDS * sizeof words[0]);
		trap_kernel(TRAP_ANSWER, due.whom, (uint64_t)&a, 0);
	}
}

static void forget(struct held *h)
{
	if (h->is_parked || h->runs_again)
		list_remove(&h->request.link);
	h->is_parked = h->runs_again = false;
}

static void end_by_signal(struct held *h)
{
	forget(h);
	h->request.result = h->request.done ? (int64_t)h->request.done : -EINTR;
	answer_client(h);
}

/* The handler parked the request or gave way. */
static void tell_parked(struct held *h)
{
	struct request *r = &h->request;
	int64_t told = h->is_parked ? trap_kernel(TRAP_PARKED, r->task, r->ends, h->deadline)
				    : trap_kernel(TRAP_GAVE_WAY, r->task, r->ends, 0);

	if (told == 1)
		end_by_signal(h);
	else if (told != 0)
		forget(h);
}

static struct due handle(struct held *h)
{
	if (h->service->client(h->service->table, &h->request, h->words) == ANSWERED)
		return answer_later(h);
	tell_parked(h);
	return nothing;
}

/* Begins a client's request, which keeps its words while it waits. */
static inline __attribute__((always_inline)) struct due begin(uint32_t who, uint16_t call, const uint64_t *given,
							      const struct dispatcher *service)
{
	struct held *h = &domain_held[who];
	struct request *r = &h->request;

	request_begin(r, call);
	r->task = who;
	r->raises = r->outs = 0;
	if (service->client(service->table, r, given) == ANSWERED)
		return answer_later(h);
	h->service = service;
	memcpy(h->words, given, sizeof h->words);
	tell_parked(h);
	return nothing;
}

/* The kernel may tell of a parked request after it was unparked. */
static void parked_told(const struct incoming *in)
{
	struct held *h = &domain_held[in->who];

	if (in->kind == INCOMING_GONE) {
		forget(h);
	} else if (h->is_parked && in->kind == INCOMING_LATE) {
		h->request.late = true;
		unpark_request(&h->request);
	} else if (h->is_parked && h->request.ends != BY_NOTHING) {
		end_by_signal(h);
	}
}

static struct due come(struct incoming *in)
{
	const struct dispatcher *service;

	if (in->kind > INCOMING_NOTIFIED) {
		parked_told(in);
		return nothing;
	}
	service = service_at(in->endpoint);
	if (in->kind == INCOMING_CLIENT)
		return begin(in->who, in->m.call, in->m.words, service);
	if (in->kind == INCOMING_CALL) {
		in->m.result = service->call(service->table, in->m.call, in->m.words);
		trap_kernel(TRAP_REPLY, (uint64_t)&in->m, 0, 0);
	} else {
		if (HEARTBEATS && in->bits >> NOTIFY_ASKED & 1)
			trap_kernel(TRAP_ALIVE, 0, 0, 0);
		service->notified(service->table, in->bits);
	}
	return nothing;
}

static inline struct due come_directly(uint64_t header)
{
	const struct dispatcher *service = service_at(HEADER_ENDPOINT(header));

	if (HEADER_IS_CLIENT(header))
		return begin(HEADER_WHO(header), HEADER_CALL(header), words, service);
	return (struct due){ REPLY_TO_CALL, service->call(service->table, HEADER_CALL(header), words), words };
}

/* Asks for whatever there is, then runs a request that is to run again. */
static __attribute__((noinline)) struct due look(struct due due)
{
	struct incoming in;

	reply_due(due);
	due = nothing;
	if (trap_kernel(TRAP_NEXT, (uint64_t)&in, list_is_empty(&again.head), 0) == 0)
		due = come(&in);
	if (!list_is_empty(&again.head)) {
		struct held *h = held_of(CONTAINER(again.head.next, struct request, link));

		/* The caller goes on before those whom its call woke. */
		reply_due(due);
		list_remove(&h->request.link);
		h->runs_again = false;
		due = handle(h);
	}
	return due;
}

_Noreturn void serve(void)
{
	struct due due = nothing;

	for (unsigned i = 0; i < domain_service_count; i++)
		domain_services[i].start(domain_services[i].table);
	trap_kernel(TRAP_BEGIN, (uint64_t)&domain_counters, 0, 0);
	for (;;) {
		uint64_t header = 0;

		if (!IN_MEMORY && list_is_empty(&again.head)) {
			header = reply_and_wait(due.whom, due.result, words, due.outs);
			due = nothing;
		}
		due = header ? come_directly(header) : look(due);
	}
}
