/* interrupts.c: an interrupt of a device becomes a bit of the service that drives it. */
#include "core/interrupts.h"
#include "x86/machine.h"
#include "x86/pci.h"

#define LINES 16

/* One for each line, then one for each message. Endpoint 0, the kernel's, is nobody's. */
static struct source {
	uint32_t endpoint, bit;
	/* Of messages: the PCI function's. */
	uint32_t place;
} sources[LINES + MESSAGES];

void interrupt_arrived(unsigned vector)
{
	unsigned n = vector - VECTOR_LINES;
	const struct source *s = &sources[n];

	if (n >= COUNT_OF(sources) || !s->endpoint)
		return;
	/* A level stays until the driver has seen to the device: it would come again at once. */
	if (n < LINES && acpi.lines[n].level)
		interrupt_line(n, false);
	notify(s->endpoint, s->bit);
}

static int64_t message_attach(uint32_t place, uint32_t endpoint, uint32_t bit)
{
	const struct pci_function *f = pci_function_at(place);

	if (!f)
		return -EINVAL;
	for (unsigned n = LINES; n < COUNT_OF(sources); n++) {
		if (sources[n].endpoint)
			continue;
		if (!pci_message(f, VECTOR_LINES + n))
			return -EINVAL;
		sources[n] = (struct source){ endpoint, bit, place };
		return 0;
	}
	return -EBUSY;
}

/* A driver that was started anew takes over what it had. */
int64_t interrupt_attach(uint32_t line, uint32_t endpoint, uint32_t bit)
{
	_Static_assert(VECTOR_MESSAGES == VECTOR_LINES + LINES, "sources are in the order of vectors");

	for (unsigned n = LINES; n < COUNT_OF(sources) && line >= MESSAGE_LINES; n++)
		if (sources[n].endpoint && sources[n].place == line - MESSAGE_LINES)
			return sources[n].endpoint == endpoint ? 0 : -EBUSY;
	if (line >= MESSAGE_LINES)
		return message_attach(line - MESSAGE_LINES, endpoint, bit);
	if (line >= LINES)
		return -EINVAL;
	if (sources[line].endpoint && sources[line].endpoint != endpoint)
		return -EBUSY;
	sources[line] = (struct source){ .endpoint = endpoint, .bit = bit };
	interrupt_line(line, true);
	return 0;
}

void interrupt_done(uint32_t line)
{
	if (line < LINES && acpi.lines[line].level)
		interrupt_line(line, true);
}

void interrupts_release(uint32_t endpoint)
{
	for (unsigned n = 0; n < COUNT_OF(sources); n++) {
		if (sources[n].endpoint != endpoint)
			continue;
		if (n < LINES)
			interrupt_line(n, false);
		sources[n].endpoint = 0;
	}
}
