/* counters.h: what happened, exactly: of one task, of all that are none, or within a server. Read through
 * /proc/trio/counters, by names of vfs's in this order (machine.c). */
#ifndef TRIO_COUNTERS_H
#define TRIO_COUNTERS_H

#include "calls.h"

#ifdef TRIO_NO_COUNTERS
#define COUNTING 0
#else
#define COUNTING 1
#endif
#define COUNT_IN(counters, what, by) (COUNTING ? (void)((counters).what += (by)) : (void)0)

struct counters {
	/* Entries into the kernel: by programs; what servers asked. */
	uint64_t system_calls, faults, interrupts, server_traps;
	/* Of `faults`, those that vm did not answer at once: the kernel refused without asking it; vm refused; vfs was
	 * to bring the page first. */
	uint64_t faults_kernel, faults_refused, faults_paged;
	/* Of tasks, by the queue of those that are ready; to a server without it. Of address spaces. */
	uint64_t switches_voluntary, switches_involuntary, switches_direct, space_switches;
	/* To servers and back; and what services were told that they did not ask. */
	uint64_t messages, replies, notifications;
	/* Between the kernel and servers' memory, for these; by grants, from and to others' memory. */
	uint64_t bytes_messages, bytes_in, bytes_out;
	uint64_t calls[CALLS];
};

#endif
