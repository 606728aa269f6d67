/* ipc.h: the kernel's side of messages: domains, what they may do, and grants. */
#ifndef TRIO_IPC_H
#define TRIO_IPC_H

#include "core/memory.h"
#include "core/task.h"
#include "domains.h"
#include "message.h"
#include "numbers.h"
#include "x86/entry.h"

enum shape_kind { SHAPE_NONE, SHAPE_CALL, SHAPE_CLIENT };

enum { RIGHT_READ = 1, RIGHT_WRITE = 2 };

/* Generated from an interface: what a message of a call looks like. `grants` lists where grants begin in it; an entry
 * without rights ends the list; NULL: the call has no grants. */
struct shape_grant {
	uint8_t at, rights;
};
struct shape {
	uint8_t kind, words, outs;
	const struct shape_grant *grants;
};

/* By endpoint: its domain, that domain's server, and its interface. */
struct endpoint {
	struct server *server;
	uint32_t domain;
	uint32_t count;
	const struct shape *shapes;
};
extern const struct endpoint endpoints[ENDPOINTS];

#define PORT_RANGES 8
#define PCI_DEVICES 8

/* By number: a server and its rights. */
struct domain {
	const char *name;
	/* A bit for each endpoint: the domain's own ones; those that it may call; those above it, or its own, that it
	 * may notify. A bit for each call that it may make: of the kernel, of vm. */
	uint64_t endpoints, calls, notifies, kernel_calls, vm_calls;
	/* policy: what becomes of the server when it ends (enum server_policy). keeps_pages: the pages that it took
	 * stay then. */
	uint8_t policy;
	bool keeps_pages;
	/* How many it may have. */
	uint64_t pages_most;
	/* It may read and write all memory of the tasks whose requests it has. */
	bool has_clients_memory;
	/* One of its services reads and writes programs' memory by frame. */
	bool has_windows;
	/* It tells the kernel of devices' memory, and may map all of that. */
	bool has_bus;
	/* Its rights to the machine: a bit for each interrupt line; ranges of ports and PCI functions (device * 65536 +
	 * vendor), each list up to the first entry that is zero. */
	uint32_t interrupts;
	struct {
		uint32_t first, count;
	} ports[PORT_RANGES];
	uint32_t devices[PCI_DEVICES];
	/* Either a program or the function that a thread runs. */
	const uint8_t *image;
	void (*run)(void);
};
extern const struct domain domains[DOMAINS];

/* The number of the task that delivers notifications to services in the kernel. */
#define NOTIFIER (TASKS + DOMAINS)
extern struct task *notifier;

/* The domain of the task that runs; 0 for a program's task. */
#define PRESENT_DOMAIN (is_server(current) ? current->number - TASKS : 0)

/* A grant of a service's own memory is its address in the kernel. */
static inline bool is_own(struct grant g)
{
	return g.id >= DIRECT_MAP;
}

static inline bool is_user(uint64_t address, size_t n)
{
	return address < USER_END && n <= USER_END - address;
}

/* What a server that is a process may name as its own: user memory, and the text of programs of processes. Only its
 * page tables know which of it is there. */
static inline bool is_process_memory(uint64_t address, size_t n)
{
	uint64_t text = address - PROCESS_TEXT, end = DOMAINS * PROCESS_TEXT_BYTES;

	return is_user(address, n) || (text < end && n <= end - text);
}

/* Copies one piece between memory that may be absent, such as a program's, and the caller's own. Returns 0 if it
 * did. */
static inline long copy_user(enum copy_kind kind, uint64_t user, uint64_t own, size_t n)
{
	if (kind == COPY_ZEROS)
		return user_zero((void *)user, n);
	if (kind == COPY_OUT)
		return user_copy((void *)user, (const void *)own, n);
	return user_copy((void *)own, (const void *)user, n);
}

/* Whether the task is a server's. */
static inline bool is_server(const struct task *t)
{
	return SERVERS && t->serves;
}

/* Whether the task is a program's. A server's task counts for others, and no other task lives in its space. */
static inline bool is_programs(const struct task *t)
{
	return !SERVERS || t->number < TASKS;
}

static inline bool is_process(uint32_t domain)
{
	return PROCESSES && domains[domain].image;
}

/* Generated: by number, the kernel's calls as a server makes them; a bit for each call that has grants. */
#define KERNEL_CALLS 64
extern int64_t (*const kernel_calls_by_words[KERNEL_CALLS])(uint64_t *words);
extern const uint64_t kernel_calls_with_grants;

/* Serves a request of a server (the numbers are message.h's enum). process_trap also counts it and does the work that
 * is due after it. */
int64_t domain_trap(uint64_t number, uint64_t *a);
int64_t process_trap(uint64_t number, uint64_t *a);
/* Makes a call for the present server, if it may make it. Returns the call's result, or why it was refused. */
int64_t domain_call(uint64_t header, uint64_t *words);
/* See TRAP_REPLY_AND_WAIT. */
int64_t server_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs);
/* The same for a thread, which finds the words at `words`. */
uint64_t thread_reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs);

/* Generated: a server's call of a service in the kernel. */
int64_t service_entered(uint64_t header, uint64_t *words);

/* What structure.h's functions do where there are servers. */
void servers_begin(void);
void server_notify(uint32_t endpoint, uint64_t bits);
/* Makes all that were notified ready before all other tasks, the one with the lowest services first. */
void notified_start(void);
void server_interrupt(struct task *t);
void server_forget(struct task *t);
void server_late(struct task *t);
/* The present server had the processor for a tick. server_look ends a server that never asks for its next message,
 * since the services that called it would wait for ever. */
void server_ticked(void);
/* With the switch by-mapping (window.c): other tasks may run although the present server may be in the middle of a
 * copy. */
void server_stops(void);
void server_look(void);
/* Adds what servers counted themselves. */
void servers_count(struct counters *sum);
bool server_has_parked(const struct task *t);

/* grants.c: makes an entry of the table for a grant in the present task's call to a domain, and puts its name into the
 * grant's two words. A grant of nothing needs no entry. Returns false if the task has no right to what it grants. */
bool grant_give(struct task *t, unsigned holder, uint64_t *word, unsigned rights);
static inline bool grant_put(struct task *t, unsigned holder, uint64_t *word, unsigned rights)
{
	if (word[1] != 0)
		return grant_give(t, holder, word, rights);
	word[0] = NO_GRANT;
	return true;
}
/* One of the call's grants was refused: all of them end. Returns the call's result. */
static inline int64_t grants_refused(struct caller *c)
{
	c->grants = 0;
	return -EFAULT;
}
/* Gives all grants of a call, or none if one is refused. */
bool grants_give(struct task *t, const struct endpoint *e, uint16_t call, uint64_t *words);
/* Ends a call's grants, which last as long as the call waits. */
static inline void grants_end(struct caller *c)
{
	c->grants = 0;
}
/* Ends all grants that a domain holds (0: no domain) or that are of a task's memory (UINT32_MAX: of no task). */
void grants_revoke(uint32_t holder, uint32_t owner);
/* Grants memory of `task`, whose request the present domain has. Returns the grant's id, that of a grant of nothing if
 * the domain has no such request. */
uint64_t grant_of_client(uint32_t task, uint64_t address, uint64_t length);
/* See TRAP_COPY, for the present domain. `trusted`: `own` may be the kernel's memory. */
int64_t grants_copy(struct copying *c, bool trusted);
/* See TRAP_COPY_DIRECTLY. */
int64_t grants_copy_short(uint64_t id, uint64_t length, uint64_t offset, uint64_t own, uint64_t n, uint64_t kind);
/* Whether a process may give the grants in its message: they are of its own memory, or entries of the table. */
bool grants_are_own(const struct shape *shape, const uint64_t *words);
/* Whether the present domain has a request of that task. */
bool has_client(uint32_t task);

/* pages.c: pages and windows of servers that are processes. */
int64_t process_pages_take(uint64_t count);
int64_t process_pages_give(uint64_t address, uint64_t count);
uint64_t process_window(uint32_t domain, uint64_t frame);
/* What vm may do with frames when it is a process: give windows on programs' memory, give up the frames that it took,
 * and map those or the memory of its own devices. */
bool frame_is_lent(uint64_t frame);
void frame_hold_own(uint64_t frame);
bool frame_drop_own(uint64_t frame);
bool process_may_map(uint64_t frame, uint64_t count);
/* Frees the memory of the present process, whose address space is gone. The pages that it keeps stay. */
void process_free(uint32_t domain);
/* Where a byte that a process may read, or write, is in the direct map; NULL: it may not, or the byte is absent. */
char *process_place(uint32_t domain, uint64_t address, bool write);
/* Copies from a process's memory. Returns false if that memory is absent. */
bool process_read(uint32_t domain, uint64_t from, void *to, size_t n);
uint64_t process_device(uint32_t domain, uint64_t physical, uint64_t length);
/* Takes frames for the present process's device; they are those of the process before it, in the same order. Returns 0
 * without memory. */
uint64_t process_dma_take(size_t count);
/* Makes a server's process of a program, an ELF file. Returns NULL without memory. */
struct task *process_load(uint32_t domain, const uint8_t *image);
/* Whether the domain's process can be made of that file. */
bool process_is_program(uint32_t domain, const uint8_t *image, size_t length);
/* rights.c: what of the machine the present server may touch if it is a process. */
bool process_may_port(uint32_t port, uint32_t size);
bool process_may_line(uint32_t line);
/* Whether the present server contains the service at `endpoint`. */
bool process_is(uint32_t endpoint);
bool process_may_memory(uint64_t from, uint64_t length);
/* Notes a PCI function's memory. Returns false if there is no room for that. */
bool process_memory_add(uint32_t id, uint64_t begin, uint64_t length);
/* clients.c: whether the present server may end a task: a task that does not run yet, or whose request it has. */
bool process_may_end(const struct task *t);

#endif
