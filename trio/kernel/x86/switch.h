/* switch.h: what a switch between tasks exchanges: FPU, thread pointers, selectors, ports, the kernel's stack, the
 * address space. Every message makes a switch, so it is inline. */
#ifndef TRIO_SWITCH_H
#define TRIO_SWITCH_H

#include "core/task.h"
#include "x86/cpu.h"
#include "x86/tags.h"

/* Intel SDM volume 3, 8.7: the 64-bit task state segment. The present task's registers are saved at rsp[0], which
 * entry.S reads too. */
struct processor_state {
	uint32_t zero;
	uint64_t rsp[3], zero_2, stacks[7], zero_3;
	uint16_t zero_4, ports_at;
	/* A set bit refuses. The byte after the last must be all ones. */
	uint8_t ports[PORT_BYTES + 1];
} __attribute__((packed, aligned(16)));
extern struct processor_state processor_state;

/* Whether the processor has instructions for thread pointers. */
extern bool has_fsgsbase;
#define HAS_FSGSBASE __builtin_expect(has_fsgsbase, 1)

void processor_load_bases_slowly(const struct task *t);
/* A switch where either task has what few tasks have. */
void processor_switch_rare(struct task *from, struct task *to);

static inline void processor_fpu_save(struct task *t)
{
	__asm__ volatile("fxsave64 %0" : "=m"(t->fpu));
}

static inline void processor_fpu_load(const struct task *t)
{
	__asm__ volatile("fxrstor64 %0" : : "m"(t->fpu));
}

/* A program may have moved its thread pointers itself if the processor has instructions for that. */
static inline void processor_save_bases(struct task *t)
{
	if (HAS_FSGSBASE)
		__asm__ volatile("rdfsbase %0\n\trdgsbase %1" : "=r"(t->fs_base), "=r"(t->gs_base));
}

static inline void processor_load_bases(const struct task *t)
{
	if (HAS_FSGSBASE)
		__asm__ volatile("wrfsbase %0\n\twrgsbase %1" : : "r"(t->fs_base), "r"(t->gs_base));
	else
		processor_load_bases_slowly(t);
}

/* Returns 0 if DS, ES, FS and GS are all 0. */
static inline uint32_t processor_selectors(void)
{
	uint32_t ds, es, fs, gs;

	__asm__ volatile("mov %%ds, %0\n\tmov %%es, %1\n\tmov %%fs, %2\n\tmov %%gs, %3"
			 : "=r"(ds), "=r"(es), "=r"(fs), "=r"(gs));
	return ds | es | fs | gs;
}

/* Saves what a program has of the processor beside its registers. A server has no FPU of its own: it finds the first
 * state each time it gets the processor. */
static inline void processor_save(struct task *from)
{
	processor_save_bases(from);
	processor_fpu_save(from);
}

/* Loads it for a task that has a user mode. */
static inline void processor_load(const struct task *to)
{
	processor_load_bases(to);
	processor_fpu_load(to);
	processor_state.rsp[0] = (uint64_t)(to->user + 1);
}

static inline void processor_load_space(const struct task *to)
{
	space_load(to->cr3);
	COUNT_FOR(to, space_switches, 1);
}

static inline void processor_switch(struct task *from, struct task *to)
{
	if (from->number < TASKS)
		processor_save(from);
	if (processor_selectors() | from->rare | to->rare)
		processor_switch_rare(from, to);
	if (!to->user)
		return;
	processor_load(to);
	if (cr3_loaded != to->cr3)
		processor_load_space(to);
}

/* The same, shorter: from a program or a server to a server's process. Selectors that a server might load, and none
 * does, stay. They mean nothing, except where a processor has no instructions for thread pointers: there
 * processor_load_bases_slowly takes them out. */
static inline void processor_to_server(struct task *from, bool is_program, struct task *server)
{
	if (is_program) {
		processor_save(from);
		if (processor_selectors() | from->rare)
			processor_switch_rare(from, server);
	}
	processor_load(server);
	processor_load_space(server);
}

/* The way back, to a task that has a user mode and nothing rare. */
static inline void processor_to_program(struct task *program)
{
	processor_load(program);
	processor_load_space(program);
}

#endif
