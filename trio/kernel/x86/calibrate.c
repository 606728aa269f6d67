/* calibrate.c: how fast the processor's cycle counter counts, compared with the local APIC's timer, which counts
 * nanoseconds. The host of an emulated machine may take the processor away between any two instructions, for any time.
 * So each reading says between which cycles it was made, and what late readings spoilt is measured again. */
#include "x86/apic.h"
#include "x86/cpu.h"

#define NS 1000000000UL
#define SHORT_NS 50000U
#define LONG_NS 10000000U
/* How exact the looks must be, in parts; and how often the long one is repeated for that. */
#define SHORT_PARTS 256U
#define LONG_PARTS 1000U
#define LOOKS 50U
/* Of so many readings the one that was disturbed least is taken. */
#define SAMPLES 16U

#define CPUID_HYPERVISOR 0x40000000U

/* The timer was at `timer` at some time between the two cycles. */
struct sample {
	uint64_t earliest, latest;
	uint32_t timer;
};

/* Cycles a second, exact to one part in `parts`; 0: this look told nothing. */
struct look {
	uint64_t cycles, parts;
};

static struct sample sample(void)
{
	struct sample s;

	s.earliest = cpu_cycles();
	s.timer = local_apic[APIC_COUNT];
	s.latest = cpu_cycles();
	return s;
}

/* Takes several readings in turn, once the timer is at `until` or below. Returns the one that was made within the
 * fewest cycles. */
static struct sample sample_best(uint32_t until)
{
	struct sample best;

	do
		best = sample();
	while (best.timer > until);
	for (unsigned i = 1; i < SAMPLES; i++) {
		struct sample s = sample();

		if (s.latest - s.earliest < best.latest - best.earliest)
			best = s;
	}
	return best;
}

/* Looks for so many nanoseconds, at most a second. */
static struct look look(uint32_t ns)
{
	struct sample a, b;
	uint64_t cycles, error;

	local_apic[APIC_COUNT_FROM] = UINT32_MAX;
	a = sample_best(UINT32_MAX);
	b = sample_best(a.timer - ns);
	cycles = b.latest - a.latest;
	error = b.latest - b.earliest + a.latest - a.earliest;
	if (b.timer == 0 || a.timer - b.timer > NS)
		return (struct look){ .parts = 0 };
	return (struct look){ cycles * NS / (a.timer - b.timer), cycles / (error + 1) };
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
	found = look(SHORT_NS);
	return found.parts >= SHORT_PARTS && found.cycles > NS - NS / SHORT_PARTS &&
	       found.cycles < NS + NS / SHORT_PARTS;
}

uint64_t cycles_measure(void)
{
	struct look best = { .parts = 0 };

	for (unsigned i = 0; i < LOOKS && best.parts < LONG_PARTS; i++) {
		struct look found = look(LONG_NS);

		if (found.parts > best.parts)
			best = found;
	}
	if (best.parts == 0)
		panic("clock: in %u looks the local timer has not told the time", LOOKS);
	if (best.parts < LONG_PARTS)
		log_line("clock: the host was late in all of %u looks: rates are true to one part in %lu", LOOKS,
			 best.parts);
	return best.cycles;
}
