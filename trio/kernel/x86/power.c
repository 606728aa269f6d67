/* power.c: the machine's end. Each way is tried in turn, since no machine has all of them. */
#include "x86/cpu.h"
#include "x86/machine.h"

/* QEMU's isa-debug-exit; on another machine nothing listens there. The emulator ends with 2 * status + 1. */
#define DEBUG_EXIT 0xf4

struct machine_ending machine_endings[2];

static void write(const struct machine_ending *e)
{
	if (e->address > UINT16_MAX)
		*(volatile uint8_t *)physical(e->address) = (uint8_t)e->value;
	else if (e->address)
		cpu_out((uint16_t)e->address, e->size, e->value);
}

_Noreturn void machine_end(bool again, uint32_t status)
{
	/* Without an interrupt table the exception of the next instruction finds no handler, nor does the double
	 * fault. */
	static const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none;

	if (!again) {
		cpu_out(DEBUG_EXIT, 1, status);
		write(&machine_endings[0]);
	}
	write(&machine_endings[1]);
	__asm__ volatile("lidt %0; ud2" : : "m"(none));
	for (;;)
		__asm__ volatile("hlt");
}
