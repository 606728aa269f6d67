/* ipc.h: the kernel's side of messages: domains, what they may do, and grants. */
#ifndef TRIO_IPC_H
#define TRIO_IPC_H

#include "core/memory.h"
#include "core/task.h"
#include "domains.h"
#include "message.h"

enum shape_kind { SHAPE_NONE, SHAPE_CALL, SHAPE_CLIENT };

/* Generated from an interface: what a message of a call looks like. `reads`, `writes`: a bit for each word where a
 * grant of that right begins. */
struct shape {
	uint8_t kind, words, outs;
	uint16_t reads, writes;
};

/* By endpoint: the domain that it is in, and its interface. */
struct endpoint {
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

/* Whether the task is a server's. */
static inline bool is_server(const struct task *t)
{
	return SERVERS && t->number > TASKS && t->number < TASKS + DOMAINS;
}

static inline bool is_process(uint32_t domain)
{
	return PROCESSES && domains[domain].image;
}

/* What a server asks: enum of message.h. */
int64_t domain_trap(uint64_t number, const uint64_t *a);

/* Generated: a server's call of a service in the kernel. */
void service_entered(uint32_t endpoint, struct message *m);

/* Of structure.h's functions, what they are where there are servers. */
void servers_begin(void);
void server_notify(uint32_t endpoint, uint64_t bits);
void servers_deliver(void);
void server_interrupt(struct task *t);
void server_forget(struct task *t);
void server_late(uint32_t task);
/* The present server had the processor for a tick. One that never asks for what is next ends, in server_look: services
 * that called it could not do anything else any more. */
void server_ticked(void);
void server_look(void);
/* What servers counted themselves: added. */
void servers_count(struct counters *sum);
bool server_has_parked(const struct task *t);

/* grants.c: entries of the table for the grants in a message from the present task to a domain; the message names them
 * then. They are valid until grants_end of the one who calls. 0 or -EFAULT. */
int64_t grants_give(const struct shape *shape, struct message *m, uint32_t holder);
void grants_end(uint32_t caller);
/* Those that a domain holds (0: none) or that are of a task's memory (UINT32_MAX: of none) are nobody's from now on. */
void grants_revoke(uint32_t holder, uint32_t owner);
/* Memory of `task`, whose request the present domain has. Its id; of a grant of nothing, where there is no such
 * request. */
uint64_t grant_of_client(uint32_t task, uint64_t address, uint64_t length);
/* As TRAP_COPY, for the present domain. `trusted`: `own` may be the kernel's memory. */
int64_t grants_copy(struct copying *c, bool trusted);
/* Whether the grants in a message are a process's to give: its own memory, or entries. */
bool grants_are_own(const struct shape *shape, const struct message *m);
/* Whether the present domain has a request of that task's. */
bool has_client(uint32_t task);

/* pages.c: pages and windows of servers that are processes. */
int64_t process_pages_take(uint64_t count);
int64_t process_pages_give(uint64_t address, uint64_t count);
uint64_t process_window(uint32_t domain, uint64_t frame);
void windows_start(void);
/* What vm, as a process, may do with frames: give windows on programs' memory; give up what it took; map that, or a
 * device's memory that is its own. */
bool frame_is_lent(uint64_t frame);
void frame_hold_own(uint64_t frame);
bool frame_drop_own(uint64_t frame);
bool process_may_map(uint64_t frame, uint64_t count);
/* All that a process has of memory; its address space is gone. */
void process_free(uint32_t domain);
/* Copies of a process's memory; false: it is not there. */
bool process_read(uint32_t domain, uint64_t from, void *to, size_t n);
uint64_t process_device(uint32_t domain, uint64_t physical, uint64_t length);
/* A server's program becomes its process. */
struct task *process_load(uint32_t domain);
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
