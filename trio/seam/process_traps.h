/* process_traps.h: traps of a domain that is a process, in registers. */
#ifndef TRIO_PROCESS_TRAPS_H
#define TRIO_PROCESS_TRAPS_H

#include "message.h"
#include "switches.h"

/* With the switch by-mapping. They do what copy_directly() and port.h's copy_string() do, and may return -EAGAIN. */
int64_t copy_by_mapping(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind);
int64_t string_by_mapping(char *to, size_t most, struct grant from);

/* Does what reply_and_wait() says. The kernel leaves nothing in the other registers when a message comes, since it
 * interrupted nothing in the server. */
static inline __attribute__((always_inline)) uint64_t reply_and_wait_by_registers(uint64_t whom, int64_t result,
										  uint64_t *words, const uint64_t *outs)
{
	uint64_t number = TRAP_REPLY_AND_WAIT;
	register uint64_t w0 __asm__("rdi") = whom, w1 __asm__("rsi") = (uint64_t)result;
	register uint64_t w2 __asm__("rdx"), w3 __asm__("r10"), w4 __asm__("r8"), w5 __asm__("r9"), w6 __asm__("rbx");
	register uint64_t w7 __asm__("r12");

	if (outs) {
		w2 = outs[0];
		w3 = outs[1];
		w4 = outs[2];
		w5 = outs[3];
		w6 = outs[4];
	} else {
		/* They keep whatever is in them. */
		__asm__("" : "=r"(w2), "=r"(w3), "=r"(w4), "=r"(w5), "=r"(w6));
	}
	__asm__ volatile("syscall"
			 : "+a"(number), "+r"(w0), "+r"(w1), "+r"(w2), "+r"(w3), "+r"(w4), "+r"(w5), "+r"(w6), "=r"(w7)
			 :
			 : "rcx", "r11", "rbp", "r13", "r14", "r15", "memory");
	words[0] = w0;
	words[1] = w1;
	words[2] = w2;
	words[3] = w3;
	words[4] = w4;
	words[5] = w5;
	words[6] = w6;
	words[7] = w7;
	return number;
}

#endif
