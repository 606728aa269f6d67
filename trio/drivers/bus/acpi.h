/* acpi.h: what of the firmware's tables a machine is not found or ended without. */
#ifndef TRIO_ACPI_H
#define TRIO_ACPI_H

#include "port.h"

/* Tells the kernel how the machine ends. Returns where PCI's configuration space begins in memory; 0: nowhere. */
uint64_t acpi_read(void);

#endif
