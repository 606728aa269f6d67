/* port.h: all that a service sees of the world beside its interfaces. The structure decides what stands behind these
 * names: procedures in the kernel (mono), messages between kernel threads (hybrid) or between processes (micro). A
 * service is compiled once against this file (and text.h, which formats text) and never asks which it is.
 *
 * A service is a state machine that runs to completion. Its handlers never wait: a handler parks a request that must
 * wait, and runs again from its start when the service unparks the request.
 *
 * The order of calls has no exception: pm > vfs > fs > block > bus > vm > kernel, vfs > net, and vfs > console,
 * framebuffer > bus; all may call clock. Upward there is notify() alone, so no two services can wait for each other. */
#ifndef TRIO_PORT_H
#define TRIO_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/errno.h"

/* Tasks are what Linux calls threads. A task has the same number in every service's tables; a number is used again
 * after the task is gone. */
#define TASKS 1024
#define PAGE 4096UL

/* Time since boot in nanoseconds. */
typedef uint64_t nanoseconds;
#define NEVER UINT64_MAX

/* A right to read or write somebody else's memory, or an iovec of such memory. Only the seam reads `id`. */
struct grant {
	uint64_t id;
	/* In bytes. */
	uint64_t length;
};

/* The most that one call moves: Linux's MAX_RW_COUNT, a page less than 2 GiB; the most bytes of a path or another
 * string. */
#define MOST_BYTES 0x7ffff000UL
#define PATH_BYTES 4096

/* An invariant of the service does not hold: the service cannot go on. */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An invariant that only a kernel built with TRIO_CHECKED verifies. */
#ifdef TRIO_CHECKED
#define INVARIANT(condition) ((condition) ? (void)0 : panic("%s:%d: %s does not hold", __FILE__, __LINE__, #condition))
#else
#define INVARIANT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

/* A member of a list; a list is a ring through its head. A member that is in no list is zero. */
struct link {
	struct link *next, *previous;
};

/* Makes the list empty. */
static inline void list_start(struct link *head)
{
	head->next = head->previous = head;
}

static inline bool list_is_empty(const struct link *head)
{
	return head->next == head;
}

/* Puts `one` before `next`; if `next` is the head, at the end. */
static inline void list_add(struct link *next, struct link *one)
{
	INVARIANT(!one->next && !one->previous && next->previous->next == next);
	one->previous = next->previous;
	one->next = next;
	next->previous->next = one;
	next->previous = one;
}

static inline void list_remove(struct link *one)
{
	INVARIANT(one->next && one->previous->next == one && one->next->previous == one);
	one->previous->next = one->next;
	one->next->previous = one->previous;
	one->next = one->previous = NULL;
}

/* Runs for each member of a list, a `type` by its `link`; the present member may leave the list. */
#define LIST_EACH(type, one, list, link)                                   \
	for (type *one = CONTAINER((list)->next, type, link), *one##_next; \
	     one##_next = CONTAINER(one->link.next, type, link), &one->link != (list); one = one##_next)

/* Requests that wait for the same thing. A zeroed queue is empty. */
struct queue {
	struct link head;
};

/* A request's own words between runs of its handler. They are zero before the first run. */
#define SCRATCH_WORDS 4
#define OUT_WORDS 8

/* One call of a program, from its arrival at the service to its answer. */
struct request {
	/* The seam's: its place in the queue in which it is parked. */
	struct link link;
	/* Whose request it is. */
	uint32_t task;
	/* Number of the call within its interface. */
	uint16_t call;
	/* Set before a handler runs again: the deadline has passed; the handler gave way. */
	bool late, again;
	/* The seam's: what ends the request before its answer, of `enum ends`. */
	uint8_t ends;
	/* Part of the answer: the signal of raise_signal(); where services are servers, the number of further
	 * values. */
	uint8_t raises, outs;
	/* Bytes done so far. If a signal ends the request after some were done, they are its answer. */
	uint64_t done;
	uint64_t scratch[SCRATCH_WORDS];
	/* The answer: a value, or the negative of an errno. */
	int64_t result;
	/* Further values of the answer, as the interface names them. */
	uint64_t out[OUT_WORDS];
};

typedef enum { ANSWERED, PARKED } verdict;

/* What ends a request that waits: any signal that is not ignored or blocked, only a signal that ends the process, or
 * nothing. */
enum ends { BY_A_SIGNAL, BY_THE_END, BY_NOTHING };

/* Answers a request with what a call returned: a value, or a negative errno (never -EWAIT). */
static inline verdict answer(struct request *r, int64_t result)
{
	r->result = result;
	return ANSWERED;
}

/* Answers it with an errno, given as a positive number. */
static inline verdict refuse(struct request *r, int errno_number)
{
	return answer(r, -errno_number);
}

/* For a function that returns a negative errno when it fails: returns the call's result if that is negative. */
#define TRY(call)                        \
	do {                             \
		int64_t tried_ = (call); \
                                         \
		if (tried_ < 0)          \
			return tried_;   \
	} while (0)

/* TRY() in a handler: a failed call's error is the answer to the request. */
#define TRY_ANSWER(r, call)                         \
	do {                                        \
		int64_t tried_ = (call);            \
                                                    \
		if (tried_ < 0)                     \
			return answer((r), tried_); \
	} while (0)

/* Sets a request aside until the queue is unparked, a signal ends it (the answer is -EINTR, or `done` if that is not
 * 0), or the deadline passes (its handler runs again with `late`). The handler returns at once. */
verdict park(struct queue *queue, struct request *r);
verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline);
/* The same, but no signal ends the request: it waits for a device, which always answers. */
verdict park_hard(struct queue *queue, struct request *r);
/* The same, but only a signal that ends the process ends the request. */
verdict park_to_end(struct queue *queue, struct request *r);
/* Runs the handlers of all requests in the queue again, in the order in which they were parked, after the present
 * handler. */
void unpark(struct queue *queue);
/* The same for the first of them; there must be one. */
void unpark_first(struct queue *queue);
/* The same for this parked request. */
void unpark_request(struct request *r);

/* The most that a handler does in one run, of work that a program's arguments make long: about a millisecond's. */
#ifndef SHARE_PAGES
#define SHARE_PAGES 1024UL
#endif
#ifndef SHARE_BYTES
#define SHARE_BYTES (256UL << 10)
#endif
/* A handler has done a share of its work. Other tasks run if it is their turn; then the handler runs again from its
 * start, with `again` set and `done` and `scratch` as they are, or the request ends as a parked one does. The handler
 * returns at once; its interface says that it waits or gives way. */
verdict give_way(struct request *r, enum ends ends);
bool is_waited_for(const struct queue *queue);

/* Raises a signal (SIGPIPE, SIGXFSZ) for the caller, who gets it before it goes on. A call raises at most one. */
void raise_signal(struct request *r, uint32_t signal);

/* Copies between the service's memory and a grant. Returns 0, or -EFAULT if any of the grant's memory is absent, not
 * allowed or beyond its length (a part may have been copied). Absent pages that the owner may have are made present on
 * the way. */
long copy_in(void *to, struct grant from, uint64_t offset, size_t n);
long copy_out(struct grant to, uint64_t offset, const void *from, size_t n);
/* Copies zeros. */
long copy_zeros(struct grant to, uint64_t offset, size_t n);
/* Answers a request with `value` after copying `n` bytes to where the client wants them, if it does. */
static inline verdict answer_with(struct request *r, int64_t value, struct grant to, const void *from, size_t n)
{
	return to.length && copy_out(to, 0, from, n) != 0 ? refuse(r, EFAULT) : answer(r, value);
}
/* Copies a string with its NUL, of at most `size` bytes. Returns its length without the NUL, -EFAULT, or
 * -ENAMETOOLONG. */
long copy_string(char *to, size_t size, struct grant from);
/* Grants the service's own memory for a call further down; the grant ends with the handler. */
static inline struct grant grant_read(const void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

static inline struct grant grant_write(void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

/* Grants memory of the task whose request is being answered, in the address space that it has by then. pm needs this:
 * it lays out a new program's stack, and writes where a new thread asked for it. The grant ends with the handler. */
struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length);
/* A part of a grant, which may be passed on. */
static inline struct grant grant_part(struct grant whole, uint64_t offset, uint64_t length)
{
	uint64_t rest = offset < whole.length ? whole.length - offset : 0;

	return (struct grant){ whole.id + offset, length < rest ? length : rest };
}

/* Notifies a service above of bit `bit`; its `notified` handler runs once, after the present handler, with all bits. */
void notify(uint32_t endpoint, unsigned bit);

/* The clock since boot, and a service's one alarm: at the deadline bit NOTIFY_ALARM of `endpoint`, its own, is set.
 * NEVER: takes the alarm back. */
#define NOTIFY_ALARM 63
/* Bits from NOTIFY_BITS on are the seam's. NOTIFY_ASKED: rs asks whether the service is alive. */
#define NOTIFY_BITS 62
#define NOTIFY_ASKED 62
nanoseconds now(void);
void alarm_at(uint32_t endpoint, nanoseconds deadline);

/* Whole pages of zeros for the service's own tables and buffers. `count` is 1, or a power of two up to 512 pages that
 * follow each other. Returns NULL without memory. */
void *pages_take(size_t count);
void pages_give(void *pages, size_t count);
/* Memory of any size, or NULL if there is none in one piece; heap_allocate() fills it with zeros. It is freed with the
 * same size. */
void *heap_take(size_t size);
void *heap_allocate(size_t size);
void heap_free(void *p, size_t size);
/* A word of the service that outlives its process: kept() returns what keep() was given last, or 0. */
void keep(uint32_t endpoint, uint64_t word);
uint64_t kept(uint32_t endpoint);
/* How often in a row a driver may tell its caller to go on when nothing is done; then it is stuck
 * (kernel.server_stuck). */
#define ROUNDS_MOST 1000U
/* A count for pages_take(): pages that hold `bytes`. */
static inline size_t pages_for(size_t bytes)
{
	size_t pages = 1;

	while (pages * PAGE < bytes)
		pages *= 2;
	return pages;
}

/* Writes a line to the console's log, in the format of text.h, which a service may include too. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Functions that a freestanding C compiler may call, and those for strings. */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

#endif
