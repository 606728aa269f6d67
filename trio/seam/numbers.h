/* numbers.h: what the kernel tells of the machine (kernel.machine) and of what happened (kernel.counters). Services
 * make text of it. */
#ifndef TRIO_NUMBERS_H
#define TRIO_NUMBERS_H

#include "calls.h"
#include "port.h"
#include "switches.h"

/* The line that tells one kernel from another, in the log, in /proc, in uname. */
struct build {
	char release[65], text[255];
};
extern const struct build trio_build;

struct machine_numbers {
	struct build build;
	/* Pages of memory: all; free ones; free ones that nobody was promised; promised ones, allocated or not. */
	uint64_t frames, free, unpromised, promised;
	/* The processor's frequency in Hz. */
	uint64_t frequency;
	/* How long no task could run. */
	nanoseconds idle;
	/* Since boot. */
	uint64_t tasks_made;
	/* The deepest use of a kernel stack in bytes, of any task's and of the first one; 0 without TRIO_CHECKED. */
	uint64_t stack_task, stack_first;
	/* Whether the kernel asks vm by a message about a program's fault, and not by a procedure call. */
	bool vm_is_asked_by_message;
};

/* The state of a server that is a process; and what becomes of it when it ends (config/services.toml). */
enum server_life { SERVER_RUNS, SERVER_ENDED, SERVER_LOST };
enum server_policy { POLICY_GIVE_UP, POLICY_START_AGAIN, POLICY_STOP };

/* What kernel.server tells. */
struct server_numbers {
	char name[64];
	uint32_t life, policy;
	/* How often the server was started, ended by a fault, was asked whether it is alive, and said so. */
	uint32_t starts, faults, beats, answers;
	/* The time from its last end until the next process was ready; how many calls have waited for one. */
	nanoseconds pause;
	uint64_t calls_waited;
};

#ifdef TRIO_NO_COUNTERS
#define COUNTING 0
#else
#define COUNTING 1
#endif
#define COUNT_IN(counters, what, by) (COUNTING ? (void)((counters).what += (by)) : (void)0)

/* Exact counts of events: of one task, of all that are no program's, or within a server. /proc/trio/counters shows them
 * with vfs's names in this order (machine.c). */
struct counters {
	/* Entries into the kernel by programs and devices; requests of servers. */
	uint64_t system_calls, faults, interrupts, server_traps;
	/* Those of `faults` that vm did not resolve at once: the kernel refused without asking vm; vm refused; vfs had
	 * to read the page first. */
	uint64_t faults_kernel, faults_refused, faults_paged;
	/* Switches of tasks: by the ready queue; to a server without it. Switches of address spaces. */
	uint64_t switches_voluntary, switches_involuntary, switches_direct, space_switches;
	/* Messages to servers and back; notifications. */
	uint64_t messages, replies, notifications;
	/* Bytes between the kernel and servers' memory for these; bytes by grants, from others' memory and into it. */
	uint64_t bytes_messages, bytes_in, bytes_out;
	/* Copies of servers by grants, each a request to the kernel (one a page of an iovec or a string): of a length;
	 * up to a string's end. */
	uint64_t copies, copies_strings;
#if PARKING_COUNTED
	/* Handlers in the kernel: how often they ran again after they had parked; the most that they can have done
	 * twice, in cycles of the processor. */
	uint64_t parked, parked_work;
#endif
	uint64_t calls[CALLS];
};

#endif
