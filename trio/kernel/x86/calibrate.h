/* calibrate.h: the rate of the processor's cycle counter. */
#ifndef TRIO_CALIBRATE_H
#define TRIO_CALIBRATE_H

#include "port.h"

/* QEMU's own processor, where it counts instructions, has counters of exactly one a nanosecond: a short look tells.
 * There a millisecond of waiting is a million instructions. */
bool counts_nanoseconds(void);
/* Cycles a second. Takes ten milliseconds, more where the host is late. */
uint64_t cycles_measure(void);

#endif
