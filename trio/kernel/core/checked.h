/* checked.h: what a kernel built with SWITCHES=-DTRIO_CHECKED verifies beside port.h's INVARIANT. In any other kernel
 * these functions do nothing. */
#ifndef TRIO_CHECKED_H
#define TRIO_CHECKED_H

#include "core/memory.h"

#ifdef TRIO_CHECKED
#define CHECKING 1
/* Returns `result`. The log is told of an errno that the interface does not list; `which`: of calls.h. */
int64_t checked_result(unsigned which, int64_t result);
/* A free frame contains a pattern, which must still be there when the frame is taken. */
void frame_poison(uint64_t frame);
void frame_check_poison(uint64_t frame);
void frame_check_zeros(uint64_t frame);
/* Fills a kernel stack, given by its lowest address, with a pattern before its first use; measures how many bytes have
 * been used since. /proc/trio/counters shows the most. */
void stack_paint(uint64_t lowest, size_t bytes);
void stack_measure(uint64_t lowest, size_t bytes);
/* The same for the first stack, on which the kernel begins and is idle, below the caller's frame. */
void stack_paint_first(void);
/* The most bytes used of any task's stack, and of the first one. */
void stack_depths(uint64_t *task, uint64_t *first);
#else
#define CHECKING 0
static inline int64_t checked_result(unsigned which, int64_t result)
{
	return result;
}
#define frame_poison(frame) ((void)(frame))
#define frame_check_poison(frame) ((void)(frame))
#define frame_check_zeros(frame) ((void)(frame))
#define stack_paint(lowest, bytes) ((void)(lowest))
#define stack_measure(lowest, bytes) ((void)(lowest))
#define stack_paint_first() ((void)0)
#define stack_depths(task, first) ((void)0)
#endif

#endif
