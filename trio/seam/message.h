/* message.h: what the kernel shares with the domains that are threads or processes: messages, and the requests that
 * such a domain makes of the kernel. A thread makes a procedure call and a process a trap; both reach domain_trap. */
#ifndef TRIO_MESSAGE_H
#define TRIO_MESSAGE_H

/* The requests of a server that entry.S knows. In registers (whom, result, further values of a call): replies and waits
 * for the next message, whose HEADER it returns. The kernel drops a reply to a task that waits for none. */
#define TRAP_REPLY_AND_WAIT 0x8000
/* In registers (grant's id, its length, offset, own, n, kind): does TRAP_COPY if that is easy, with a program's own
 * memory that is present. -EAGAIN: TRAP_COPY is to do it, and says what is wrong if anything is. With the switch by-
 * mapping it maps the page at that offset and returns its address; COPY_DONE ends that and returns 0, or -EAGAIN if the
 * page was taken away before. */
#define TRAP_COPY_DIRECTLY 0x8001

#ifndef __ASSEMBLER__
#include "endpoints.h"
#include "port.h"
#include "switches.h"

#define MESSAGE_WORDS 10
/* How many words go in registers, in the order of struct registers: rdi, rsi, rdx, r10, r8, r9, rbx, r12. */
#define REGISTER_WORDS 8
/* How many further values of an answer go in registers, beside whom it is for and the result. */
#define REPLY_WORDS 5

struct message {
	/* Number within the interface. */
	uint16_t call;
	int64_t result;
	/* The arguments; on the way back the further results. A grant takes two words. */
	uint64_t words[MESSAGE_WORDS];
};

/* A call in one word, which goes to the server in a register: who calls, which call of which service, whether the
 * caller is a program (else another domain or the kernel); how many words the call has, and how many further values its
 * answer has (of a program's request at most REPLY_WORDS). 0: no call came; the server has to ask what there is. */
#define HEADER(is_client, endpoint, call, words, outs)                                                \
	(1UL << 62 | (uint64_t)(is_client) << 61 | (uint64_t)(outs) << 52 | (uint64_t)(words) << 48 | \
	 (uint64_t)(call) << 32 | (uint64_t)(endpoint) << 16)
/* The kernel marks so a call that was under way when a process ended and that is made again. */
#define HEADER_AGAIN (1UL << 60)
#define HEADER_IS_CLIENT(header) ((header) >> 61 & 1)
#define HEADER_WORDS(header) ((unsigned)((header) >> 48) & 15)
#define HEADER_OUTS(header) ((unsigned)((header) >> 52) & 15)
#define HEADER_CALL(header) ((uint16_t)((header) >> 32))
#define HEADER_ENDPOINT(header) ((uint32_t)(header) >> 16)
#define HEADER_WHO(header) ((uint32_t)(header) & 0xffff)

/* Sends a call's words, waits for the answer and returns its result; the first words are the further values then. A
 * call goes down the order of services only. */
int64_t message_call(uint64_t header, uint64_t *words);
#ifndef PROCESS
/* Calls a function of the kernel's with two arguments by a jump, which changes both. A processor predicts returns by a
 * stack of its own, to which each call adds. What is left by a switch instead of a return is called so, and what a
 * switch comes back to is not; then that stack is right behind the switch, and behind the system call. */
#define CALL_BY_JUMP(function, first, second, result)         \
	__asm__ volatile("pushq $1f\n\tjmp " #function "\n1:" \
			 : "+D"(first), "+S"(second), result  \
			 :                                    \
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc")

/* The same for the present task's program, by the kernel, when the call is the whole system call. It may not return
 * here, since the result may have become the system call's already. */
int64_t message_plain_sent(uint64_t header, uint64_t *words);
static inline __attribute__((always_inline)) int64_t message_plain_call(uint64_t header, uint64_t *words)
{
	int64_t result;

	CALL_BY_JUMP(message_plain_sent, header, words, "=a"(result));
	return result;
}
#endif

/* With the switch decoded-by-services the number of a client's call is this plus the number of Linux's call, and its
 * words are as many registers as that call has. */
#define LINUX_CALLS 4096

/* Generated for each interface: functions that unpack messages for a service's table of handlers. */
#define DISPATCHER(interface)                                                                \
	void serve_##interface##_start(const void *table);                                   \
	void serve_##interface##_notified(const void *table, uint64_t bits);                 \
	int64_t serve_##interface##_call(const void *table, uint16_t call, uint64_t *words); \
	verdict serve_##interface##_client(const void *table, struct request *r, const uint64_t *words)

/* Where a process has its program's text, which every space has and nobody may write (a domain has this many bytes, all
 * of them what Linux reserves for vsyscalls); its stack and, behind that, its program's data; its own pages, and its
 * windows on frames. */
#define PROCESS_TEXT 0xffffffffff600000UL
#define PROCESS_TEXT_BYTES 0x80000UL
#define PROCESS_STACK_TOP 0x10004000UL
#define PROCESS_DATA_END 0x20000000UL
#define PROCESS_STACK_PAGES 4
#define PROCESS_PAGES 0x100000000000UL
#define PROCESS_WINDOWS 0x200000000000UL
#define PROCESS_DEVICES 0x300000000000UL
/* With the switch by-mapping: where a program's page is mapped; and the server's own page, which replaces it once it
 * was taken away. */
#define PROCESS_MAPPED 0x400000000000UL
#define PROCESS_UNMAPPED (PROCESS_PAGES - PAGE)

/* A grant that a server holds: an entry of the kernel's table (grants.c), the entry's generation, and an offset in the
 * lower bits. Any other id is an address of the server's own memory. */
#define GRANT_ENTRY (2UL << 62)
#define GRANT_ENTRY_SHIFT 48
#define GRANT_GENERATION_SHIFT 32
/* A grant of nothing: an entry beyond the table. */
#define NO_GRANT (GRANT_ENTRY | 0x3fffUL << GRANT_ENTRY_SHIFT)

static inline bool is_entry(uint64_t id)
{
	return id >> 62 == 2;
}

/* What comes to a server. */
enum incoming_kind {
	/* A call of another domain or of the kernel. The server replies to it before anything else comes. */
	INCOMING_CALL,
	/* A request of task `who`'s program. The server answers it whenever it can. */
	INCOMING_CLIENT,
	/* Another service notified the service at `endpoint` of `bits`. */
	INCOMING_NOTIFIED,
	/* Task `who` has a parked request: a signal ends it; its deadline has passed; nobody waits for it any more. */
	INCOMING_SIGNAL,
	INCOMING_LATE,
	INCOMING_GONE,
};

struct incoming {
	uint32_t kind, endpoint, who;
	uint64_t bits;
	struct message m;
};

/* Whom a reply in registers is for, if not a client's task: the caller whose call came last; nobody. */
#define REPLY_TO_CALL 0xfffeU
#define REPLY_TO_NOBODY 0xffffU

struct client_answer {
	int64_t result;
	/* 0: no signal. */
	uint64_t raises;
	uint64_t out[OUT_WORDS];
};

/* A copy between a server's memory and a grant. The kernel subtracts what it has done, so that the server can ask
 * again. */
/* The kinds from COPY_OUT on copy to what the grant stands for. COPY_DONE ends a mapping and copies nothing. */
enum copy_kind { COPY_IN, COPY_STRING, COPY_OUT, COPY_ZEROS, COPY_DONE };
struct copying {
	struct grant grant;
	uint64_t offset, own, n;
	uint32_t kind;
	/* With -EAGAIN: the page at `address` of `task` is absent or read-only. The server asks vm.fault about it, and
	 * says in `why`, next time, what vm answered. */
	uint32_t task, access, tries;
	uint64_t address;
	int64_t why;
};

static inline bool is_beyond(struct grant g, uint64_t offset, size_t n)
{
	return offset > g.length || n > g.length - offset;
}

/* Copies in, out, or zeros, by a grant of a service's own memory, which is its address. */
static inline void copy_own(enum copy_kind kind, uint64_t address, uint64_t own, size_t n)
{
	if (kind == COPY_ZEROS)
		memset((void *)address, 0, n);
	else if (kind == COPY_OUT)
		memcpy((void *)address, (const void *)own, n);
	else
		memcpy((void *)own, (const void *)address, n);
}

/* Returns what copy_string returns. */
static inline long copy_own_string(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(to, from, length + 1);
	return (long)length;
}

/* What a server asks of the kernel: numbers beyond those of system calls. A result is that of the port's function of
 * that name, or 0 or a negative errno. */
enum {
	/* (address): the server has started its services; its struct counters is there. */
	TRAP_BEGIN = TRAP_COPY_DIRECTLY + 1,
	/* (incoming, wait): what comes next. Returns 0, or 1 if there is nothing and it is not to wait. */
	TRAP_NEXT,
	/* (message): the reply to the call that came last. */
	TRAP_REPLY,
	/* (task, answer): the answer to a client. */
	TRAP_ANSWER,
	/* (task, ends, deadline): a client's request is parked. Returns 0; 1: a signal ends it now; -ESRCH: nobody
	 * waits. */
	TRAP_PARKED,
	/* (task, ends): a client's request gave way. Returns the same. */
	TRAP_GAVE_WAY,
	/* (struct copying). Returns 0 or a string's length, -EFAULT, -ENAMETOOLONG, -EAGAIN. */
	TRAP_COPY,
	/* (task, address, length). Returns a grant's id. */
	TRAP_GRANT_CALLER,
	/* (endpoint, word), (endpoint) */
	TRAP_KEEP,
	TRAP_KEPT,
	/* (endpoint, bit) */
	TRAP_NOTIFY,
	/* (endpoint, deadline) */
	TRAP_ALARM,
	/* (): the server has heard NOTIFY_ASKED. (): the time. */
	TRAP_ALIVE,
	TRAP_NOW,
	/* (count), (address, count) */
	TRAP_PAGES_TAKE,
	TRAP_PAGES_GIVE,
	/* (text, length), (text, length) */
	TRAP_LOG,
	TRAP_PANIC,
	/* (words): the call of another service or of the kernel, whose HEADER the number is, with TRAP_SEND in the
	 * place of who calls. Returns the call's result; the first words are the further values then. */
	TRAP_SEND,
	TRAPS_END,
};

#define SEND(endpoint, call) (HEADER(false, endpoint, call, 0, 0) | TRAP_SEND)

/* A domain's request of the kernel. */
int64_t trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c);
/* Replies `result`, with REPLY_WORDS further values of the answer if `outs` is not NULL, and waits. Returns the HEADER
 * of what came, and the message's words in `words`, REGISTER_WORDS of them. */
uint64_t reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs);
/* See TRAP_COPY_DIRECTLY. */
int64_t copy_directly(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind);
#endif
#endif
