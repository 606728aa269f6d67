/* mach.h: what our program needs of GNU Mach's interface on x86-64, declared by hand: traps, messages, a few calls of
 * the kernel's; and what its files share. There is no C library here. */
#ifndef KM_MACH_H
#define KM_MACH_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t port; /* a task's name for a right; 0: none */

#define PAGE 4096UL
#define BODY_WORDS 1024 /* more than any message here has */

/* A message as a task sees it: a header, then items, each a word that describes it and its value, in whole words. */
struct message {
	uint32_t bits, size;
	uint64_t remote, local; /* ports, in the low halves */
	uint32_t sequence;
	int32_t id;
	uint64_t body[BODY_WORDS];
};
#define HEADER offsetof(struct message, body)

/* What a right in a message becomes; the kinds of its data. */
enum { MOVE_RECEIVE = 16, MOVE_SEND_ONCE = 18, COPY_SEND = 19, MAKE_SEND = 20, MAKE_SEND_ONCE = 21 };
enum { BOOLEAN = 0, INTEGER_16 = 1, INTEGER_32 = 2, BYTE = 9, INTEGER_64 = 11 };
#define COMPLEX 0x80000000U       /* in `bits`: rights or memory follow */
#define IN_LINE (1UL << 29)       /* the values follow the item's word, else their address */
#define LEAVES_SENDER (1UL << 31) /* memory that the sender no longer has */
#define ITEM(kind, width, number) ((uint64_t)(kind) | (uint64_t)(width) << 8 | (uint64_t)(number) << 32)
#define BYTES(number) (ITEM(BYTE, 8, number) | IN_LINE)
#define LONG_FORM (1UL << 30) /* what its calls want of memory */
#define MEMORY(number) (ITEM(BYTE, 8, number) | LONG_FORM)
enum { SEND = 1, RECEIVE = 2 };
enum { INHERIT_SHARE = 0, INHERIT_COPY = 1 };
enum { RIGHT_RECEIVE = 1, READ_WRITE = 3 };

/* kernel.c: traps. They return a port, or 0 for success. */
long null_trap(void); /* number 10, which returns 0 at once */
port mach_task_self(void);
port mach_host_self(void);
port mach_reply_port(void);
long mach_msg(struct message *, int option, uint32_t size, uint32_t room, port from, uint32_t timeout, port notify);
long vm_map(port task, uintptr_t *at, size_t, uintptr_t mask, int anywhere, port object, size_t offset, int copy,
	    int now, int most, int inherit);
long vm_allocate(port task, uintptr_t *at, size_t, int anywhere);
long vm_deallocate(port task, uintptr_t at, size_t);
long task_create(port parent, int inherit, port *);
long task_terminate(port);
long mach_port_allocate(port task, int right, port *);
long mach_port_insert_right(port task, port name, port, int kind);

/* kernel.c: calls of the kernel by message. Each ends the program, with its name, if it fails. */
void item(struct message *, uint64_t type, uint64_t value); /* appends to a message of `begin` */
void begin(struct message *);
extern port task_self; /* this task's: it is asked for once, since asking costs 400 instructions */
void must(long status, const char *what);
void call_kernel(struct message *, port, int id, const char *what); /* reply in place: body[1] is its status, 0 */
port new_port(void);                                                /* with a right to receive and one to send */
uintptr_t new_memory(size_t);
void drop_memory(uintptr_t, size_t);
void share(uintptr_t, size_t); /* with tasks that are made later */
void start(port task, void (*entry)(void), void *stack_end);
port second_task(void (*entry)(void)); /* lives until the machine ends, with a copy of this memory */
/* What a second task listens at: a right to send here, to receive there, where its name is SERVER. */
#define SERVER 4096U
port serve(void (*entry)(void));
void power_off(port host, port device, const char *text, size_t); /* after the text has left by the debug port */
void kernel_version(char to[512]);

/* units: what is measured. Names are those of the registry, which is probe-trio's; figures are per `ops` of them. */
struct unit {
	const char *name, *unsupported;
	int ops;
	void (*setup)(const long arg[]);
	void (*run)(void *, uint64_t n); /* timed */
	void (*baseline)(void *, uint64_t n);
	void (*prepare)(void), (*settle)(void); /* before and after a sample */
	void (*verify)(uint64_t n);
};
extern const struct unit trap_units[], message_units[], turn_units[], memory_units[], pager_units[];
void null_traps(void *, uint64_t n);

/* main.c */
_Noreturn void fail(const char *what);

/* ../marker.c */
void mark_begin(unsigned region);
void mark_end(unsigned region);

/* text.c: the output, kept until the end; the registry's list, a record a line. */
void put(const char *);
void put_n(const char *, size_t);
void put_number(uint64_t);
void put_string(const char *); /* quoted */
size_t length(const char *);
int same(const char *, const char *, size_t);
int starts(const char *, const char *with);
extern char output[];
extern size_t output_used;
/* A row of the list: its record's line, its own part of it, its name and number. */
struct row {
	const char *line, *at, *name;
	size_t name_length;
};
int next_row(struct row *); /* moves on to the next row; from zeros to the first; 0: there is none */
uint64_t number_in(const char *from, const char *key);
const char *after(const char *from, const char *key);
int selected(const struct row *, char **words, int n, int quick);
void put_definitions(char **words, int n, int quick);

#endif
