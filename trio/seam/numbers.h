/* numbers.h: what the kernel tells of the machine (kernel.machine), of which services make text; of what happened it
 * tells counters.h's. */
#ifndef TRIO_NUMBERS_H
#define TRIO_NUMBERS_H

#include "counters.h"

/* The line that tells a kernel from another: in the log, in /proc, in uname. */
struct build {
	char release[65], text[255];
};
extern const struct build trio_build;

struct machine_numbers {
	struct build build;
	/* Pages of memory: in all; free; of these to be had without a promise; promised, taken or not. */
	uint64_t frames, free, unpromised, promised;
	/* Of the processor, in Hz. */
	uint64_t frequency;
	/* For how long nobody could run. */
	nanoseconds idle;
	/* Since boot. */
	uint64_t tasks_made;
	/* The deepest use of a kernel stack in bytes: of a task's, of the first one; where TRIO_CHECKED, else 0. */
	uint64_t stack_task, stack_first;
	/* For a fault of a program's; else by a procedure call. */
	bool vm_is_asked_by_message;
};

#endif
