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

/* The kernel's log, lines on the serial line, works from here on. */
void log_start(void);

/* What the boot loader handed over (PVH: struct hvm_start_info), made sense of. */
struct boot {
	struct memory_range ram[32];
	size_t ram_count;
	/* Physical; length 0: there is none. */
	struct memory_range archive;
};
extern struct boot boot;
/* pvh.c: reads what lies at that physical address. Before the kernel's own map, in the first GiB. */
void boot_read(uint64_t start_info);
/* Any of it is there. */
bool boot_has_ram(uint64_t begin, uint64_t end);
/* All below is in the direct map, RAM or not; from here on there are the interrupt controllers, the kernel's own. */
#define DEVICES_END 0xfec00000UL

/* apic.c: old controllers off, the local and the I/O APIC on. */
void interrupts_start(void);
/* Lets line `line` (0 to 15) raise VECTOR_LINES + line, or not. */
void interrupt_line(unsigned line, bool on);
void interrupt_end(void);
/* tsc.c: calibrates the cycle counter and the local timer. */
void clock_start(void);
/* The timer interrupt comes then, once; NEVER: not at all. */
void clock_alarm(nanoseconds deadline);
/* For reports. */
extern uint64_t cycles_per_second;

/* An interrupt of vector `vector` came: interrupts.c (core) sets the services' bits. */
void interrupt_arrived(unsigned vector);
/* All of an endpoint's go to nobody. */
void interrupts_release(uint32_t endpoint);

/* A register whose write ends the machine: a port; beyond 0xffff, device memory. 0: there is none. */
struct machine_ending {
	uint64_t address;
	uint32_t size, value;
};
/* Off, and again. */
extern struct machine_ending machine_endings[2];
/* Ends the machine: as kernel.shut_down_by said, by a triple fault; whatever works first. */
_Noreturn void machine_end(bool again, uint32_t status);

#endif
