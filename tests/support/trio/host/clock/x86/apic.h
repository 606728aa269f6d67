/* apic.h: in place of the kernel's: the local APIC as clock.c models it, register by register. */
#ifndef HOST_APIC_H
#define HOST_APIC_H

#include "port.h"

#define APIC_COUNT_FROM 0
#define APIC_COUNT 1

/* The registers at this moment. What was written to them counts from the last moment on. */
volatile uint32_t *apic_now(void);
#define local_apic (apic_now())

bool counts_nanoseconds(void);
uint64_t cycles_measure(void);

#endif
