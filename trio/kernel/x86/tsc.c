/* tsc.c: the clock is the processor's cycle counter, the alarm the local APIC's timer. Their rates are measured where
 * the processor does not tell them. */
#include "x86/apic.h"
#include "x86/calibrate.h"
#include "x86/cpu.h"
#include "x86/machine.h"

#define NS 1000000000UL
#define CPUID_HYPERVISOR 0x40000000U
#define CPUID_RATES 0x40000010U
#define CPUID_CRYSTAL 0x15U

/* A rate as a factor: units = (other units * factor) >> 32. */
static uint64_t ns_per_cycle, timer_per_ns;
static uint64_t first_cycle, cycles_per_second;

static uint64_t scaled(uint64_t value, uint64_t factor)
{
	return (uint64_t)((unsigned __int128)value * factor >> 32);
}

static uint64_t factor_of(uint64_t to, uint64_t from)
{
	/* 96 bits by 64: rates are below 2^40. */
	return (to / from << 32) + ((to % from) << 32) / from;
}

static void timer_count(uint32_t from)
{
	local_apic[APIC_COUNT_FROM] = from;
}

/* In CPUID: by a hypervisor in kHz, or as a crystal's rate and a ratio. 0: not told. */
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
	struct rates rates = { NS, NS };
	uint64_t told = cycles_told();

	local_apic[APIC_DIVISOR] = APIC_DIVIDE_BY_1;
	local_apic[APIC_TIMER] = VECTOR_TIMER | APIC_MASKED;
	if (!counts_nanoseconds())
		rates = rates_measure();
	cycles_per_second = told ? told : rates.cycles;
	timer_count(0);
	local_apic[APIC_TIMER] = VECTOR_TIMER;
	ns_per_cycle = factor_of(NS, cycles_per_second);
	timer_per_ns = factor_of(rates.timer, NS);
	first_cycle = cpu_cycles();
}

nanoseconds clock_now(void)
{
	return scaled(cpu_cycles() - first_cycle, ns_per_cycle);
}

/* A deadline that is further off than the timer can count is looked at again on the way. It never comes early, which
 * would find nothing expired. */
void clock_alarm(nanoseconds deadline)
{
	nanoseconds at = clock_now();
	uint64_t count;

	if (deadline == NEVER) {
		timer_count(0);
		return;
	}
	count = deadline > at ? scaled(deadline - at, timer_per_ns) + 1 : 1;
	timer_count(count > UINT32_MAX ? UINT32_MAX : (uint32_t)count);
}

uint64_t clock_frequency(void)
{
	return cycles_per_second;
}
