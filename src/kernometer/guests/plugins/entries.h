/* entries.h: by which entries Linux's instructions were executed: system calls by number, page faults, interrupts.
 * x86-64 in long mode, where registers can be read.
 *
 * An entry is a block of the kernel's after one of user mode; or one that begins with `cld`, as those do to which an
 * exception or an interrupt leads (since Linux 5.19), and which ends with an `iret`. After a `syscall` it is that of
 * rax; otherwise the stack tells a fault, for which the processor pushes an error code, from an interrupt. Each task
 * has its own: Linux switches where it loads the stack pointer from the next task's structure, and a task is its
 * stack. */
#ifndef KM_ENTRIES_H
#define KM_ENTRIES_H

#include "decode.h"
#include "processors.h"
#include "qemu_api.h"
#include "strings.h"

#define CALLS 512u /* numbers of system calls */
#define NESTED 4u
#define MAX_TASKS 4096u
#define STACK_OF(pointer) ((pointer) >> 14) /* Linux's THREAD_SIZE */

/* entries.py names them in this order. OTHER: tasks that have not been in user mode; most are the kernel's. */
enum entry { FAULT_READ = CALLS, FAULT_WRITE, FAULT_COPY, INTERRUPT, OTHER, OPEN_NEW, FSTAT_EMPTY, ENTRIES };

/* What a flag makes another call: with O_CREAT a file is made, with AT_EMPTY_PATH no name is looked up. Registers have
 * gdb's numbers: rax, rdx, rsi, r10. */
#define REGISTER_RAX 0
static const struct flag {
	unsigned int call;
	int where;
	uint64_t flag;
	enum entry entry;
} flags[] = { { 2, 4, 0x40, OPEN_NEW }, { 257, 3, 0x40, OPEN_NEW }, { 262, 10, 0x1000, FSTAT_EMPTY } };

struct entry_counts {
	uint64_t number[ENTRIES], instructions[ENTRIES];
};

struct task {
	uint64_t stack;
	unsigned int entries[NESTED], depth;
};

static struct {
	int on, in_kernel, fresh, calls, switches, returns; /* what the last block was; what the last instruction did */
	uint64_t charged;                                   /* so many of the kernel's instructions are */
	struct task *task, tasks[MAX_TASKS];                /* a hash table; stack 0: an empty place */
	struct entry_counts counts;
} entries;

static void entries_charge(unsigned int vcpu)
{
	uint64_t now = counters(vcpu)[KERNEL] - strings.repeated[KERNEL];

	entries.counts.instructions[entries.task->entries[entries.task->depth]] += now - entries.charged;
	entries.charged = now;
}

static struct task *task_with(uint64_t stack)
{
	size_t at = (size_t)(stack * 0x9e3779b97f4a7c15ull >> 40) % MAX_TASKS, n;

	for (n = 0; n < MAX_TASKS && entries.tasks[at].stack != stack; n++, at = (at + 1) % MAX_TASKS)
		if (entries.tasks[at].stack == 0) {
			entries.tasks[at] = (struct task){ stack, { OTHER }, 0 };
			break;
		}
	return &entries.tasks[at];
}

static unsigned int called(void)
{
	uint64_t number = register_of_cpu(REGISTER_RAX);
	size_t i;

	for (i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (flags[i].call == number && register_of_cpu(flags[i].where) & flags[i].flag)
			return flags[i].entry;
	return number < CALLS ? (unsigned int)number : OTHER;
}

/* A fault by its error code: of a page that is there, of one that is written, or else. */
static unsigned int interrupted(void)
{
	uint64_t pointer = register_of_cpu(REGISTER_RSP), code = 0;

	if (pointer & 8)
		return INTERRUPT;
	cpu_memory_rw_debug(qemu_get_cpu(0), pointer, &code, sizeof code, false);
	return code & 2 ? code & 1 ? FAULT_COPY : FAULT_WRITE : FAULT_READ;
}

static void enter(unsigned int entry)
{
	struct task *task = entries.task;

	task->depth = entries.in_kernel && task->depth + 1 < NESTED ? task->depth + 1 : 0;
	task->entries[task->depth] = entry;
	entries.counts.number[entry]++;
}

enum block { USER_BLOCK, KERNEL_BLOCK, VECTOR_BLOCK };

/* The first instruction of a block, after its own count was added. */
static void on_block(unsigned int vcpu, void *userdata)
{
	enum block block = (enum block)(uintptr_t)userdata;
	int enters = block == VECTOR_BLOCK ? !entries.fresh : block == KERNEL_BLOCK && !entries.in_kernel;

	if (entries.in_kernel && (enters || block == USER_BLOCK || entries.switches || entries.returns))
		entries_charge(vcpu);
	if (entries.returns && block != USER_BLOCK)
		entries.task->depth -= entries.task->depth > 0;
	if (entries.switches)
		entries.task = task_with(STACK_OF(register_of_cpu(REGISTER_RSP)));
	if (enters)
		enter(entries.calls ? called() : interrupted());
	entries.fresh = enters; /* QEMU may begin a block at `cld` too, within an entry */
	entries.in_kernel = block != USER_BLOCK;
	entries.calls = entries.switches = entries.returns = 0;
}

/* What the translation block begins. An `endbr64` and a `clac` may be before `cld`. */
static enum block block_of(struct qemu_plugin_tb *tb, size_t n, int ring)
{
	size_t i;

	if (!x86_in_kernel(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)), ring))
		return USER_BLOCK;
	for (i = 0; i < n && i < 3; i++) {
		unsigned char byte = 0;

		if (copy_bytes(qemu_plugin_tb_get_insn(tb, i), &byte, 1) == 1 && byte == 0xfc)
			return VECTOR_BLOCK;
	}
	return KERNEL_BLOCK;
}

static void set(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	*(int *)userdata = 1;
}

/* After the instruction's own count was added; `block`: what it begins, or NULL. */
static void entries_instrument(struct qemu_plugin_insn *insn, const unsigned char *bytes, int kernel,
			       const enum block *block)
{
	struct decoded d = skip_prefixes(bytes);
	int *what = NULL;

	if (!kernel && d.op[0] == 0x0f && d.op[1] == 0x05)
		what = &entries.calls;
	else if (kernel && d.op[0] == 0xcf)
		what = &entries.returns;
	else if (kernel && d.rex == 0x48 && d.op[0] == 0x8b && (d.op[1] == 0xa6 || d.op[1] == 0x66))
		what = &entries.switches; /* mov disp(%rsi), %rsp */
	if (block != NULL)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_block, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)*block);
	if (what != NULL)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, set, QEMU_PLUGIN_CB_NO_REGS, what);
}

static int entries_open(void)
{
	entries.task = &entries.tasks[0];
	*entries.task = (struct task){ UINT64_MAX, { OTHER }, 0 };
	return entries.on = 1;
}

#endif
