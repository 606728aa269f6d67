/* cpu.h: in place of the kernel's: the processor's instructions as clock.c models them. */
#ifndef HOST_CPU_H
#define HOST_CPU_H

#include <stdint.h>

uint64_t cpu_cycles(void);
void cpu_id(uint32_t leaf, uint32_t sub, uint32_t found[4]);

#endif
