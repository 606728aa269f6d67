/* port.h: all that a service sees of the world beside its interfaces. What stands behind these names is the structure:
 * procedures in the kernel (mono), messages between kernel threads (hybrid) or between processes (micro). A service is
 * compiled once against this file (and text.h, which puts text together) and never asks which it is.
 *
 * A service is a state machine that runs to completion. Its handlers never wait: a request that must wait is parked
 * and its handler runs again, from its start, when the service unparks it.
 *
 * Order of calls, to which there is no exception: pm > vfs > fs > block > bus > vm > kernel, vfs > net, and vfs >
 * console, framebuffer > bus; clock may be called by all. Upward there is notify() alone, so that no two services can
 * wait for each other. */
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

/* Right to read or write memory of somebody else's, or an iovec of such memory. Only the seam looks inside `id`. */
struct grant {
	uint64_t id;
	/* Bytes. */
	uint64_t length;
};

/* The most that one call moves: Linux's MAX_RW_COUNT, a page less than 2 GiB; a path or another string: as much as may
 * be one. */
#define MOST_BYTES 0x7ffff000UL
#define PATH_BYTES 4096

/* An invariant of the service's own does not hold: it cannot go on. */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An invariant that a kernel built with TRIO_CHECKED looks after, and no other takes time for. */
#ifdef TRIO_CHECKED
#define INVARIANT(condition) ((condition) ? (void)0 : panic("%s:%d: %s does not hold", __FILE__, __LINE__, #condition))
#else
#define INVARIANT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

/* A member of a list; a list is a ring through its head. A member that is in no list is zero. */
struct link {
	struct link *next, *previous;
};

/* The list is empty from now on. */
static inline void list_start(struct link *head)
{
	head->next = head->previous = head;
}

static inline bool list_is_empty(const struct link *head)
{
	return head->next == head;
}

/* `one` comes before `next`: where that is the head, at the end. */
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

/* For each member of a list, a `type` by its `link`; the present one may leave the list. */
#define LIST_EACH(type, one, list, link)                                   \
	for (type *one = CONTAINER((list)->next, type, link), *one##_next; \
	     one##_next = CONTAINER(one->link.next, type, link), &one->link != (list); one = one##_next)

/* Requests that wait for the same thing. Zero-initialised is empty. */
struct queue {
	struct link head;
};

/* A request that waits may need more than one run of its handler: what is kept between them. Zero before the first. */
#define SCRATCH_WORDS 4
#define OUT_WORDS 8

/* One call of a user program's, from its arrival at the service to its answer. */
struct request {
	/* In the queue that it is parked on: the seam's. */
	struct link link;
	/* Who asked. */
	uint32_t task;
	/* Number of the call within its interface. */
	uint16_t call;
	/* Set before a handler runs again: its deadline has passed; it gave way. */
	bool late, again;
	/* The seam's: what ends it before its answer, of `enum ends`. */
	uint8_t ends;
	/* Part of the answer: raise_signal(); where services are servers, how many further values there are. */
	uint8_t raises, outs;
	/* Bytes done so far; the answer of a request that a signal ends once some are. */
	uint64_t done;
	uint64_t scratch[SCRATCH_WORDS];
	/* The answer: a value, or the negative of an errno. */
	int64_t result;
	/* Further values of the answer, as the interface names them. */
	uint64_t out[OUT_WORDS];
};

typedef enum { ANSWERED, PARKED } verdict;

/* What ends a request that waits: any signal to be taken, only one that ends the process, or nothing. */
enum ends { BY_A_SIGNAL, BY_THE_END, BY_NOTHING };

/* Ends a request with a value, or with an errno (given as a positive number). */
static inline verdict answer(struct request *r, int64_t value)
{
	r->result = value;
	return ANSWERED;
}

static inline verdict refuse(struct request *r, int errno_number)
{
	r->result = -errno_number;
	return ANSWERED;
}

/* Ends a request with what a call returned: a value, or a negative errno (never -EWAIT). */
static inline verdict settle(struct request *r, int64_t result)
{
	r->result = result;
	return ANSWERED;
}

/* In a function that answers 0 or a negative errno: where a call says no, that is the answer. */
#define TRY(call)                        \
	do {                             \
		int64_t tried_ = (call); \
                                         \
		if (tried_ < 0)          \
			return tried_;   \
	} while (0)

/* Sets a request aside until unpark() of the queue, a signal (answered -EINTR, or `done` if any), or the deadline
 * (run again with `late`). To be returned at once. */
verdict park(struct queue *queue, struct request *r);
verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline);
/* The same where a signal must not end it: it waits for a device, which is sure to answer. */
verdict park_hard(struct queue *queue, struct request *r);
/* Or only one that ends the process. */
verdict park_to_end(struct queue *queue, struct request *r);
/* All that wait there run again, in the order in which they were parked. Not at once: after the present handler. */
void unpark(struct queue *queue);
/* The first of them alone; there is one. */
void unpark_first(struct queue *queue);
/* A parked request runs again. */
void unpark_request(struct request *r);

/* What a handler does in one run at most, of work that a program's arguments make long: about a millisecond. */
#ifndef SHARE_PAGES
#define SHARE_PAGES 1024UL
#endif
#ifndef SHARE_BYTES
#define SHARE_BYTES (256UL << 10)
#endif
/* A handler has done a share of its work: others run if it is their turn, then it runs again from its start, with
 * `again` set and `done` and `scratch` as they are; or it ends as a parked one does. To be returned at once, by a
 * handler whose interface says that it waits or gives way. */
verdict give_way(struct request *r, enum ends ends);
bool is_waited_for(const struct queue *queue);

/* The call raises a signal (SIGPIPE, SIGXFSZ) for the one who asked, who has it before going on. One a call. */
void raise_signal(struct request *r, uint32_t signal);

/* Copies between the service's memory and what a grant stands for. Returns 0, or -EFAULT where any of it is not
 * there or not allowed or beyond the grant's length (part may then have been copied). Absent pages that the owner may
 * have are made present on the way. */
long copy_in(void *to, struct grant from, uint64_t offset, size_t n);
long copy_out(struct grant to, uint64_t offset, const void *from, size_t n);
/* Zeros instead of a source. */
long copy_zeros(struct grant to, uint64_t offset, size_t n);
/* Ends a request with `value` once `n` bytes have been copied to where the client wants them, if it does. */
static inline verdict answer_with(struct request *r, int64_t value, struct grant to, const void *from, size_t n)
{
	return to.length && copy_out(to, 0, from, n) != 0 ? refuse(r, EFAULT) : answer(r, value);
}
/* A string with its NUL, of at most `size` bytes. Returns its length without, -EFAULT, or -ENAMETOOLONG. */
long copy_string(char *to, size_t size, struct grant from);
/* A right to the service's own memory, for a call further down; it ends with the handler. */
static inline struct grant grant_read(const void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

static inline struct grant grant_write(void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

/* Memory of the task whose request is being answered, in the address space that it has by then: for the process
 * service, which lays out the stack of a new program and writes where a new thread asked for it. It ends with the
 * handler. */
struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length);
/* Part of a grant, to be passed on. */
static inline struct grant grant_part(struct grant whole, uint64_t offset, uint64_t length)
{
	uint64_t rest = offset < whole.length ? whole.length - offset : 0;

	return (struct grant){ whole.id + offset, length < rest ? length : rest };
}

/* Sets bit `bit` for a service above; its `notified` handler runs once, after the present handler, with all bits. */
void notify(uint32_t endpoint, unsigned bit);

/* Clock since boot, and the service's one alarm: then bit NOTIFY_ALARM of `endpoint`, its own, is set. NEVER: not
 * any more. */
#define NOTIFY_ALARM 63
/* The others from here on are the seam's own: rs asks whether the service is alive. */
#define NOTIFY_BITS 62
#define NOTIFY_ASKED 62
nanoseconds now(void);
void alarm_at(uint32_t endpoint, nanoseconds deadline);

/* Whole pages of zeros for the service's own tables and buffers; `count` of them follow each other where that is 1,
 * or a power of two up to 512. NULL where there is no memory. */
void *pages_take(size_t count);
void pages_give(void *pages, size_t count);
/* A word of the service's that outlives its process: what `keep` was given last; 0: nothing. */
void keep(uint32_t endpoint, uint64_t word);
uint64_t kept(uint32_t endpoint);
/* A count for that: pages that hold `bytes`. */
static inline size_t pages_for(size_t bytes)
{
	size_t pages = 1;

	while (pages * PAGE < bytes)
		pages *= 2;
	return pages;
}

/* A line for the console's log, in the words of text.h, which is a service's to include too. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Freestanding C's own four, and no more. */
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
