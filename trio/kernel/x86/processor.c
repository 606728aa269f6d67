/* processor.c: see processor.h. */
#include "core/memory.h"
#include "x86/cpu.h"
#include "x86/entry.h"
#include "x86/processor.h"
#include "x86/switch.h"
#include "x86/tags.h"

#define KERNEL_CS 0x08
#define KERNEL_SS 0x10
#define TSS_SELECTOR 0x28
#define GATES 256
#define GATE_INTERRUPT 0x8e00
#define GATE_FROM_USER 0x6000
#define VECTOR_BREAKPOINT 3
#define VECTOR_DOUBLE_FAULT 8
/* Indices of a task's selectors. */
enum { DS, ES, FS, GS };
/* Stacks that the processor takes even if something is wrong with the present one. */
#define STACK_DOUBLE_FAULT 1
#define EMERGENCY_STACK 4096

#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_SFMASK 0xc0000084
#define MSR_FS_BASE 0xc0000100
#define MSR_GS_BASE 0xc0000101

#define FLAG_TRAP 0x100
#define FLAG_INTERRUPT 0x200
#define FLAG_DIRECTION 0x400
#define FLAG_NESTED 0x4000
#define FLAG_ACCESS 0x40000

#define CR0_WRITE_PROTECT 0x10000UL
#define CR0_MONITOR 0x2UL
#define CR0_NUMERIC_ERROR 0x20UL
#define CR0_EMULATION 0x4UL
#define CR4_GLOBAL 0x80UL
#define CR4_FXSR 0x200UL
#define CR4_SIMD 0x400UL
#define CR4_UMIP 0x800UL
#define CR4_FSGSBASE 0x10000UL
#define CR4_SMEP 0x100000UL
#define CR4_SMAP 0x200000UL

struct gate {
	uint16_t low, selector, flags, middle;
	uint32_t high, zero;
} __attribute__((packed));

struct pointer {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

struct processor_state processor_state;

/* Null, kernel code, kernel data, user data, user code (in the order that SYSRET needs), and two entries for the
 * TSS. */
static uint64_t gdt[7] = { 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cff3000000ffff, 0x00affb000000ffff };
static struct gate idt[GATES];
static uint8_t emergency_stack[EMERGENCY_STACK] __attribute__((aligned(16)));
bool has_fsgsbase;
/* What a fresh FPU is loaded from. */
static const uint16_t no_selectors[SELECTORS];
static uint8_t fresh_fpu[512] __attribute__((aligned(16)));

static void load_segments(void)
{
	uint64_t base = (uint64_t)&processor_state, limit = sizeof processor_state - 1;
	struct pointer gdt_at = { sizeof gdt - 1, (uint64_t)gdt };

	processor_state.ports_at = sizeof processor_state;
	processor_state.stacks[STACK_DOUBLE_FAULT - 1] = (uint64_t)emergency_stack + EMERGENCY_STACK;
	gdt[5] = (limit & 0xffff) | (base & 0xffffff) << 16 | 0x89UL << 40 | (base >> 24 & 0xff) << 56;
	gdt[6] = base >> 32;
	__asm__ volatile("lgdt %0\n\t"
			 "pushq %1\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:\tmov %2, %%ss\n\t"
			 "mov %2, %%ds\n\t"
			 "mov %2, %%es\n\t"
			 "ltr %w3"
			 :
			 : "m"(gdt_at), "i"(KERNEL_CS), "r"(KERNEL_SS), "r"(TSS_SELECTOR)
			 : "rax", "memory");
}

static void load_vectors(void)
{
	struct pointer idt_at = { sizeof idt - 1, (uint64_t)idt };

	for (unsigned i = 0; i < GATES; i++) {
		uint64_t to = (uint64_t)entry_vectors[i];
		uint16_t flags = GATE_INTERRUPT;

		if (i == VECTOR_BREAKPOINT)
			flags |= GATE_FROM_USER;
		if (i == VECTOR_DOUBLE_FAULT)
			flags |= STACK_DOUBLE_FAULT;
		idt[i] = (struct gate){ (uint16_t)to, KERNEL_CS, flags, (uint16_t)(to >> 16), (uint32_t)(to >> 32), 0 };
	}
	__asm__ volatile("lidt %0" : : "m"(idt_at));
}

/* Puts a no-op of the same three bytes in the place of each, where the processor does not know them. The text is still
 * writable. */
static void remove_smap(void)
{
	static const uint8_t no_op[3] = { 0x0f, 0x1f, 0x00 };

	for (uint8_t *const *place = smap_places_begin; place < smap_places_end; place++)
		memcpy(*place, no_op, sizeof no_op);
}

static void choose_features(void)
{
	uint32_t leaf[4];
	uint64_t cr0, cr4;

	cpu_id(7, 0, leaf);
	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	cr4 |= CR4_GLOBAL | CR4_FXSR | CR4_SIMD;
	cr4 |= (leaf[1] & 1U << 0 ? CR4_FSGSBASE : 0) | (leaf[1] & 1U << 7 ? CR4_SMEP : 0);
	cr4 |= (leaf[1] & 1U << 20 ? CR4_SMAP : 0) | (leaf[2] & 1U << 2 ? CR4_UMIP : 0);
	if (!(cr4 & CR4_SMAP))
		remove_smap();
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4));
	__asm__ volatile("mov %%cr0, %0" : "=r"(cr0));
	cr0 = (cr0 | CR0_WRITE_PROTECT | CR0_MONITOR | CR0_NUMERIC_ERROR) & ~CR0_EMULATION;
	__asm__ volatile("mov %0, %%cr0" : : "r"(cr0));
	has_fsgsbase = (cr4 & CR4_FSGSBASE) != 0;
}

void processor_start(void)
{
	load_segments();
	load_vectors();
	choose_features();
	tags_start();
	cpu_write_msr(MSR_STAR, (uint64_t)(KERNEL_SS | 3) << 48 | (uint64_t)KERNEL_CS << 32);
	cpu_write_msr(MSR_LSTAR, (uint64_t)entry_system_call);
	cpu_write_msr(MSR_SFMASK, FLAG_TRAP | FLAG_INTERRUPT | FLAG_DIRECTION | FLAG_NESTED | FLAG_ACCESS);
	__asm__ volatile("fninit\n\tfxsave64 %0" : "=m"(fresh_fpu));
	/* MXCSR: all exceptions masked, round to nearest (System V ABI, AMD64, 3.2.1). */
	*(uint32_t *)(fresh_fpu + 24) = 0x1f80;
}

void processor_fpu_fresh(struct task *t)
{
	memcpy(t->fpu, fresh_fpu, sizeof fresh_fpu);
}

static void save_selectors(struct task *t)
{
	uint16_t *s = t->selectors;

	__asm__ volatile("mov %%ds, %0\n\tmov %%es, %1\n\tmov %%fs, %2\n\tmov %%gs, %3"
			 : "=rm"(s[DS]), "=rm"(s[ES]), "=rm"(s[FS]), "=rm"(s[GS]));
	t->rare = s[DS] | s[ES] | s[FS] | s[GS] ? t->rare | RARE_SELECTORS : t->rare & ~RARE_SELECTORS;
	if (has_fsgsbase)
		return;
	/* The bases become those of the segments, which all begin at 0. */
	if (s[FS])
		t->fs_base = 0;
	if (s[GS])
		t->gs_base = 0;
}

/* This comes before the bases, which it changes. It cannot fault: the table of segments never changes, and it is called
 * only with 0 and with what user mode could load from that table. */
static void load_selectors(const uint16_t *s)
{
	__asm__ volatile("mov %0, %%ds\n\tmov %1, %%es\n\tmov %2, %%fs\n\tmov %3, %%gs"
			 :
			 : "rm"(s[DS]), "rm"(s[ES]), "rm"(s[FS]), "rm"(s[GS]));
}

void processor_copy(struct task *to, const struct task *from)
{
	to->fs_base = from->fs_base;
	to->gs_base = from->gs_base;
	if (from == current) {
		processor_fpu_save(to);
		processor_save_bases(to);
		if (processor_selectors())
			save_selectors(to);
	} else {
		memcpy(to->fpu, from->fpu, sizeof to->fpu);
		memcpy(to->selectors, from->selectors, sizeof to->selectors);
		to->rare |= from->rare & RARE_SELECTORS;
	}
}

void processor_fresh(struct task *t)
{
	t->fs_base = t->gs_base = 0;
	t->rare &= ~RARE_SELECTORS;
	processor_fpu_fresh(t);
	if (t == current) {
		load_selectors(no_selectors);
		processor_load_bases(t);
		processor_fpu_load(t);
	}
}

void processor_set_base(struct task *t, bool of_gs, uint64_t base)
{
	if (t == current) {
		processor_save_bases(t);
		if (of_gs)
			__asm__ volatile("mov %0, %%gs" : : "r"(0));
		else
			__asm__ volatile("mov %0, %%fs" : : "r"(0));
	}
	t->selectors[of_gs ? GS : FS] = 0;
	*(of_gs ? &t->gs_base : &t->fs_base) = base;
	if (t == current)
		processor_load_bases(t);
}

void processor_set_ports(const struct task *t)
{
	if (t->ports) {
		memcpy(processor_state.ports, t->ports, PORT_BYTES);
		processor_state.ports[PORT_BYTES] = 0xff;
		processor_state.ports_at = offsetof(typeof(processor_state), ports);
	} else {
		processor_state.ports_at = sizeof processor_state;
	}
}

void processor_load_bases_slowly(const struct task *t)
{
	load_selectors(t->rare & RARE_SELECTORS ? t->selectors : no_selectors);
	cpu_write_msr(MSR_FS_BASE, t->fs_base);
	cpu_write_msr(MSR_GS_BASE, t->gs_base);
}

void processor_switch_rare(struct task *from, struct task *to)
{
	if (from->number < TASKS)
		save_selectors(from);
	load_selectors(to->rare & RARE_SELECTORS ? to->selectors : no_selectors);
	if (from->ports != to->ports)
		processor_set_ports(to);
}
