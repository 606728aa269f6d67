/* registers.h: a task's registers as entry.S saves them. Its code depends on the order: the arguments of a system call
 * come first, in their order, so that a pointer to them is the argument vector. */
#ifndef TRIO_REGISTERS_H
#define TRIO_REGISTERS_H

#include <stdint.h>
#include "x86/entry.h"

struct registers {
	uint64_t rdi, rsi, rdx, r10, r8, r9;
	/* These are words of a message, too. */
	uint64_t rbx, r12;
	uint64_t rax, rbp, r13, r14, r15;
	uint64_t r11, rcx;
	/* A trap's number and error code; for a system call TRAP_SYSCALL and the call's number. */
	uint64_t trap, error;
	/* The processor's own frame. */
	uint64_t rip, cs, rflags, rsp, ss;
};

#endif
