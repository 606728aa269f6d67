/* power.c: the machine's end. Each way is tried in turn, since no machine has all of them. */
#include "x86/cpu.h"
#include "x86/machine.h"

/* QEMU's isa-debug-exit, where it is; elsewhere nothing listens. It ends with 2 * status + 1. */
#define DEBUG_EXIT 0xf4
#define KEYBOARD_COMMAND 0x64
#define KEYBOARD_RESET 0xfe

/* ACPI: the sleep register of a hardware-reduced machine, and PM1's. */
#define SLEEP_TYPE(type) ((uint32_t)(type) << 2)
#define SLEEP_NOW (1U << 5)
#define PM1_TYPE(type) ((uint32_t)(type) << 10)
#define PM1_NOW (1U << 13)

static void register_write(struct acpi_register r, uint32_t value, unsigned size)
{
	if (!r.address)
		return;
	if (r.is_port && size == 2)
		cpu_out16((uint16_t)r.address, (uint16_t)value);
	else if (r.is_port)
		cpu_out8((uint16_t)r.address, (uint8_t)value);
	else
		*(volatile uint8_t *)physical(r.address) = (uint8_t)value;
}

_Noreturn void machine_end(bool again, uint32_t status)
{
	/* No interrupt table: the exception of the instruction after it finds none, nor does the double fault. */
	static const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none;

	if (!again) {
		cpu_out8(DEBUG_EXIT, (uint8_t)status);
		register_write(acpi.sleep, SLEEP_TYPE(acpi.sleep_type) | SLEEP_NOW, 1);
		register_write(acpi.pm1_control, PM1_TYPE(acpi.sleep_type) | PM1_NOW, 2);
	}
	register_write(acpi.reset, acpi.reset_value, 1);
	cpu_out8(KEYBOARD_COMMAND, KEYBOARD_RESET);
	__asm__ volatile("lidt %0; ud2" : : "m"(none));
	for (;;)
		__asm__ volatile("hlt");
}
