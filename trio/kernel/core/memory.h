/* memory.h: frames of physical memory, the kernel's own map, and address spaces: mechanism for the memory service. */
#ifndef TRIO_MEMORY_H
#define TRIO_MEMORY_H

#include "port.h"

/* All physical memory is mapped here, writable and not executable. Tests on a host have it elsewhere. */
#ifndef DIRECT_MAP
#define DIRECT_MAP 0xffff800000000000UL
#endif
/* The kernel's image, linked here, loaded at 1 MiB. */
#define KERNEL_BASE 0xffffffff80000000UL
/* Kernel stacks, each with a page below it that is not there. */
#define STACKS_BASE 0xffffffffc0000000UL
#define STACK_PAGES 3
/* The first address that is not a program's. */
#define USER_END 0x00007ffffffff000UL

static inline void *physical(uint64_t address)
{
	return (void *)(DIRECT_MAP + address);
}

static inline uint64_t physical_of(const void *direct)
{
	return (uint64_t)direct - DIRECT_MAP;
}

/* One range of the firmware's memory map that is RAM. */
struct memory_range {
	uint64_t base, length;
};

/* Once, at boot: `ranges` is RAM; below `first_free` and in `taken` lie the kernel and the archive. */
void frames_start(const struct memory_range *ranges, size_t count, uint64_t first_free, struct memory_range taken);
/* After kernel_map_start: before, nothing but the first GiB is handed out. */
void frames_reach_all(void);
/* A frame of zeros, held once; 0: none is left that is not promised. */
uint64_t frame_take(void);
/* The same, with whatever was in it. */
uint64_t frame_take_dirty(void);
/* `count` frames that follow each other, of zeros, each held once; 0: none. A power of two up to 512. */
uint64_t frames_take(size_t count);
/* The last holder's drop frees it. */
void frame_drop(uint64_t frame);
void frames_are_device(uint64_t frame, uint64_t count);
/* Free; of these to be had without a promise; promised in all, taken or not; all. */
extern struct frames {
	uint64_t free, unpromised, promised, total;
} frames;

/* The kernel's final page tables: text read-only, data not executable, stacks. After frames_start. */
void kernel_map_start(void);
/* STACK_PAGES pages for a task's kernel stack; returns its top, 0 without memory. */
uint64_t kernel_stack_take(uint32_t task);
void kernel_stack_give(uint32_t task);
uint64_t kernel_stack_lowest(uint32_t task);

/* A space for each task that may have one, then one for each service that is a process. */
#define SPACES (TASKS + 64)
/* Address spaces, by number; see kernel.idl, calls 20 to 32. Results are 0 or a negative errno. */
int64_t space_create(uint32_t space);
/* The root table of each, physical; 0: there is none. */
extern uint64_t space_roots[SPACES];
/* The root of a space that holds the kernel alone. */
extern uint64_t kernel_root;

#endif
