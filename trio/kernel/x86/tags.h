/* tags.h: which address space the processor has, and what it keeps of others. With tags (PCID) the TLB keeps the
 * translations of each space while others are loaded, so whoever takes a page away tells the processor, whatever space
 * it has. Every space has a tag of its own, its number plus 1; the kernel's has 0. No processor with tags is at hand:
 * TCG has none. A kernel built with TRIO_TAGS_TOLD has tags there: it tells a plugin of the emulator by markers what it
 * would tell a processor, and the plugin has the TLB (tests/guest/trio/test_stale.py). */
#ifndef TRIO_TAGS_H
#define TRIO_TAGS_H

#include "core/memory.h"
#include "x86/cpu.h"
#include "x86/paging.h"

#ifdef TRIO_TAGS_TOLD
#define TAGS_TOLD 1
#else
#define TAGS_TOLD 0
#endif

/* In a value for CR3: the TLB keeps what it has of this space. */
#define CR3_KEEP (1UL << 63)

/* Whether the processor has tags. */
extern bool has_tags;
/* What CR3 was given last, with CR3_KEEP if there are tags. It lies beside `current`, which is read with it. */
extern uint64_t cr3_loaded;

/* No-ops whose displacement the plugin knows: the next write of CR3 keeps the TLB; an INVPCID, see tags.c. */
#define TAGS_KEPT "nopl 0x4b500000(%%rax)\n\t"
#define TAGS_INVPCID "nopl 0x4b510000(%%rax)"

static inline void cr3_write(uint64_t value)
{
	if (TAGS_TOLD && value & CR3_KEEP)
		__asm__ volatile(TAGS_KEPT "mov %0, %%cr3" : : "r"(value & ~CR3_KEEP) : "memory");
	else
		__asm__ volatile("mov %0, %%cr3" : : "r"(value) : "memory");
}

static inline void space_load(uint64_t cr3)
{
	cr3_loaded = cr3;
	cr3_write(cr3);
}

/* The value of CR3 for a space of that number and root. */
static inline uint64_t space_cr3(uint32_t space, uint64_t root)
{
	return has_tags ? root | CR3_KEEP | (space + 1) : root;
}

/* Uses tags if the processor has them. */
void tags_start(void);
/* If more pages than this changed, all of their space are forgotten. */
#define FORGET_ONE_BY_ONE 16
/* With tags: forgets pages of the space with this root; all of it if they are many. */
void tags_forget(uint64_t root, uint64_t address, uint64_t pages);

/* A root has its space's tag where the processor looks for nothing: in its entry for the kernel. */
#define TAG_SHIFT 52
#define TAG_MASK 0x7ffUL

static inline void tag_set(uint64_t root, uint32_t space)
{
	((uint64_t *)physical(root))[ENTRY_OF(KERNEL_BASE, 3)] |= (space + 1UL) << TAG_SHIFT;
}

/* Tells the processor to forget what it knows of pages, of the space with this root, that changed. Without tags it
 * knows the present space alone. */
static inline void forget(uint64_t root, uint64_t address, uint64_t pages)
{
	if (cr3_loaded == root) {
		if (pages > FORGET_ONE_BY_ONE) {
			cr3_write(cr3_loaded);
			return;
		}
		for (uint64_t i = 0; i < pages; i++)
			cpu_forget_page(address + i * PAGE);
	} else if (has_tags) {
		tags_forget(root, address, pages);
	}
}

#endif
