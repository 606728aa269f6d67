/* machine.h: the machine around the processor: what firmware says of it, its interrupt controllers and clocks, PCI. */
#ifndef TRIO_MACHINE_H
#define TRIO_MACHINE_H

#include "core/memory.h"
#include "x86/registers.h"

/* Interrupt vectors: 0 to 31 exceptions, then lines of old devices, then PCI functions' messages. */
#define VECTOR_LINES 32
#define VECTOR_MESSAGES 48
#define MESSAGES 16
#define VECTOR_TIMER 240
#define VECTOR_SPURIOUS 255

/* What the boot loader handed over (PVH: struct hvm_start_info), made sense of. Strings are in the kernel. */
struct boot {
	struct memory_range ram[32];
	size_t ram_count;
	/* Physical; length 0: there is none. */
	struct memory_range archive;
	char command_line[1024];
	/* Physical address of ACPI's root pointer, 0: not told. */
	uint64_t acpi;
};
extern struct boot boot;

/* acpi.c: where PCI's configuration space is mapped, 0: only by ports; where the interrupt controllers are. */
struct acpi {
	uint64_t pci_config;
	uint64_t io_apic;
	/* For ending the machine: 0 where it has none. reset: a register of the fixed table; sleep: of a hardware-reduced machine. */
	uint16_t reset_port, pm1_control;
	uint8_t reset_value, sleep_type;
	uint64_t sleep_control;
};
extern struct acpi acpi;
void acpi_start(uint64_t root);

/* apic.c: old controllers off, the local and the I/O APIC on. */
void interrupts_start(void);
/* Lets line `line` (0 to 15) raise VECTOR_LINES + line, or not. */
void interrupt_line(unsigned line, bool on);
void interrupt_end(void);
/* tsc.c: calibrates the cycle counter and the local timer. */
void clock_start(void);
nanoseconds clock_now(void);
/* The timer interrupt comes then, once; NEVER: not at all. */
void clock_alarm(nanoseconds deadline);
/* Cycles a second, for reports. */
uint64_t clock_frequency(void);

/* pci.c: finds functions and gives every memory and port BAR an address. See kernel.idl, calls 40 and 41. */
void pci_start(void);
/* An interrupt of vector `vector` came: interrupts.c (core) sets the services' bits. */
void interrupt_arrived(unsigned vector);

/* Ends the machine: ACPI, the keyboard controller, a triple fault; whatever works first. */
_Noreturn void machine_end(bool again, uint32_t status);

#endif
