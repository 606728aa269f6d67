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

/* A bit of a vector's register. */
#define APIC_MASKED (1U << 16)
/* A bit of the spurious vector's register. */
#define APIC_ON (1U << 8)
#define APIC_DIVIDE_BY_1 0xb

/* interrupts_start sets it. */
extern volatile uint32_t *local_apic;

/* calibrate.c: whether this is QEMU's processor that counts instructions, whose counters count exactly one a
 * nanosecond, as a short look tells. A millisecond of waiting would be a million instructions there. */
bool counts_nanoseconds(void);
/* Measures cycles a second. This takes ten milliseconds, more if the host is late. */
uint64_t cycles_measure(void);

#endif
