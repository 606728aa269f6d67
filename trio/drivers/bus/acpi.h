/* acpi.h: what is needed of the firmware's tables. */
#ifndef TRIO_ACPI_H
#define TRIO_ACPI_H

#include "port.h"

/* Tells the kernel how to end the machine. Returns the address of PCI's configuration space, or 0. */
uint64_t acpi_read(void);

#endif
