/* paging.h: bits of a page table's entry (Intel SDM volume 3, 4.5). An entry of a space's lowest table holds a frame
 * exactly if it is not 0: a page that may not be touched at all stays there with PAGE_KEPT instead of PAGE_PRESENT. */
#ifndef TRIO_PAGING_H
#define TRIO_PAGING_H

#include "core/frames.h"

#define PAGE_PRESENT 0x1UL
#define PAGE_WRITE 0x2UL
#define PAGE_USER 0x4UL
#define PAGE_NO_CACHE 0x18UL
#define PAGE_HUGE 0x80UL
#define PAGE_GLOBAL 0x100UL
#define PAGE_KEPT 0x200UL
#define PAGE_NO_EXECUTE (1UL << 63)
#define PAGE_FRAME 0x000ffffffffff000UL

#define ENTRIES 512UL
/* An address's index in the table of a level: 0 is the lowest (an entry a page), 3 the root. */
#define ENTRY_OF(address, level) ((address) >> (12 + 9 * (level)) & (ENTRIES - 1))
/* The bytes that an entry of a level stands for. */
#define REACH(level) (PAGE << 9 * (level))

static inline uint64_t *table_below(uint64_t entry)
{
	return physical(entry & PAGE_FRAME);
}

/* How often a table is held: once by itself, and once for each of its entries. `table`: any of these. */
static inline uint32_t *uses_of(const uint64_t *table)
{
	return &frame_table[physical_of(table) / PAGE];
}

/* spaces.c: finds the lowest table's entry for an address; with `make`, makes the tables on the way. Returns NULL if
 * there is none, or without memory. */
uint64_t *entry_at(uint64_t root, uint64_t address, bool make);
/* Maps a large page where nothing is mapped. Returns false without memory. */
bool large_page_map(uint64_t root, uint64_t address, uint64_t entry);
/* Sets it to 0; frees tables that this leaves empty. */
void entry_clear(uint64_t root, uint64_t address, uint64_t *entry);

/* mmu.c: puts the kernel's entries into a root table that is all zeros; takes them out again. */
void kernel_half_set(uint64_t *table);
void kernel_half_clear(uint64_t *table);

/* spaces.c: does what kernel.idl says, for a space that exists. */
int64_t space_find(uint32_t space, uint64_t address, uint64_t *frame, uint32_t *protection);

#endif
