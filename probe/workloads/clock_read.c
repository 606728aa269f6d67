/* clock_read.c: clock/…: the cost of one read of each clock. The result's header has their resolutions. */
#include "../km.h"

struct clock_state {
	struct km *km;
	uint64_t (*read)(void);
	uint64_t first, last;
};

static void *clock_setup(struct km *km)
{
	struct clock_state *c = km_state(km, sizeof *c);

	c->read = km_clock_read(km, strchr(km->workload->name, '/') + 1);
	c->first = c->read();
	km->claim.faults = 0;
	km->claim.switches = 0;
	return c;
}

static void clock_run(void *state, uint64_t n)
{
	struct clock_state *c = state;
	uint64_t (*now)(void) = c->read;
	uint64_t last = c->last;

	while (n--)
		last = now();
	c->last = last;
}

static void clock_verify(void *state, uint64_t n)
{
	struct clock_state *c = state;

	if (n > 0 && (c->last == 0 || c->last < c->first))
		km_fail(c->km, "the clock ran backwards: %" PRIu64 ", then %" PRIu64, c->first, c->last);
}

/* clang-format off */ /* it would put a row's fields one below another, in mid-line */
#define CLOCK(symbol, clock, capability, hangs_on, definition) \
	const struct workload symbol = { \
		.name = "clock/" clock, .per = "read", \
		.source = "K table 2", \
		.what = definition, .inside = "one read through a function pointer, as each sample's two reads are", \
		.needs = capability, .settings = hangs_on, .points = KM_POINTS({ .profile = QUICK, .path_n = 100 }), \
		.setup = clock_setup, .run = clock_run, .verify = clock_verify }
/* clang-format on */

CLOCK(clock_read_monotonic, "monotonic", CAP_CLOCK_GETTIME, SET_CLOCK_SOURCE | SET_VDSO,
      "one clock_gettime(CLOCK_MONOTONIC)");
CLOCK(clock_read_monotonic_raw, "monotonic-raw", CAP_CLOCK_RAW, SET_CLOCK_SOURCE | SET_VDSO,
      "one clock_gettime(CLOCK_MONOTONIC_RAW)");
CLOCK(clock_read_gettimeofday, "gettimeofday", 0, SET_CLOCK_SOURCE | SET_VDSO, "one gettimeofday by libc");
CLOCK(clock_read_times, "times", 0, 0, "one times()");
CLOCK(clock_read_cycles, "cycles", CAP_CYCLES, 0, "the cycle counter, plain (rdtsc)");
CLOCK(clock_read_cycles_serialised, "cycles-serialised", CAP_CYCLES, 0,
      "the cycle counter after a serialising instruction (cpuid)");
