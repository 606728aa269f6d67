/* apic.h: registers of the local APIC, by index of 32-bit words (Intel's manual, volume 3, table 11-1). */
#ifndef TRIO_APIC_H
#define TRIO_APIC_H

#include "port.h"

#define APIC_ID (0x20 / 4)
#define APIC_PRIORITY (0x80 / 4)
#define APIC_END (0xb0 / 4)
#define APIC_SPURIOUS (0xf0 / 4)
#define APIC_TIMER (0x320 / 4)
#define APIC_LINE_0 (0x350 / 4)
#define APIC_LINE_1 (0x360 / 4)
#define APIC_ERROR (0x370 / 4)
#define APIC_COUNT_FROM (0x380 / 4)
#define APIC_COUNT (0x390 / 4)
#define APIC_DIVISOR (0x3e0 / 4)

/* Of a vector's register. */
#define APIC_MASKED (1U << 16)
/* Of the spurious one's. */
#define APIC_ON (1U << 8)
#define APIC_DIVIDE_BY_1 0xb

/* Set by interrupts_start. */
extern volatile uint32_t *local_apic;

/* calibrate.c: QEMU's own processor, where it counts instructions, has counters of exactly one a nanosecond: a short
 * look tells. There a millisecond of waiting is a million instructions. */
bool counts_nanoseconds(void);
/* Cycles a second. Takes ten milliseconds, more where the host is late. */
uint64_t cycles_measure(void);

#endif
