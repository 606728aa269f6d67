/* tlb.h: translation look-aside buffers of two levels, as they are without tags and as they would be with them.
 *
 * One run drives two of them. In the untagged one a write to CR3 removes all entries that are not global. In the tagged
 * one it only changes the tag that is looked for (as PCID and a write that keeps the TLB do), but a write of the value
 * that is there already removes that tag's entries, since kernels flush so. Sizes of pages and global bits are read in
 * the guest's page tables at each miss; reading them does not pass through the modelled caches. */
#ifndef KM_TLB_H
#define KM_TLB_H

#include "caches.h"
#include "qemu_api.h"

#define PAGE_SHIFT 12
#define LARGE_SHIFT 21
#define HUGE_SHIFT 30

/* Of a page-table entry. */
#define PRESENT 0x1u
#define LARGE_PAGE 0x80u
#define GLOBAL_PAGE 0x100u
#define FRAME 0xffffffffff000ull
#define CR0_PG 0x80000000u
#define CR4_PAE 0x20u
#define CR4_LA57 0x1000u

struct mapping {
	uint64_t physical; /* of the address itself */
	unsigned int shift;
	int global;
};

/* What the page tables say of an address; 0 if it is not mapped, or the tables are neither long mode's nor of two
 * levels. A page of 4 MiB is two large ones. */
static inline int walk(uint64_t address, struct mapping *to)
{
	uint64_t table = register_of_cpu(REGISTER_CR3) & FRAME, cr4 = register_of_cpu(REGISTER_CR4), entry = 0;
	int wide = (register_of_cpu(REGISTER_EFER) & EFER_LMA) != 0;
	int level = !wide ? 1 : cr4 & CR4_LA57 ? 4 : 3;
	unsigned int bits = wide ? 9 : 10, bytes = wide ? 8 : 4;

	if (!wide && (!(register_of_cpu(REGISTER_CR0) & CR0_PG) || cr4 & CR4_PAE))
		return 0;
	for (; level >= 0; level--) {
		unsigned int shift = PAGE_SHIFT + bits * (unsigned int)level;

		cpu_physical_memory_rw(table + (address >> shift & ((1u << bits) - 1)) * bytes, &entry, bytes, false);
		if (!(entry & PRESENT))
			return 0;
		if (level == 0 || (level < 3 && entry & LARGE_PAGE)) {
			uint64_t within = (1ull << shift) - 1;

			*to = (struct mapping){ (entry & FRAME & ~within) | (address & within),
						level == 1 ? LARGE_SHIFT : shift, (entry & GLOBAL_PAGE) != 0 };
			return 1;
		}
		table = entry & FRAME;
	}
	return 0;
}

/* A key: the page's number, its size, and the tag of its address space, 0 for a global one. */
#define KEY_SIZE 46
#define KEY_TAG 48
#define MAX_TAG 0xffffu

static inline uint64_t key_of(uint64_t address, unsigned int shift, uint64_t tag)
{
	uint64_t page = (address & 0x1ffffffffffffffull) >> shift;

	return page | (uint64_t)((shift - PAGE_SHIFT) / 9) << KEY_SIZE | tag << KEY_TAG;
}

struct tlb_counts {
	uint64_t itlb, dtlb;         /* misses of the first level */
	uint64_t walks, large_walks; /* of 4 KiB pages, and of larger ones */
};

struct tlb {
	struct cache *first[2][2], *second[2]; /* of data and of code; of pages of 4 KiB and of larger ones */
	int tagged;
	uint64_t tag;     /* of the current address space; 1 if untagged */
	uint64_t last[2]; /* pages used last, of data and code: hits without a look; 0: none */
	struct tlb_counts counts;
};

static inline int tlb_holds(struct tlb *tlb, uint64_t address, unsigned int is_code)
{
	static const unsigned int shifts[] = { PAGE_SHIFT, LARGE_SHIFT, HUGE_SHIFT };
	size_t i;

	for (i = 0; i < 3; i++) {
		struct cache *first = tlb->first[is_code][shifts[i] != PAGE_SHIFT];
		uint64_t index = address >> shifts[i];

		if (cache_find(first, key_of(address, shifts[i], tlb->tag), index) ||
		    cache_find(first, key_of(address, shifts[i], 0), index))
			return 1;
	}
	return 0;
}

/* Translates an address for an access. `at` is walked at the first miss of either TLB: shift 0 says that it was not. */
static inline void tlb_access(struct tlb *tlb, uint64_t address, unsigned int is_code, struct mapping *at)
{
	uint64_t page = address >> PAGE_SHIFT, key, index;

	if (page == tlb->last[is_code])
		return;
	tlb->last[is_code] = page;
	if (tlb_holds(tlb, address, is_code))
		return;
	if (at->shift == 0 && !walk(address, at)) {
		tlb->last[is_code] = 0;
		return;
	}
	if (is_code)
		tlb->counts.itlb++;
	else
		tlb->counts.dtlb++;
	key = key_of(address, at->shift, at->global ? 0 : tlb->tag);
	index = address >> at->shift;
	cache_add(tlb->first[is_code][at->shift != PAGE_SHIFT], key, index);
	if (cache_find(tlb->second[is_code], key, index))
		return;
	if (at->shift == PAGE_SHIFT)
		tlb->counts.walks++;
	else
		tlb->counts.large_walks++;
	cache_add(tlb->second[is_code], key, index);
}

static inline int has_tag(uint64_t key, uint64_t tag)
{
	return key >> KEY_TAG == tag;
}

static inline int is_any(uint64_t key, uint64_t unused)
{
	(void)key;
	(void)unused;
	return 1;
}

static inline int is_page(uint64_t key, uint64_t page)
{
	unsigned int size = key >> KEY_SIZE & 3;

	return (key & ((1ull << KEY_SIZE) - 1)) == page >> 9 * size;
}

static inline void tlb_remove(struct tlb *tlb, int (*goes)(uint64_t key, uint64_t what), uint64_t what)
{
	int i;

	for (i = 0; i < 2; i++) {
		cache_remove(tlb->first[i][0], goes, what);
		cache_remove(tlb->first[i][1], goes, what);
		cache_remove(tlb->second[i], goes, what);
		tlb->last[i] = 0;
	}
}

/* CR3 was written: now it has the address space of this tag. */
static inline void tlb_switch(struct tlb *tlb, uint64_t tag)
{
	if (!tlb->tagged || tlb->tag == tag)
		tlb_remove(tlb, has_tag, tlb->tag);
	if (tlb->tagged)
		tlb->tag = tag;
	tlb->last[0] = tlb->last[1] = 0;
}

#endif
