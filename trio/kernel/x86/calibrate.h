/* calibrate.h: the rates of the machine's counters. */
#ifndef TRIO_CALIBRATE_H
#define TRIO_CALIBRATE_H

#include "port.h"

/* Counts a second: of the processor's cycle counter, and of the local APIC's timer, which is to divide by 1. */
struct rates {
	uint64_t cycles, timer;
};

/* QEMU's own processor, where it counts instructions, has counters of exactly one a nanosecond: a short look tells.
 * There a millisecond of waiting is a million instructions. */
bool counts_nanoseconds(void);
/* Takes ten milliseconds, more where the host is late. */
struct rates rates_measure(void);

#endif
