/* tsc.c: the clock is the processor's cycle counter, the alarm the local APIC's timer. Both are held against the 8254,
 * whose rate is the same everywhere, unless the processor tells their rates. */
#include "x86/apic.h"
#include "x86/cpu.h"
#include "x86/machine.h"

#define NS 1000000000UL
#define PIT_HZ 1193182UL
#define PIT_COUNTER_0 0x40
#define PIT_COMMAND 0x43
/* Counter 0 counts down once from 65535, and on. It is read by its low byte, or latched and by both. */
#define PIT_ONCE_LOW 0x10
#define PIT_ONCE_BOTH 0x30
#define PIT_LATCH 0x00

/* The short look: 42 microseconds. The long one: 10 milliseconds. */
#define SHORT_TICKS 50U
#define LONG_TICKS 11932U

#define CPUID_HYPERVISOR 0x40000000U
#define CPUID_RATES 0x40000010U
#define CPUID_CRYSTAL 0x15U

/* A rate as a factor: units = (other units * factor) >> 32. */
static uint64_t ns_per_cycle, timer_per_ns;
static uint64_t first_cycle, cycles_per_second;

struct sample {
	/* Both counters, and how long reading took: the less the truer. */
	uint64_t cycles, spent;
	uint32_t timer, pit;
};

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

static struct sample sample_latched(void)
{
	struct sample s = { .cycles = cpu_cycles() };
	uint32_t low;

	s.timer = local_apic[APIC_COUNT];
	cpu_out8(PIT_COMMAND, PIT_LATCH);
	s.spent = cpu_cycles() - s.cycles;
	low = cpu_in8(PIT_COUNTER_0);
	s.pit = low | (uint32_t)cpu_in8(PIT_COUNTER_0) << 8;
	return s;
}

/* Of several in turn the one that was disturbed least: an emulator's host may take the processor away. */
static struct sample sample_best(void)
{
	struct sample best = sample_latched();

	for (unsigned i = 0; i < 15; i++) {
		struct sample s = sample_latched();

		if (s.spent < best.spent)
			best = s;
	}
	return best;
}

/* At the moment of a tick, to the length of a loop. */
static struct sample sample_tick(unsigned ticks)
{
	uint8_t from = cpu_in8(PIT_COUNTER_0), at;

	do
		at = cpu_in8(PIT_COUNTER_0);
	while ((uint8_t)(from - at) < ticks);
	return (struct sample){ .cycles = cpu_cycles(), .timer = local_apic[APIC_COUNT], .pit = at };
}

static uint64_t rate(uint64_t counted, uint64_t ticks)
{
	return counted * PIT_HZ / ticks;
}

/* QEMU's own processor, where it counts instructions, has a counter of exactly one a nanosecond: a short look tells.
 * There a millisecond of waiting is a million instructions. */
static bool counts_nanoseconds(void)
{
	uint32_t id[4];
	struct sample a, b;
	uint64_t found;

	cpu_id(1, 0, id);
	if (!(id[2] >> 31))
		return false;
	cpu_id(CPUID_HYPERVISOR, 0, id);
	if (memcmp(&id[1], "TCGTCGTCGTCG", 12) != 0)
		return false;
	cpu_out8(PIT_COMMAND, PIT_ONCE_LOW);
	cpu_out8(PIT_COUNTER_0, 0xff);
	a = sample_tick(1);
	b = sample_tick(SHORT_TICKS);
	found = rate(b.cycles - a.cycles, (uint8_t)(a.pit - b.pit));
	return found > NS - NS / 256 && found < NS + NS / 256;
}

static void measure(uint64_t *cycles, uint64_t *timer)
{
	struct sample a, b;

	cpu_out8(PIT_COMMAND, PIT_ONCE_BOTH);
	cpu_out8(PIT_COUNTER_0, 0xff);
	cpu_out8(PIT_COUNTER_0, 0xff);
	a = sample_best();
	do
		b = sample_latched();
	while ((uint16_t)(a.pit - b.pit) < LONG_TICKS);
	b = sample_best();
	*cycles = rate(b.cycles - a.cycles, (uint16_t)(a.pit - b.pit));
	*timer = rate(a.timer - b.timer, (uint16_t)(a.pit - b.pit));
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
	uint64_t timer = NS, told = cycles_told();

	local_apic[APIC_DIVISOR] = APIC_DIVIDE_BY_1;
	local_apic[APIC_TIMER] = VECTOR_TIMER | APIC_MASKED;
	timer_count(UINT32_MAX);
	cycles_per_second = NS;
	if (!counts_nanoseconds())
		measure(&cycles_per_second, &timer);
	if (told)
		cycles_per_second = told;
	timer_count(0);
	local_apic[APIC_TIMER] = VECTOR_TIMER;
	ns_per_cycle = factor_of(NS, cycles_per_second);
	timer_per_ns = factor_of(timer, NS);
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
