/* cpu/arith-short, -int, -long, -float, -double and cpu/arithoh: UnixBench's arithmetic, after M table 1: the sum of
 * i*i / (i*i - 1) for i = 2 to 101, in one type, so that division dominates; arithoh is the loop without it.
 *
 * Each iteration reads the bounds from volatile memory: no compiler can fold a division away or compute the sum once
 * for all iterations; KM_KEEP keeps it to one division at a time. Each sum is compared with its closed form. A compiler
 * may divide in 32 bits where operands of a longer type fit, as clang does for long. */
#include "../km.h"

#define ARITH_FIRST 2
#define ARITH_LAST 101
#define ARITH_TERMS (ARITH_LAST - ARITH_FIRST + 1)
/* 1/(i*i - 1) telescopes: its sum is (1 + 1/2 - 1/101 - 1/102) / 2. */
#define ARITH_FRACTIONS ((1.0 + 0.5 - 1.0 / ARITH_LAST - 1.0 / (ARITH_LAST + 1)) / 2)

struct cpu_arith {
	struct km *km;
	volatile int first, last;
	double low, high; /* a right sum's bounds */
	uint64_t right;   /* iterations with a right sum */
};

static void *cpu_arith_new(struct km *km, double expected, double tolerance)
{
	struct cpu_arith *s = km_state(km, sizeof *s);

	s->first = ARITH_FIRST;
	s->last = ARITH_LAST;
	s->low = expected - tolerance;
	s->high = expected + tolerance;
	km->claim = (struct claim){ 0 };
	return s;
}

/* Integer division leaves 1 of each term. */
static void *cpu_arith_whole_setup(struct km *km)
{
	return cpu_arith_new(km, ARITH_TERMS, 0);
}

static void *cpu_arith_float_setup(struct km *km)
{
	return cpu_arith_new(km, ARITH_TERMS + ARITH_FRACTIONS, 1e-3);
}

static void *cpu_arith_double_setup(struct km *km)
{
	return cpu_arith_new(km, ARITH_TERMS + ARITH_FRACTIONS, 1e-11);
}

static void *cpu_arithoh_setup(struct km *km)
{
	return cpu_arith_new(km, ARITH_LAST + 1, 0);
}

/* The casts keep short short: C computes with int and would not convert back by itself. */
#define CPU_ARITH_RUN(name, type)                                                        \
	static void name(void *state, uint64_t n)                                        \
	{                                                                                \
		struct cpu_arith *s = state;                                             \
                                                                                         \
		while (n--) {                                                            \
			type sum = 0;                                                    \
			int last = s->last;                                              \
                                                                                         \
			for (int i = s->first; i <= last; i++) {                         \
				type square = (type)((type)i * (type)i);                 \
                                                                                         \
				KM_KEEP(i);                                              \
				sum = (type)(sum + (type)(square / (type)(square - 1))); \
			}                                                                \
			s->right += (double)sum >= s->low && (double)sum <= s->high;     \
		}                                                                        \
	}

static void cpu_arithoh_run(void *state, uint64_t n)
{
	struct cpu_arith *s = state;

	while (n--) {
		int i, last = s->last;

		for (i = s->first; i <= last; i++)
			KM_KEEP(i);
		s->right += (double)i >= s->low && (double)i <= s->high;
	}
}

#define CPU_ARITH_ROW                                                                                         \
	.unit = UNIT_PER_S, .source = "M table 1", .points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }), \
	.counted = { offsetof(struct cpu_arith, right), "sums are right" }
#define CPU_ARITH(type, conversions, its_setup)                                                                 \
	CPU_ARITH_RUN(cpu_arith_##type##_run, type)                                                             \
	const struct workload cpu_arith_##type = {                                                              \
		.name = "cpu/arith-" #type,                                                                     \
		.per = "sum of 100 terms",                                                                      \
		CPU_ARITH_ROW,                                                                                  \
		.what = "the sum of i*i/(i*i-1) for i = 2 to 101 in " #type,                                    \
		.inside = "100 " conversions "multiplications, subtractions, divisions and additions in " #type \
			  ", their loop",                                                                       \
		.setup = its_setup,                                                                             \
		.run = cpu_arith_##type##_run                                                                   \
	}

CPU_ARITH(short, "", cpu_arith_whole_setup);
CPU_ARITH(int, "", cpu_arith_whole_setup);
CPU_ARITH(long, "", cpu_arith_whole_setup);
CPU_ARITH(float, "conversions from int, ", cpu_arith_float_setup);
CPU_ARITH(double, "conversions from int, ", cpu_arith_double_setup);

const struct workload cpu_arithoh = {
	.name = "cpu/arithoh",
	.per = "loop of 100",
	CPU_ARITH_ROW,
	.what = "the loop of cpu/arith-int without its arithmetic",
	.inside = "100 iterations of an empty loop",
	.setup = cpu_arithoh_setup,
	.run = cpu_arithoh_run,
};
