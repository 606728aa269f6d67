/* checked.h: what a kernel built with SWITCHES=-DTRIO_CHECKED verifies beside port.h's INVARIANT. In any other kernel
 * each of these is nothing. */
#ifndef TRIO_CHECKED_H
#define TRIO_CHECKED_H

#include "core/memory.h"

#ifdef TRIO_CHECKED
#define CHECKING 1
/* `result` once the log was told where the interface does not list its errno; `which`: of calls.h. */
int64_t checked_result(unsigned which, int64_t result);
/* A frame that becomes free has a pattern in it, which must be there still when it is taken. */
void frame_poison(uint64_t frame);
void frame_check_poison(uint64_t frame);
void frame_check_zeros(uint64_t frame);
/* A stack of the kernel's from its lowest address on: filled with a pattern before its first use, and how many bytes of
 * it have been used since. The deepest of all is told in /proc/trio/counters. */
void stack_paint(uint64_t lowest, size_t bytes);
void stack_measure(uint64_t lowest, size_t bytes);
/* The first stack, on which the kernel begins and is idle, from below where the caller is on it. */
void stack_paint_first(void);
/* How deep in bytes any task's stack has been used, and the first one. */
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
