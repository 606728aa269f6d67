/* Stands for the processor's instructions in a program on a host: there is one address space that is present, and no
 * memory of pages that could be stale. */
#ifndef TRIO_CPU_H
#define TRIO_CPU_H

#include <stdint.h>

static uint64_t host_cr3;

static inline uint64_t cpu_cr3(void)
{
	return host_cr3;
}

static inline void cpu_set_cr3(uint64_t value)
{
	host_cr3 = value;
}

static inline void cpu_forget_page(uint64_t address)
{
	(void)address;
}

#endif
