/* numbers.h: what the kernel tells of the machine (kernel.machine) and of what happened (kernel.counters), of which
 * services make text. */
#ifndef TRIO_NUMBERS_H
#define TRIO_NUMBERS_H

#include "calls.h"
#include "port.h"
#include "switches.h"

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

/* How a server that is a process is; what becomes of it when it ends (config/services.toml). */
enum server_life { SERVER_RUNS, SERVER_ENDED, SERVER_LOST };
enum server_policy { POLICY_GIVE_UP, POLICY_START_AGAIN, POLICY_STOP };

/* Of kernel.server. */
struct server_numbers {
	char name[64];
	uint32_t life, policy;
	/* How often it was started, ended by a fault, was asked whether it is alive, and said so. */
	uint32_t starts, faults, beats, answers;
	/* From its last end until the next was ready; calls that have waited for one. */
	nanoseconds pause;
	uint64_t calls_waited;
};

#ifdef TRIO_NO_COUNTERS
#define COUNTING 0
#else
#define COUNTING 1
#endif
#define COUNT_IN(counters, what, by) (COUNTING ? (void)((counters).what += (by)) : (void)0)

/* What happened, exactly: of one task, of all that are none, or within a server. Read through /proc/trio/counters, by
 * names of vfs's in this order (machine.c). */
struct counters {
	/* Entries into the kernel: by programs; what servers asked. */
	uint64_t system_calls, faults, interrupts, server_traps;
	/* Of `faults`, those that vm did not answer at once: the kernel refused without asking it; vm refused; vfs
	 * was to bring the page first. */
	uint64_t faults_kernel, faults_refused, faults_paged;
	/* Of tasks, by the queue of those that are ready; to a server without it. Of address spaces. */
	uint64_t switches_voluntary, switches_involuntary, switches_direct, space_switches;
	/* To servers and back; and what services were told that they did not ask. */
	uint64_t messages, replies, notifications;
	/* Between the kernel and servers' memory, for these; by grants, from and to others' memory. */
	uint64_t bytes_messages, bytes_in, bytes_out;
	/* Of servers by grants, each a request to the kernel (of an iovec or a string, a page): of so many bytes; up to
	 * a string's end. */
	uint64_t copies, copies_strings;
#if PARKING_COUNTED
	/* Of handlers in the kernel: how often they ran again, having parked, and the most of it that they had done
	 * before, in the processor's cycles. */
	uint64_t parked, parked_work;
#endif
	uint64_t calls[CALLS];
};

#endif
