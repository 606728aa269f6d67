/* kernel.c: GNU Mach's traps, and those of its calls by message that our program makes outside its regions. */
#include "mach.h"

/* As for C, with the seventh argument and further ones on the stack, above a return address. */
#define TRAP(name, number)                                                                               \
	__asm__(".globl " #name "\n" #name ":\n\tmov %rcx, %r10\n\tmov $-" #number ", %rax\n\tsyscall\n" \
		"\tret\n")
TRAP(null_trap, 10);
TRAP(mach_msg, 25);
TRAP(mach_reply_port, 26);
TRAP(mach_task_self, 28);
TRAP(mach_host_self, 29);
TRAP(vm_map, 64);
TRAP(vm_allocate, 65);
TRAP(vm_deallocate, 66);
TRAP(task_create, 68);
TRAP(task_terminate, 69);
TRAP(mach_port_allocate, 72);
TRAP(mach_port_insert_right, 74);

/* Numbers of calls; a reply's is larger by 100. */
enum {
	THREAD_SET_STATE = 2018,
	VM_INHERIT = 2025,
	THREAD_CREATE = 2061,
	THREAD_RESUME = 2063,
	HOST_REBOOT = 2635,
	HOST_KERNEL_VERSION = 2646,
	IO_PERM_CREATE = 3805,
	IO_PERM_MODIFY = 3806,
};
#define DEBUG_PORT 0xe9

port task_self;

void must(long status, const char *what)
{
	if (status != 0)
		fail(what);
}

void begin(struct message *m)
{
	m->size = HEADER;
	m->bits = 0;
}

void item(struct message *m, uint64_t type, uint64_t value)
{
	uint64_t *at = (uint64_t *)((char *)m + m->size);

	at[0] = type;
	at[1] = value;
	m->size += 16;
	if (!(type & IN_LINE) || (type & 0xff) >= MOVE_RECEIVE)
		m->bits |= COMPLEX;
}

void call_kernel(struct message *m, port to, int id, const char *what)
{
	static port reply;

	if (!reply)
		reply = mach_reply_port();
	m->bits |= COPY_SEND | MAKE_SEND_ONCE << 8;
	m->remote = to;
	m->local = reply;
	m->id = id;
	must(mach_msg(m, SEND | RECEIVE, m->size, sizeof *m, reply, 0, 0), what);
	if (m->id != id + 100 || (int32_t)m->body[1] != 0)
		fail(what);
}

port new_port(void)
{
	port made;

	must(mach_port_allocate(task_self, RIGHT_RECEIVE, &made), "mach_port_allocate");
	must(mach_port_insert_right(task_self, made, made, MAKE_SEND), "mach_port_insert_right");
	return made;
}

uintptr_t new_memory(size_t size)
{
	uintptr_t at = 0;

	must(vm_allocate(task_self, &at, size, 1), "vm_allocate");
	return at;
}

void drop_memory(uintptr_t at, size_t size)
{
	must(vm_deallocate(task_self, at, size), "vm_deallocate");
}

void share(uintptr_t at, size_t size)
{
	static struct message m;

	begin(&m);
	item(&m, ITEM(INTEGER_64, 64, 1) | IN_LINE, at);
	item(&m, ITEM(INTEGER_64, 64, 1) | IN_LINE, size);
	item(&m, ITEM(INTEGER_32, 32, 1) | IN_LINE, INHERIT_SHARE);
	call_kernel(&m, task_self, VM_INHERIT, "vm_inherit");
}

void start(port task, void (*entry)(void), void *stack_end)
{
	/* r8 to r15, rdi, rsi, rbp, rsp, rbx, rdx, rcx, rax, rip, cs, flags, the stack's end, ss */
	enum { RIP = 16, RSP = 19, WORDS = 21 };
	static struct message m;
	port thread;

	begin(&m);
	call_kernel(&m, task, THREAD_CREATE, "thread_create");
	thread = (port)m.body[3];
	begin(&m);
	item(&m, ITEM(INTEGER_32, 32, 1) | IN_LINE, 1);
	m.body[2] = ITEM(INTEGER_32, 32, 2 * WORDS) | IN_LINE;
	for (int i = 0; i < WORDS; i++)
		m.body[3 + i] = 0;
	m.body[3 + RIP] = (uintptr_t)entry;
	m.body[3 + RSP] = (uintptr_t)stack_end - 8; /* as after a call */
	m.size += 8 + 8 * WORDS;
	call_kernel(&m, thread, THREAD_SET_STATE, "thread_set_state");
	begin(&m);
	call_kernel(&m, thread, THREAD_RESUME, "thread_resume");
}

static char second_stack[65536] __attribute__((aligned(16)));

port second_task(void (*entry)(void))
{
	port made;

	must(task_create(task_self, 1, &made), "task_create");
	if (entry)
		start(made, entry, second_stack + sizeof second_stack);
	return made;
}

port serve(void (*entry)(void))
{
	port at = new_port(), task = second_task(NULL);

	must(mach_port_insert_right(task, SERVER, at, MOVE_RECEIVE), "mach_port_insert_right");
	start(task, entry, second_stack + sizeof second_stack);
	return at;
}

void kernel_version(char to[512])
{
	static struct message m;

	begin(&m);
	call_kernel(&m, mach_host_self(), HOST_KERNEL_VERSION, "host_get_kernel_version");
	__builtin_memcpy(to, &m.body[3], 511);
	to[511] = '\0';
}

/* The port is opened last, so that no timed switch of tasks has rights to ports to look after. */
void power_off(port host, port device, const char *text, size_t size)
{
	static struct message m;
	port allowed;

	begin(&m);
	item(&m, ITEM(INTEGER_16, 16, 1) | IN_LINE, DEBUG_PORT);
	item(&m, ITEM(INTEGER_16, 16, 1) | IN_LINE, DEBUG_PORT);
	call_kernel(&m, device, IO_PERM_CREATE, "i386_io_perm_create");
	allowed = (port)m.body[3];
	begin(&m);
	item(&m, ITEM(COPY_SEND, 64, 1) | IN_LINE, allowed);
	item(&m, ITEM(BOOLEAN, 32, 1) | IN_LINE, 1);
	call_kernel(&m, task_self, IO_PERM_MODIFY, "i386_io_perm_modify");
	__asm__ volatile("rep outsb" : "+S"(text), "+c"(size) : "d"(DEBUG_PORT) : "memory");
	begin(&m);
	item(&m, ITEM(INTEGER_32, 32, 1) | IN_LINE, 0);
	call_kernel(&m, host, HOST_REBOOT, "host_reboot");
}
