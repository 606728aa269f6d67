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
/* pvh.c: reads what lies at that physical address. Before the kernel's own map, in the first GiB. */
void boot_read(uint64_t start_info);

/* A register of ACPI's: where it is. Address 0: there is none. */
struct acpi_register {
	uint64_t address;
	bool is_port;
};

/* A line of an old device (0 to 15): the I/O APIC's input, and how it is raised. */
struct acpi_line {
	uint8_t input;
	bool level, low;
};

/* acpi.c: what the firmware's tables say. Every field is 0 where they say nothing; the lines are then as on a PC. */
struct acpi {
	/* Physical addresses of PCI's configuration space (of bus 0; 0: by ports only), and of the interrupt
	 * controller. */
	uint64_t pci_config, io_apic;
	uint8_t pci_last_bus;
	struct acpi_line lines[16];
	/* For ending the machine. `sleep`: of a hardware-reduced machine, which has no pm1_control. */
	struct acpi_register reset, sleep, pm1_control;
	uint8_t reset_value, sleep_type;
};
extern struct acpi acpi;
/* `root`: physical address of ACPI's root pointer; 0: it is searched. After kernel_map_start: tables lie high. */
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
