/* memory.h: frames of physical memory, the kernel's own map, and address spaces: mechanisms for the memory service. */
#ifndef TRIO_MEMORY_H
#define TRIO_MEMORY_H

#include "port.h"

/* Where all physical memory is mapped, writable and not executable. Tests on a host have it elsewhere. */
#ifndef DIRECT_MAP
#define DIRECT_MAP 0xffff800000000000UL
#endif
/* Where the kernel's image is linked; it is loaded at 1 MiB. */
#define KERNEL_BASE 0xffffffff80000000UL
/* Where kernel stacks are, each with an absent page below it. */
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

/* Called once, at boot: `ranges` is RAM; below `first_free` and in `taken` lie the kernel and the archive. */
void frames_start(const struct memory_range *ranges, size_t count, uint64_t first_free, struct memory_range taken);
/* Called after kernel_map_start; before, only frames of the first GiB are handed out. */
void frames_reach_all(void);
/* Takes a frame of zeros, held once. Returns 0 if no frame is left that is not promised. */
uint64_t frame_take(void);
/* The same, with its old content. */
uint64_t frame_take_dirty(void);
/* Takes `count` frames that follow each other, of zeros, each held once. `count` is a power of two up to 512. Returns 0
 * if there are none. */
uint64_t frames_take(size_t count);
/* Drops a hold; the last one frees the frame. */
void frame_drop(uint64_t frame);
void frames_are_device(uint64_t frame, uint64_t count);
/* How many frames are free; of these, not promised; promised in all, allocated or not; how many there are. */
extern struct frames {
	uint64_t free, unpromised, promised, total;
} frames;

/* Makes the kernel's final page tables, after frames_start: text is read-only, data is not executable. */
void kernel_map_start(void);
/* Takes STACK_PAGES pages for a task's kernel stack. Returns its top, 0 without memory. */
uint64_t kernel_stack_take(uint32_t task);
void kernel_stack_give(uint32_t task);
uint64_t kernel_stack_lowest(uint32_t task);

/* A space for each task, then one for each service that is a process. */
#define SPACES (TASKS + 64)
/* Address spaces, by number; see kernel.idl, calls 20 to 35. They return 0 or a negative errno. */
int64_t space_create(uint32_t space);
/* By space, the physical address of its root table; 0: there is no such space. */
extern uint64_t space_roots[SPACES];
/* The value of CR3 for the space that contains the kernel alone. */
extern uint64_t kernel_cr3;

#endif
