/* tsc.c: the clock is the processor's cycle counter. The alarm is the local APIC's timer, which counts nanoseconds
 * under QEMU and KVM. */
#include "x86/apic.h"
#include "x86/cpu.h"
#include "x86/machine.h"

#define NS 1000000000UL
#define CPUID_HYPERVISOR 0x40000000U
#define CPUID_RATES 0x40000010U
#define CPUID_CRYSTAL 0x15U

/* The factor: ns = (cycles * factor) >> 32. */
static uint64_t ns_per_cycle;
static uint64_t first_cycle;
uint64_t cycles_per_second;

/* What CPUID says of the cycles a second: a hypervisor in kHz, or a crystal's rate and a ratio. 0: it says nothing. */
static uint64_t cycles_told(void)
{
	uint32_t id[4], most;

	cpu_id(1, 0, id);
	if (id[2] >> 31) {
		cpu_id(CPUID_HYPERVISOR, 0, id);
		if (id[0] >= CPUID_RATES) {
			cpu_id(CPUID_RATES, 0, id);
			return id[0] * 1000UL;
		}
	}
	cpu_id(0, 0, id);
	most = id[0];
	if (most < CPUID_CRYSTAL)
		return 0;
	cpu_id(CPUID_CRYSTAL, 0, id);
	return id[0] && id[1] ? (uint64_t)id[2] * id[1] / id[0] : 0;
}

void clock_start(void)
{
	local_apic[APIC_DIVISOR] = APIC_DIVIDE_BY_1;
	local_apic[APIC_TIMER] = VECTOR_TIMER | APIC_MASKED;
	cycles_per_second = cycles_told();
	if (!cycles_per_second)
		cycles_per_second = counts_nanoseconds() ? NS : cycles_measure();
	local_apic[APIC_COUNT_FROM] = 0;
	local_apic[APIC_TIMER] = VECTOR_TIMER;
	/* 62 bits by 40 bits: no rate reaches 2^40. */
	ns_per_cycle = (NS << 32) / cycles_per_second;
	first_cycle = cpu_cycles();
}

nanoseconds now(void)
{
	return (uint64_t)((unsigned __int128)(cpu_cycles() - first_cycle) * ns_per_cycle >> 32);
}

/* It comes early if the deadline is further off than the timer can count, or if the rate is not quite exact: then it is
 * set again. */
void clock_alarm(nanoseconds deadline)
{
	nanoseconds at = now();
	uint64_t count = deadline > at ? deadline - at + 1 : 1;

	local_apic[APIC_COUNT_FROM] = deadline == NEVER ? 0 : (uint32_t)MIN(count, UINT32_MAX);
}
