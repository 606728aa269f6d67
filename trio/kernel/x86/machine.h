/* machine.h: the machine around the processor: what firmware says of it, its interrupt controllers and clocks. */
#ifndef TRIO_MACHINE_H
#define TRIO_MACHINE_H

#include "core/memory.h"
#include "x86/registers.h"

/* Interrupt vectors: 0 to 31 exceptions, then lines of old devices, then PCI functions' messages. */
#define VECTOR_LINES 32
#define LINES 16
#define MESSAGES 16
#define VECTOR_TIMER 240
#define VECTOR_SPURIOUS 255

/* Makes the kernel's log work, which writes lines to the serial line. */
void log_start(void);

/* What the boot loader handed over (PVH: struct hvm_start_info). */
struct boot {
	struct memory_range ram[32];
	size_t ram_count;
	/* At a physical address; length 0: there is none. */
	struct memory_range archive;
};
extern struct boot boot;
/* pvh.c: reads what lies at that physical address, in the first GiB, before the kernel has its own map. */
void boot_read(uint64_t start_info);
/* Whether any of that range is RAM. */
bool boot_has_ram(uint64_t begin, uint64_t end);
/* The direct map contains all addresses below, RAM or not; the interrupt controllers, which are the kernel's own, begin
 * here. */
#define DEVICES_END 0xfec00000UL

/* apic.c: turns old controllers off, the local and the I/O APIC on. */
void interrupts_start(void);
/* Lets line `line` (0 to 15) raise VECTOR_LINES + line, or stops it. */
void interrupt_line(unsigned line, bool on);
void interrupt_end(void);
/* tsc.c: calibrates the cycle counter and the local timer. */
void clock_start(void);
/* Sets the one timer interrupt; NEVER: takes it back. */
void clock_alarm(nanoseconds deadline);
/* For reports. */
extern uint64_t cycles_per_second;

/* An interrupt of vector `vector` has come: interrupts.c (core) sets the service's bit. */
void interrupt_arrived(unsigned vector);
/* Takes all interrupts away from an endpoint. */
void interrupts_release(uint32_t endpoint);

/* A register whose write ends the machine: a port, or beyond 0xffff device memory; 0: there is none. */
struct machine_ending {
	uint64_t address;
	uint32_t size, value;
};
/* By enum kernel_ending. */
extern struct machine_ending machine_endings[2];
/* Ends the machine, as kernel.shut_down_by said, or by a triple fault: by whatever works first. */
_Noreturn void machine_end(bool again, uint32_t status);

#endif
