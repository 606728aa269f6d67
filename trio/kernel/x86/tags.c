/* tags.c: see tags.h. */
#include "x86/tags.h"

#define CPUID_PCID (1U << 17)
#define CPUID_INVPCID (1U << 10)
#define CR4_PCIDE 0x20000UL

bool has_tags;

/* INVPCID's types (Intel SDM volume 2): a page of a space; all of a space. */
enum { ONE_PAGE, ONE_SPACE };

/* What the plugin is told in the place of INVPCID. */
struct told {
	uint64_t type, tag, address;
};
extern struct told tags_told;
struct told tags_told;

void tags_start(void)
{
	uint32_t one[4], seven[4];
	uint64_t cr4;

	cpu_id(1, 0, one);
	cpu_id(7, 0, seven);
	has_tags = TAGS_TOLD || (one[2] & CPUID_PCID && seven[1] & CPUID_INVPCID);
	if (!has_tags)
		return;
	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | CR4_PCIDE));
}

static void invalidate(uint64_t type, uint64_t tag, uint64_t address)
{
	const uint64_t what[2] = { tag, address };

	if (TAGS_TOLD) {
		tags_told = (struct told){ type, tag, address };
		__asm__ volatile(TAGS_INVPCID : : : "memory");
	} else {
		__asm__ volatile("invpcid %0, %1" : : "m"(what), "r"(type) : "memory");
	}
}

void tags_forget(uint64_t root, uint64_t address, uint64_t pages)
{
	uint64_t tag = ((uint64_t *)physical(root))[ENTRY_OF(KERNEL_BASE, 3)] >> TAG_SHIFT & TAG_MASK;
	bool is_present = (cr3_loaded & PAGE_FRAME) == root;

	if (pages > FORGET_ONE_BY_ONE) {
		if (is_present)
			cr3_write(cr3_loaded & ~CR3_KEEP);
		else
			invalidate(ONE_SPACE, tag, 0);
		return;
	}
	for (uint64_t i = 0; i < pages; i++) {
		if (is_present)
			cpu_forget_page(address + i * PAGE);
		else
			invalidate(ONE_PAGE, tag, address + i * PAGE);
	}
}
