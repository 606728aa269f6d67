/* rights.c: what of the machine the present server may touch, if it is a process: config/services.toml says it. */
#include "core/interrupts.h"
#include "core/task.h"
#include "ipc.h"
#include "x86/pci.h"

#define LINES 16
/* A base address of a function's that is not greater is one of ports. */
#define PORTS_LAST UINT16_MAX

bool process_may_port(uint32_t port, uint32_t size)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];

	/* What is of another size is taken for four bytes. */
	if (size != 1 && size != 2 && size != 4)
		return false;
	for (unsigned i = 0; i < PORT_RANGES && d->ports[i].count; i++) {
		uint32_t first = d->ports[i].first;

		if (port >= first && size <= d->ports[i].count && port - first <= d->ports[i].count - size)
			return true;
	}
	return false;
}

static bool may_function(const struct pci_function *f)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];

	for (unsigned i = 0; i < PCI_DEVICES && d->devices[i].vendor; i++)
		if (d->devices[i].vendor == f->vendor && d->devices[i].device == f->device)
			return true;
	return false;
}

bool process_may_device(uint32_t place)
{
	const struct pci_function *f = pci_function_at(place);

	return f && may_function(f);
}

bool process_may_line(uint32_t line)
{
	return line < LINES ? domains[PRESENT_DOMAIN].interrupts >> line & 1 : process_may_device(line - MESSAGE_LINES);
}

bool process_is(uint32_t endpoint)
{
	return endpoint < ENDPOINTS && domains[PRESENT_DOMAIN].endpoints >> endpoint & 1;
}

bool process_may_memory(uint64_t from, uint64_t length)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];

	for (unsigned i = 0; i < PCI_DEVICES && d->devices[i].vendor; i++) {
		const struct pci_function *f;

		for (uint32_t n = 0; (f = pci_function(d->devices[i].vendor, d->devices[i].device, n)) != NULL; n++)
			for (unsigned bar = 0; bar < PCI_BARS; bar++)
				if (f->bars[bar] > PORTS_LAST && from >= f->bars[bar] && length <= f->lengths[bar] &&
				    from - f->bars[bar] <= f->lengths[bar] - length)
					return true;
	}
	return false;
}
