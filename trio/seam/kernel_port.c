/* kernel_port.c: of port.h, what is the same for all that runs in the kernel: its own grants, clock and pages. */
#include "core/memory.h"
#include "x86/machine.h"

struct grant grant_read(const void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

struct grant grant_write(void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

struct grant grant_part(struct grant whole, uint64_t offset, uint64_t length)
{
	uint64_t rest = offset < whole.length ? whole.length - offset : 0;

	return (struct grant){ whole.id + offset, MIN(length, rest) };
}

nanoseconds now(void)
{
	return clock_now();
}

void *pages_take(size_t count)
{
	uint64_t frame = count == 1 ? frame_take() : frames_take(count);

	return frame ? physical(frame) : NULL;
}

void pages_give(void *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		frame_drop(physical_of(pages) + i * PAGE);
}
