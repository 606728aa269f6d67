/* rights.c: what of the machine the present server may touch if it is a process, as config/services.toml says. */
#include "core/task.h"
#include "ipc.h"
#include "x86/machine.h"

static struct device_memory {
	uint64_t begin, length;
	uint32_t id;
} memories[64];
static size_t memory_count;

bool process_may_port(uint32_t port, uint32_t size)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];

	/* The kernel takes any other size for four bytes. */
	if (size != 1 && size != 2 && size != 4)
		return false;
	for (unsigned i = 0; i < PORT_RANGES && d->ports[i].count; i++) {
		uint32_t first = d->ports[i].first;

		if (port >= first && size <= d->ports[i].count && port - first <= d->ports[i].count - size)
			return true;
	}
	return false;
}

bool process_may_line(uint32_t line)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];

	return line < LINES ? d->interrupts >> line & 1 : d->devices[0] != 0;
}

bool process_is(uint32_t endpoint)
{
	return endpoint < ENDPOINTS && domains[PRESENT_DOMAIN].endpoints >> endpoint & 1;
}

/* bus says what is a device's memory; it cannot say so of RAM. */
static bool has_ram(uint64_t from, uint64_t length)
{
	return length > UINT64_MAX - from || boot_has_ram(from, from + length);
}

bool process_memory_add(uint32_t id, uint64_t begin, uint64_t length)
{
	for (const struct device_memory *m = memories; m < memories + memory_count; m++)
		if (m->id == id && m->begin == begin && m->length == length)
			return true;
	if (memory_count == COUNT_OF(memories) || has_ram(begin, length))
		return false;
	memories[memory_count++] = (struct device_memory){ begin, length, id };
	return true;
}

static bool may_function(const struct domain *d, uint32_t id)
{
	for (unsigned i = 0; i < PCI_DEVICES && d->devices[i]; i++)
		if (d->devices[i] == id)
			return true;
	return false;
}

bool process_may_memory(uint64_t from, uint64_t length)
{
	const struct domain *d = &domains[PRESENT_DOMAIN];

	/* Above are the interrupt controllers, and addresses at which the kernel could not copy a page. */
	if (from > DEVICES_END || length > DEVICES_END - from)
		return false;
	for (const struct device_memory *m = memories; m < memories + memory_count; m++)
		if (may_function(d, m->id) && from >= m->begin && length <= m->length &&
		    from - m->begin <= m->length - length)
			return true;
	return d->has_bus && !has_ram(from, length);
}
