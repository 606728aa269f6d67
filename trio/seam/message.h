/* message.h: what the kernel and the domains that are threads or processes have in common: messages, and what such a
 * domain asks of the kernel. A thread asks by a procedure call, a process by a trap; both reach domain_trap. */
#ifndef TRIO_MESSAGE_H
#define TRIO_MESSAGE_H

/* Of what a server asks of the kernel, what entry.S knows. In registers: (whom, result, further values of a call):
 * the reply, and the wait for what is next, of which HEADER says what it is. A reply to one who waits for none is
 * dropped. */
#define TRAP_REPLY_AND_WAIT 0x8000
/* And the other. In registers: (grant's id, its length, offset, own, n, kind): as TRAP_COPY where that is easy,
 * with memory of a program's own that is there. -EAGAIN: TRAP_COPY does it, and says what is wrong if anything is. With
 * the switch by-mapping it maps the page at that offset and returns where, and with COPY_DONE that ends: 0, or
 * -EAGAIN, where the page was taken away before. */
#define TRAP_COPY_DIRECTLY 0x8001

#ifndef __ASSEMBLER__
#include "endpoints.h"
#include "port.h"
#include "switches.h"

#define MESSAGE_WORDS 10
/* So many of them go in registers, in the order of struct registers: rdi, rsi, rdx, r10, r8, r9, rbx, r12. */
#define REGISTER_WORDS 8
/* Further values of an answer that go in registers, beside whom it is for and the result. */
#define REPLY_WORDS 5

struct message {
	/* Number within the interface. */
	uint16_t call;
	int64_t result;
	/* The arguments; on the way back the further results. A grant takes two. */
	uint64_t words[MESSAGE_WORDS];
};

/* Of a call in one word, which goes to the server in a register: who asks, which call of which service, whether it is a
 * program's request or another domain's or the kernel's; how many words it has, and its answer beside the result, of a
 * program's request up to REPLY_WORDS. 0: none; what there is is to be asked for. */
#define HEADER(is_client, endpoint, call, words, outs)                                                \
	(1UL << 62 | (uint64_t)(is_client) << 61 | (uint64_t)(outs) << 52 | (uint64_t)(words) << 48 | \
	 (uint64_t)(call) << 32 | (uint64_t)(endpoint) << 16)
/* The kernel's mark on a call that was under way when a process ended, and is made again. */
#define HEADER_AGAIN (1UL << 60)
#define HEADER_IS_CLIENT(header) ((header) >> 61 & 1)
#define HEADER_WORDS(header) ((unsigned)((header) >> 48) & 15)
#define HEADER_OUTS(header) ((unsigned)((header) >> 52) & 15)
#define HEADER_CALL(header) ((uint16_t)((header) >> 32))
#define HEADER_ENDPOINT(header) ((uint32_t)(header) >> 16)
#define HEADER_WHO(header) ((uint32_t)(header) & 0xffff)

/* Sends a call's words, waits for the answer and returns its result; further values are the first words then. Down the
 * order of services alone. */
int64_t message_call(uint64_t header, uint64_t *words);
/* The same for the present task's program, by the kernel, of a call that is all of its system call: the result may have
 * become the system call's already, and it does not return here. */
int64_t message_plain_call(uint64_t header, uint64_t *words);

/* With the switch decoded-by-services, a client's call is this and the number of one of Linux's, and its words are the
 * registers, as many as that has. */
#define LINUX_CALLS 4096

/* Generated for each interface: what unpacks messages for a service's table of handlers. */
#define DISPATCHER(interface)                                                                \
	void serve_##interface##_start(const void *table);                                   \
	void serve_##interface##_notified(const void *table, uint64_t bits);                 \
	int64_t serve_##interface##_call(const void *table, uint16_t call, uint64_t *words); \
	verdict serve_##interface##_client(const void *table, struct request *r, const uint64_t *words)

/* Where the program of a domain that is a process, its stack, its own pages and its windows on frames lie. */
#define PROCESS_STACK_TOP 0x70000000UL
#define PROCESS_STACK_PAGES 4
#define PROCESS_PAGES 0x100000000000UL
#define PROCESS_WINDOWS 0x200000000000UL
#define PROCESS_DEVICES 0x300000000000UL
/* With the switch by-mapping: a page of a program's; and of the server's own, in its place once that was taken away. */
#define PROCESS_MAPPED 0x400000000000UL
#define PROCESS_UNMAPPED (PROCESS_PAGES - PAGE)

/* A grant in the hands of a server: an entry of the kernel's table (grants.c), its generation, and an offset below. Any
 * other id is the address of the server's own memory. */
#define GRANT_ENTRY (2UL << 62)
#define GRANT_ENTRY_SHIFT 48
#define GRANT_GENERATION_SHIFT 32
/* Beyond the table: of nothing. */
#define NO_GRANT (GRANT_ENTRY | 0x3fffUL << GRANT_ENTRY_SHIFT)

static inline bool is_entry(uint64_t id)
{
	return id >> 62 == 2;
}

/* What comes to a server. */
enum incoming_kind {
	/* A call of another domain's or of the kernel's, to be replied to before anything else comes. */
	INCOMING_CALL,
	/* A program's, of task `who`; answered whenever. */
	INCOMING_CLIENT,
	/* Of the service at `endpoint`: `bits`. */
	INCOMING_NOTIFIED,
	/* Of task `who`'s parked request: a signal ends it; its deadline has passed; nobody waits for it. */
	INCOMING_SIGNAL,
	INCOMING_LATE,
	INCOMING_GONE,
};

struct incoming {
	uint32_t kind, endpoint, who;
	uint64_t bits;
	struct message m;
};

/* Whom a reply in registers is for, beside a client's task: the caller whose call came last; nobody. */
#define REPLY_TO_CALL 0xfffeU
#define REPLY_TO_NOBODY 0xffffU

struct client_answer {
	int64_t result;
	/* 0: no signal. */
	uint64_t raises;
	uint64_t out[OUT_WORDS];
};

/* Between a server's memory and a grant. What is done is taken off, so that it can be
 * asked for again. */
/* From COPY_OUT on, to what the grant stands for. COPY_DONE: of what is mapped, not of a copy. */
enum copy_kind { COPY_IN, COPY_STRING, COPY_OUT, COPY_ZEROS, COPY_DONE };
struct copying {
	struct grant grant;
	uint64_t offset, own, n;
	uint32_t kind;
	/* With -EAGAIN: the page at `address` of `task` is absent or read-only; what vm.fault is to be asked, and,
	 * next time, what it said. */
	uint32_t task, access, tries;
	uint64_t address;
	int64_t why;
};

static inline bool is_beyond(struct grant g, uint64_t offset, size_t n)
{
	return offset > g.length || n > g.length - offset;
}

/* With a grant of a service's own memory, which is its address: in, out, or zeros. */
static inline void copy_own(enum copy_kind kind, uint64_t address, uint64_t own, size_t n)
{
	if (kind == COPY_ZEROS)
		memset((void *)address, 0, n);
	else if (kind == COPY_OUT)
		memcpy((void *)address, (const void *)own, n);
	else
		memcpy((void *)own, (const void *)address, n);
}

/* As copy_string answers. */
static inline long copy_own_string(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(to, from, length + 1);
	return (long)length;
}

/* What a server asks of the kernel: numbers beyond those of system calls. Results are as of the port's function of that
 * name, or 0 or a negative errno. */
enum {
	/* (address): its services have been started; of its struct counters. */
	TRAP_BEGIN = TRAP_COPY_DIRECTLY + 1,
	/* (incoming, wait): what is next; 0, or 1 where there is nothing and it is not to wait. */
	TRAP_NEXT,
	/* (message): the reply to the call that came last. */
	TRAP_REPLY,
	/* (task, answer): the answer to a client. */
	TRAP_ANSWER,
	/* (task, ends, deadline): a client's request is parked. 0; 1: a signal ends it now; -ESRCH: nobody waits. */
	TRAP_PARKED,
	/* (task, ends): a client's request gave way. The same results. */
	TRAP_GAVE_WAY,
	/* (struct copying): 0 or a string's length, -EFAULT, -ENAMETOOLONG, -EAGAIN. */
	TRAP_COPY,
	/* (task, address, length): a grant's id. */
	TRAP_GRANT_CALLER,
	/* (endpoint, word), (endpoint) */
	TRAP_KEEP,
	TRAP_KEPT,
	/* (endpoint, bit) */
	TRAP_NOTIFY,
	/* (endpoint, deadline) */
	TRAP_ALARM,
	/* (): it has heard NOTIFY_ASKED; () */
	TRAP_ALIVE,
	TRAP_NOW,
	/* (count), (address, count) */
	TRAP_PAGES_TAKE,
	TRAP_PAGES_GIVE,
	/* (text, length), (text, length) */
	TRAP_LOG,
	TRAP_PANIC,
	/* (words), of the call of another service or of the kernel's whose HEADER the number is, with this for who
	 * asks. What is returned is the result; further values are the first words then. */
	TRAP_SEND,
	TRAPS_END,
};

#define SEND(endpoint, call) (HEADER(false, endpoint, call, 0, 0) | TRAP_SEND)

/* Of a domain: asks the kernel. */
int64_t trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c);
/* Replies `result`, with further values of the answer, REPLY_WORDS of them, where `outs` is not NULL, and waits: what
 * HEADER says, with the message's words in `words`, REGISTER_WORDS of them. */
uint64_t reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs);
/* As TRAP_COPY_DIRECTLY. */
int64_t copy_directly(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind);
#endif
#endif
