/* unit.h: what Trio's own units share: its three calls beyond Linux's, made without libc. */
#ifndef TRIO_UNIT_H
#define TRIO_UNIT_H

#include "km.h"

#define TRIO_NULL 1000L   /* (): 0; into the kernel and back */
#define TRIO_CALL 1001L   /* (from, n): a service copies up to 4096 bytes in and forgets them; n, or -errno */
#define TRIO_STRING 1002L /* (from): does so with a string; its length, or -errno */

static inline long trio_syscall(long number, const void *from, unsigned long n)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(from), "S"(n) : "rcx", "r11", "memory");
	return result;
}

#endif
