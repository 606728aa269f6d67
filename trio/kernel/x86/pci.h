/* pci.h: PCI functions as pci.c found them. A place is bus * 256 + device * 8 + function. */
#ifndef TRIO_PCI_H
#define TRIO_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_BARS 6

struct pci_function {
	uint32_t place;
	uint16_t vendor, device;
	/* Base addresses as assigned, 0: none; and their lengths. */
	uint64_t bars[PCI_BARS], lengths[PCI_BARS];
};

/* NULL: there are not that many of them. */
const struct pci_function *pci_function(uint32_t vendor, uint32_t device, uint32_t index);
const struct pci_function *pci_function_at(uint32_t place);

/* Configuration space; `size` 1, 2 or 4, `at` a multiple of it and below 256. */
uint32_t pci_read(uint32_t place, uint32_t at, uint32_t size);
void pci_write(uint32_t place, uint32_t at, uint32_t size, uint32_t value);

/* Its MSI-X vector 0 raises `vector` from now on, the others nothing. False: it has no MSI-X. */
bool pci_message(const struct pci_function *f, unsigned vector);

#endif
