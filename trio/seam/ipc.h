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

/* Generated from an interface: what a message of a call looks like. `grants`: where in it grants begin, up to one
 * without rights; NULL: there are none. */
struct shape_grant {
	uint8_t at, rights;
};
struct shape {
	uint8_t kind, words, outs;
	const struct shape_grant *grants;
};

/* By endpoint: the domain that it is in, and its server; and its interface. */
struct endpoint {
	struct server *server;
	uint32_t domain;
	uint32_t count;
	const struct shape *shapes;
};
extern const struct endpoint endpoints[ENDPOINTS];

#define PORT_RANGES 8
#define PCI_DEVICES 8

/* By number: a server, and what it may do. */
struct domain {
	const char *name;
	/* A bit an endpoint: its own; those that it may call, and upward, or its own, notify. A bit a call: of the
	 * kernel's, of vm's. */
	uint64_t endpoints, calls, notifies, kernel_calls, vm_calls;
	/* What becomes of it when it ends, of enum server_policy; what it has taken stays then. */
	uint8_t policy;
	bool keeps_pages;
	/* All memory of the tasks whose requests it has. */
	bool has_clients_memory;
	/* Some of its services reads and writes programs' memory by frame. */
	bool has_windows;
	/* It tells of devices' memory, and may map all. */
	bool has_bus;
	/* Of the machine: a bit a line; ranges, PCI functions (device * 65536 + vendor), up to the first
	 * that is zero. */
	uint32_t interrupts;
	struct {
		uint32_t first, count;
	} ports[PORT_RANGES];
	uint32_t devices[PCI_DEVICES];
	/* One of the two: a program, or what a thread runs. */
	const uint8_t *image;
	void (*run)(void);
};
extern const struct domain domains[DOMAINS];

/* The task that runs what services in the kernel are notified of: its number. */
#define NOTIFIER (TASKS + DOMAINS)
extern struct task *notifier;

/* Of the task that runs: its domain, 0 for a program's. */
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

/* One piece between memory that may not be there, such as a program's, and one's own. 0: done. */
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

/* Whether it is a program's. A server's counts are those of others, and it lives in no space that others do. */
static inline bool is_programs(const struct task *t)
{
	return !SERVERS || t->number < TASKS;
}

static inline bool is_process(uint32_t domain)
{
	return PROCESSES && domains[domain].image;
}

/* Generated: the kernel's calls as a server makes them, by their numbers, and those that have grants: a bit each. */
#define KERNEL_CALLS 64
extern int64_t (*const kernel_calls_by_words[KERNEL_CALLS])(uint64_t *words);
extern const uint64_t kernel_calls_with_grants;

/* What a server asks, of the enum of message.h; and from a process, counted, with what is to be done after it. */
int64_t domain_trap(uint64_t number, uint64_t *a);
int64_t process_trap(uint64_t number, uint64_t *a);
/* A call of the present server's, if it may make it. Its result, or why it may not. */
int64_t domain_call(uint64_t header, uint64_t *words);
/* As TRAP_REPLY_AND_WAIT. */
int64_t server_reply_and_wait(uint64_t whom, int64_t result, const uint64_t *outs);
/* The same of a thread, which finds the words at `words`. */
uint64_t thread_reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs);

/* Generated: a server's call of a service in the kernel. */
int64_t service_entered(uint64_t header, uint64_t *words);

/* Of structure.h's functions, what they are where there are servers. */
void servers_begin(void);
void server_notify(uint32_t endpoint, uint64_t bits);
/* Whoever was notified is ready before all others, the one with the lowest services first. */
void notified_start(void);
void server_interrupt(struct task *t);
void server_forget(struct task *t);
void server_late(struct task *t);
/* The present server had the processor for a tick. One that never asks for what is next ends, in server_look: services
 * that called it could not do anything else any more. */
void server_ticked(void);
/* With the switch by-mapping (window.c): it may be in the middle of a copy, and others may run. */
void server_stops(void);
void server_look(void);
/* What servers counted themselves: added. */
void servers_count(struct counters *sum);
bool server_has_parked(const struct task *t);

/* grants.c: an entry of the table for a grant in the present task's call to a domain: two words, which name it then.
 * One of nothing needs no entry. False: the task has no right to what it grants. */
bool grant_give(struct task *t, unsigned holder, uint64_t *word, unsigned rights);
static inline bool grant_put(struct task *t, unsigned holder, uint64_t *word, unsigned rights)
{
	if (word[1] != 0)
		return grant_give(t, holder, word, rights);
	word[0] = NO_GRANT;
	return true;
}
/* They end, one of them being refused: the call's result. */
static inline int64_t grants_refused(struct caller *c)
{
	c->grants = 0;
	return -EFAULT;
}
/* All of a call's; where one is refused there are none. */
bool grants_give(struct task *t, const struct endpoint *e, uint16_t call, uint64_t *words);
/* They last as long as the call waits. */
static inline void grants_end(struct caller *c)
{
	c->grants = 0;
}
/* Those that a domain holds (0: none) or that are of a task's memory (UINT32_MAX: of none) are nobody's from now on. */
void grants_revoke(uint32_t holder, uint32_t owner);
/* Memory of `task`, whose request the present domain has. Its id; of a grant of nothing, where there is no such
 * request. */
uint64_t grant_of_client(uint32_t task, uint64_t address, uint64_t length);
/* As TRAP_COPY, for the present domain. `trusted`: `own` may be the kernel's memory. */
int64_t grants_copy(struct copying *c, bool trusted);
/* As TRAP_COPY_DIRECTLY. */
int64_t grants_copy_short(uint64_t id, uint64_t length, uint64_t offset, uint64_t own, uint64_t n, uint64_t kind);
/* Whether the grants in a message are a process's to give: its own memory, or entries. */
bool grants_are_own(const struct shape *shape, const uint64_t *words);
/* Whether the present domain has a request of that task's. */
bool has_client(uint32_t task);

/* pages.c: pages and windows of servers that are processes. */
int64_t process_pages_take(uint64_t count);
int64_t process_pages_give(uint64_t address, uint64_t count);
uint64_t process_window(uint32_t domain, uint64_t frame);
/* What vm, as a process, may do with frames: give windows on programs' memory; give up what it took; map that, or a
 * device's memory that is its own. */
bool frame_is_lent(uint64_t frame);
void frame_hold_own(uint64_t frame);
bool frame_drop_own(uint64_t frame);
bool process_may_map(uint64_t frame, uint64_t count);
/* All that the present process has of memory; its address space is gone. Its pages stay where it keeps them. */
void process_free(uint32_t domain);
/* Copies of a process's memory; false: it is not there. */
bool process_read(uint32_t domain, uint64_t from, void *to, size_t n);
uint64_t process_device(uint32_t domain, uint64_t physical, uint64_t length);
/* Frames for the present process's device; those that its process before had, in the same order. 0: no memory. */
uint64_t process_dma_take(size_t count);
/* A program, an ELF file, becomes a server's process. NULL: no memory. */
struct task *process_load(uint32_t domain, const uint8_t *image);
/* Whether it is one that a process can be made of. */
bool process_is_program(const uint8_t *image, size_t length);
/* rights.c: what of the machine the present server, a process, may touch. */
bool process_may_port(uint32_t port, uint32_t size);
bool process_may_line(uint32_t line);
/* Whether the service at `endpoint` is in it. */
bool process_is(uint32_t endpoint);
bool process_may_memory(uint64_t from, uint64_t length);
/* A function's memory. False: there is no room to note it. */
bool process_memory_add(uint32_t id, uint64_t begin, uint64_t length);
/* clients.c: whether it may end a task: one that does not run yet, or whose request it has. */
bool process_may_end(const struct task *t);

#endif
