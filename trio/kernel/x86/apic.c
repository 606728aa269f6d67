/* apic.c: interrupt controllers. The pair of 8259 is masked; the I/O APIC turns lines into vectors; the local APIC
 * hands these, the messages of PCI functions, and its own timer's interrupt to the processor. */
#include "x86/apic.h"
#include "x86/cpu.h"
#include "x86/machine.h"

#define APIC_MSR 0x1b
#define APIC_ENABLED (1UL << 11)
#define APIC_ADDRESS 0x000ffffffffff000UL
/* Where every PC and QEMU's microvm have the first I/O APIC (MultiProcessor Specification 1.4, 3.6.5). */
#define IO_APIC 0xfec00000UL

/* The masks of the pair of 8259; the local APIC does not listen to the pair either. */
#define PIC_1_MASKS 0x21
#define PIC_2_MASKS 0xa1

/* Indirect registers of the I/O APIC: an index here, the value 16 bytes on. */
#define IO_VALUE 4
#define IO_ENTRIES 16
#define ENTRY_MASKED (1U << 16)

volatile uint32_t *local_apic;
static volatile uint32_t *io_apic;

static void io_write(uint32_t index, uint32_t value)
{
	io_apic[0] = index;
	io_apic[IO_VALUE] = value;
}

static void local_start(void)
{
	uint64_t at = cpu_read_msr(APIC_MSR);

	cpu_write_msr(APIC_MSR, at | APIC_ENABLED);
	local_apic = physical(at & APIC_ADDRESS);
	local_apic[APIC_TIMER] = APIC_MASKED;
	local_apic[APIC_LINE_0] = APIC_MASKED;
	local_apic[APIC_LINE_1] = APIC_MASKED;
	local_apic[APIC_ERROR] = APIC_MASKED;
	local_apic[APIC_PRIORITY] = 0;
	local_apic[APIC_SPURIOUS] = APIC_ON | VECTOR_SPURIOUS;
}

/* Since the reset all inputs of the I/O APIC are masked. */
void interrupts_start(void)
{
	cpu_out(PIC_1_MASKS, 1, 0xff);
	cpu_out(PIC_2_MASKS, 1, 0xff);
	local_start();
	io_apic = physical(IO_APIC);
}

/* Old devices' lines are the inputs of the same numbers; an edge raises them. */
void interrupt_line(unsigned line, bool on)
{
	/* The line goes to the only processor, by its number. */
	io_write(IO_ENTRIES + 2 * line + 1, local_apic[APIC_ID] & 0xff000000);
	io_write(IO_ENTRIES + 2 * line, (VECTOR_LINES + line) | (on ? 0 : ENTRY_MASKED));
}

void interrupt_end(void)
{
	local_apic[APIC_END] = 0;
}
