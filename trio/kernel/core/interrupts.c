/* interrupts.c: an interrupt of a device becomes a bit of the service that drives it. */
#include "kernel_serve.h"
#include "structure.h"
#include "x86/machine.h"

/* By line, then by message. Endpoint 0, the kernel, means that it is free. */
static struct source {
	uint32_t endpoint, bit;
} sources[LINES + MESSAGES];

void interrupt_arrived(unsigned vector)
{
	unsigned n = vector - VECTOR_LINES;

	if (n < COUNT_OF(sources) && sources[n].endpoint)
		notify(sources[n].endpoint, sources[n].bit);
}

static bool is_taken(const struct source *s, uint32_t endpoint, uint32_t bit)
{
	return s->endpoint && (s->endpoint != endpoint || s->bit != bit);
}

/* A driver that was started again takes over what its process before had. */
int64_t kernel_irq_attach(uint32_t line, uint32_t endpoint, uint32_t bit, uint32_t *out_vector)
{
	unsigned n = line;

	if (IS_REFUSED(process_may_line(line) && process_is(endpoint)))
		return -EPERM;
	if (bit >= NOTIFY_BITS || line > LINES)
		return -EINVAL;
	while (line == LINES && n < COUNT_OF(sources) - 1 && is_taken(&sources[n], endpoint, bit))
		n++;
	if (is_taken(&sources[n], endpoint, bit))
		return -EBUSY;
	sources[n] = (struct source){ endpoint, bit };
	if (n < LINES)
		interrupt_line(n, true);
	*out_vector = VECTOR_LINES + n;
	return 0;
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
