/* cpu.h: instructions of the processor that C cannot express. */
#ifndef TRIO_CPU_H
#define TRIO_CPU_H

#include <stdint.h>

/* `size` bytes: 1, 2, else 4. */
static inline void cpu_out(uint16_t port, uint32_t size, uint32_t value)
{
	if (size == 1)
		__asm__ volatile("outb %0, %1" : : "a"((uint8_t)value), "Nd"(port));
	else if (size == 2)
		__asm__ volatile("outw %0, %1" : : "a"((uint16_t)value), "Nd"(port));
	else
		__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint32_t cpu_in(uint16_t port, uint32_t size)
{
	uint32_t value = 0;

	if (size == 1)
		__asm__ volatile("inb %1, %b0" : "+a"(value) : "Nd"(port));
	else if (size == 2)
		__asm__ volatile("inw %1, %w0" : "+a"(value) : "Nd"(port));
	else
		__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline void cpu_out_bytes(uint16_t port, const void *from, uint64_t n)
{
	__asm__ volatile("rep outsb" : "+S"(from), "+c"(n) : "d"(port) : "memory");
}

static inline uint64_t cpu_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static inline void cpu_write_msr(uint32_t number, uint64_t value)
{
	__asm__ volatile("wrmsr" : : "c"(number), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t cpu_read_msr(uint32_t number)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number));
	return (uint64_t)high << 32 | low;
}

static inline void cpu_id(uint32_t leaf, uint32_t sub, uint32_t found[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(found[0]), "=b"(found[1]), "=c"(found[2]), "=d"(found[3])
			 : "a"(leaf), "c"(sub));
}

static inline uint64_t cpu_cr2(void)
{
	uint64_t value;

	__asm__ volatile("mov %%cr2, %0" : "=r"(value));
	return value;
}

/* Waits until an interrupt comes. */
static inline void cpu_wait(void)
{
	__asm__ volatile("sti\n\thlt\n\tcli" : : : "memory");
}

/* Takes the interrupts that wait, and goes on. */
static inline void cpu_look(void)
{
	__asm__ volatile("sti\n\tnop\n\tcli" : : : "memory");
}

static inline void cpu_forget_page(uint64_t address)
{
	__asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

#endif
