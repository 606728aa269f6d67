/* micro.h: of the structure "micro", where a service is a process: what its two sides, the kernel and the process's own
 * runtime, share. */
#ifndef TRIO_MICRO_H
#define TRIO_MICRO_H

#include "messages.h"

/* Where a service's program, its stack and its window on physical memory lie in its address space. */
#define SERVICE_STACK_TOP 0x70000000UL
#define SERVICE_STACK_PAGES 4
#define SERVICE_WINDOW 0x100000000000UL

/* Owner of a grant, above its address: a task, or TASKS + endpoint. */
#define OWNER_SHIFT 48
#define OWNERS 2048

/* A service's traps: numbers in rax, arguments as a system call's. */
enum {
	/* (to, message): a call of another service; message is the answer then. */
	MICRO_CALL = 0x10000,
	/* (incoming): waits for what is next. */
	MICRO_RECEIVE,
	/* (who, message): answers a call. */
	MICRO_REPLY,
	/* (task, answer): answers a client's request. */
	MICRO_ANSWER,
	/* (message): a call of the kernel's. */
	MICRO_KERNEL,
	/* (own, id, length, offset, n) */
	MICRO_COPY_IN,
	MICRO_COPY_OUT,
	MICRO_COPY_ZEROS,
	/* (own, size, id, length) */
	MICRO_COPY_STRING,
	/* (endpoint, bit) */
	MICRO_NOTIFY,
	/* (deadline) */
	MICRO_ALARM,
	/* () */
	MICRO_NOW,
	/* (count), (address, count) */
	MICRO_PAGES_TAKE,
	MICRO_PAGES_GIVE,
	/* (text, length), (text, length) */
	MICRO_LOG,
	MICRO_PANIC,
};

enum incoming_kind { INCOMING_CALL, INCOMING_CLIENT, INCOMING_NOTIFIED, INCOMING_CANCEL };

/* What a service receives. */
struct incoming {
	uint32_t kind;
	/* Of a call: what to reply to; of a client: its task. Of a cancellation: the task. */
	uint32_t who;
	/* Of notifications. */
	uint64_t bits;
	/* Of a cancellation: nobody waits for the answer. */
	bool forget;
	struct message m;
};

struct client_answer {
	int64_t result;
	uint64_t out[OUT_WORDS];
};

#ifdef TRIO_KERNEL
#include "core/task.h"
static inline uint64_t grant_owner(void)
{
	return (uint64_t)current->number << OWNER_SHIFT;
}

/* A frame into a service's space, with the tables for it. False: no memory. */
bool service_map(uint32_t space, uint64_t address, uint64_t frame, uint32_t protection);
#endif

#endif
