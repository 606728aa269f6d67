/* calibrate.c: how fast the processor's cycle counter and the local APIC's timer count, held against the 8254, whose
 * rate is the same everywhere. The host of an emulated machine may take the processor away between any two
 * instructions, for any time: so each reading tells between which cycles it was made, the 8254 tells when it has run
 * out, and what late readings made untrue is measured again. */
#include "x86/calibrate.h"
#include "x86/apic.h"
#include "x86/cpu.h"

#define NS 1000000000UL
#define PIT_HZ 1193182UL
#define PIT_COUNTER_0 0x40
#define PIT_COMMAND 0x43
/* Counter 0, of 16 bits, counts down once; its output is low until it has run out (mode 0). */
#define PIT_ONCE 0x30
#define PIT_FROM 0xffffU
/* Count and status of counter 0 as they are now; the next three bytes are status, low byte and high byte. */
#define PIT_LATCH_BOTH 0xc2
#define PIT_RAN_OUT 0x80
#define PIT_NOT_LOADED 0x40

/* The short look: 84 microseconds. The long one: 10 milliseconds. */
#define SHORT_TICKS 100U
#define LONG_TICKS 11932U
/* So true must the looks be, in parts, and so often is the long one repeated for that. */
#define SHORT_PARTS 256U
#define LONG_PARTS 1000U
#define LOOKS 50U
/* More readings than an 8254 that counts needs for a look. */
#define READINGS (1U << 20)
/* Readings from which the one that was disturbed least is taken. */
#define SAMPLES 16U

#define CPUID_HYPERVISOR 0x40000000U

/* The 8254 had counted `ticks`, and the timer stood at `timer`, somewhere between two cycles. */
struct sample {
	uint64_t earliest, latest;
	uint32_t timer, ticks;
};

/* What two samples tell. It is true to one part in `parts`; 0: nothing is told. */
struct look {
	struct rates rates;
	uint64_t parts;
};

static uint8_t latch(struct sample *s)
{
	uint8_t status;
	uint32_t low;

	s->earliest = cpu_cycles();
	s->timer = local_apic[APIC_COUNT];
	cpu_out8(PIT_COMMAND, PIT_LATCH_BOTH);
	s->latest = cpu_cycles();
	status = cpu_in8(PIT_COUNTER_0);
	low = cpu_in8(PIT_COUNTER_0);
	s->ticks = PIT_FROM - (low | (uint32_t)cpu_in8(PIT_COUNTER_0) << 8);
	return status & (PIT_RAN_OUT | PIT_NOT_LOADED);
}

/* The timer second: as long as the 8254 has not run out, the timer has not either. */
static bool counters_load(void)
{
	struct sample s;
	unsigned readings = 0;

	cpu_out8(PIT_COMMAND, PIT_ONCE);
	cpu_out8(PIT_COUNTER_0, PIT_FROM & 0xff);
	cpu_out8(PIT_COUNTER_0, PIT_FROM >> 8);
	local_apic[APIC_COUNT_FROM] = UINT32_MAX;
	while (latch(&s) & PIT_NOT_LOADED)
		if (++readings == READINGS)
			return false;
	return true;
}

/* At the moment of a tick, `ticks` after the load or later. These return false where the 8254 has run out or does
 * not count. */
static bool sample_tick(struct sample *s, uint32_t ticks)
{
	struct sample before;

	if (latch(&before))
		return false;
	for (unsigned i = 0; i < READINGS; i++) {
		if (latch(s))
			return false;
		if (s->ticks != before.ticks && s->ticks >= ticks) {
			s->earliest = before.earliest;
			return true;
		}
		before = *s;
	}
	return false;
}

/* Of several in turn, `ticks` after the load or later, the one that was made within the fewest cycles. */
static bool sample_best(struct sample *best, uint32_t ticks)
{
	unsigned readings = 0;

	do
		if (latch(best) || ++readings == READINGS)
			return false;
	while (best->ticks < ticks);
	for (unsigned i = 1; i < SAMPLES; i++) {
		struct sample s;

		if (latch(&s))
			return false;
		if (s.latest - s.earliest < best->latest - best->earliest)
			*best = s;
	}
	return true;
}

/* `unsure`: within how many ticks, in all, the two samples' counts were what they say. */
static struct look between(const struct sample *a, const struct sample *b, uint32_t unsure)
{
	uint64_t cycles = b->latest - a->latest, ticks = b->ticks - a->ticks;
	uint64_t error = b->latest - b->earliest + a->latest - a->earliest + cycles * unsure / ticks;

	return (struct look){
		.rates = { cycles * PIT_HZ / ticks, (uint64_t)(a->timer - b->timer) * PIT_HZ / ticks },
		.parts = cycles / (error + 1),
	};
}

static struct look look_short(void)
{
	struct sample a, b;

	if (!counters_load() || !sample_tick(&a, 0) || !sample_tick(&b, a.ticks + SHORT_TICKS))
		return (struct look){ .parts = 0 };
	return between(&a, &b, 0);
}

static struct look look_long(void)
{
	struct sample a, b;

	if (!counters_load() || !sample_best(&a, 0) || !sample_best(&b, a.ticks + LONG_TICKS))
		return (struct look){ .parts = 0 };
	return between(&a, &b, 1);
}

bool counts_nanoseconds(void)
{
	uint32_t id[4];
	struct look found;

	cpu_id(1, 0, id);
	if (!(id[2] >> 31))
		return false;
	cpu_id(CPUID_HYPERVISOR, 0, id);
	if (memcmp(&id[1], "TCGTCGTCGTCG", 12) != 0)
		return false;
	found = look_short();
	return found.parts >= SHORT_PARTS && found.rates.cycles > NS - NS / SHORT_PARTS &&
	       found.rates.cycles < NS + NS / SHORT_PARTS;
}

struct rates rates_measure(void)
{
	struct look best = { .parts = 0 };

	for (unsigned i = 0; i < LOOKS && best.parts < LONG_PARTS; i++) {
		struct look found = look_long();

		if (found.parts > best.parts)
			best = found;
	}
	if (best.parts == 0)
		panic("clock: in %u looks the 8254 has not told the time", LOOKS);
	if (best.parts < LONG_PARTS)
		log_line("clock: the host was late in all of %u looks: rates are true to one part in %lu", LOOKS,
			 best.parts);
	return best.rates;
}
