/* cpu/arith-double-soft: cpu/arith-double in IEEE 754 double arithmetic made of integers alone: the cost on a system
 * that has no floating-point unit or does not switch it on (M's factors 68 and 36).
 *
 * Written from the standard: round to nearest, ties to even; subnormals, infinities, signed zeros. The result of NaN
 * operands is the first of them, quieted; that of an invalid operation is the NaN below. There are no flags. Numbers
 * are uint64_t in the standard's interchange format. tests/probe compares bit for bit with the hardware. */
#include "../km.h"

#define SOFT_SIGN (UINT64_C(1) << 63)
#define SOFT_INF (UINT64_C(0x7ff) << 52)
#define SOFT_HIDDEN (UINT64_C(1) << 52)
#define SOFT_QUIET (UINT64_C(1) << 51)
#define SOFT_NAN (SOFT_SIGN | SOFT_INF | SOFT_QUIET)
#define SOFT_FRACTION (SOFT_HIDDEN - 1)
#define SOFT_TOP 62 /* bit of the leading one during the work: 10 spare below */

/* The parts of a number: value = mant * 2^(exp - 1075); a zero has mant 0. */
struct soft_parts {
	uint64_t sign, mant;
	int exp;
};

static int soft_is_nan(uint64_t a)
{
	return (a & ~SOFT_SIGN) > SOFT_INF;
}

static int soft_is_inf(uint64_t a)
{
	return (a & ~SOFT_SIGN) == SOFT_INF;
}

static uint64_t soft_quieted(uint64_t a, uint64_t b)
{
	return (soft_is_nan(a) ? a : b) | SOFT_QUIET;
}

/* Zeros above the leading one; `a` is not 0. */
static int soft_leading_zeros(uint64_t a)
{
	int n = 0;

	for (int step = 32; step > 0; step /= 2)
		if (a >> (64 - step) == 0) {
			a <<= step;
			n += step;
		}
	return n;
}

/* Shifts right and keeps, in the lowest bit, whether any bit was lost: all that rounding needs. */
static uint64_t soft_shift_right(uint64_t a, int by)
{
	if (by <= 0)
		return a;
	if (by >= 64)
		return a != 0;
	return a >> by | ((a << (64 - by)) != 0);
}

static struct soft_parts soft_take(uint64_t a)
{
	struct soft_parts p;

	p.sign = a & SOFT_SIGN;
	p.exp = (int)(a >> 52 & 0x7ff);
	p.mant = a & SOFT_FRACTION;
	if (p.exp > 0)
		p.mant |= SOFT_HIDDEN;
	else
		p.exp = 1; /* a subnormal: its hidden bit is 0 */
	return p;
}

/* The same with the leading one moved to bit 52: for operands of * and /, whose exponent may leave its range. */
static struct soft_parts soft_take_normal(uint64_t a)
{
	struct soft_parts p = soft_take(a);
	int shift = soft_leading_zeros(p.mant) - 11;

	p.mant <<= shift;
	p.exp -= shift;
	return p;
}

/* Rounds sign * mant * 2^(exp - 1085), any mant but 0, whose lowest bit may stand for more below it. */
static uint64_t soft_round(uint64_t sign, uint64_t mant, int exp)
{
	int shift = soft_leading_zeros(mant) - (63 - SOFT_TOP);
	uint64_t rest;

	if (shift < 0)
		mant = soft_shift_right(mant, -shift);
	else
		mant <<= shift;
	exp -= shift;
	if (exp >= 0x7ff)
		return sign | SOFT_INF;
	if (exp < 1) { /* subnormal: the exponent stays, the number shrinks */
		mant = soft_shift_right(mant, 1 - exp);
		exp = 1;
	}
	rest = mant & 0x3ff;
	mant >>= 10;
	mant += rest > 0x200 || (rest == 0x200 && (mant & 1));
	/* A carry out of the fraction increments the exponent, which also makes a subnormal normal. */
	return sign | (((uint64_t)(exp - 1) << 52) + mant);
}

/* NaN and infinity of a sum; at least one operand is not finite. */
static uint64_t soft_add_special(uint64_t a, uint64_t b)
{
	if (soft_is_nan(a) || soft_is_nan(b))
		return soft_quieted(a, b);
	if (soft_is_inf(a) && soft_is_inf(b) && a != b)
		return SOFT_NAN;
	return soft_is_inf(a) ? a : b;
}

static KM_NOINLINE uint64_t soft_add(uint64_t a, uint64_t b)
{
	struct soft_parts big, small;
	uint64_t mant;

	if ((a & SOFT_INF) == SOFT_INF || (b & SOFT_INF) == SOFT_INF)
		return soft_add_special(a, b);
	big = soft_take(a);
	small = soft_take(b);
	if ((a & ~SOFT_SIGN) < (b & ~SOFT_SIGN)) {
		struct soft_parts other = big;

		big = small;
		small = other;
	}
	big.mant <<= 10;
	small.mant = soft_shift_right(small.mant << 10, big.exp - small.exp);
	mant = big.sign == small.sign ? big.mant + small.mant : big.mant - small.mant;
	if (mant == 0) /* x - x is +0; -0 + -0 keeps its sign */
		return big.sign & small.sign;
	return soft_round(big.sign, mant, big.exp);
}

static KM_NOINLINE uint64_t soft_sub(uint64_t a, uint64_t b)
{
	return soft_add(a, soft_is_nan(b) ? b : b ^ SOFT_SIGN);
}

/* The upper 64 bits of the product; in its lowest bit, whether the lower 64 are not 0. */
static uint64_t soft_product(uint64_t a, uint64_t b)
{
	uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
	uint64_t low = a0 * b0;
	uint64_t middle = a1 * b0 + (low >> 32);
	uint64_t other = a0 * b1 + (middle & 0xffffffff);
	uint64_t lost = (other << 32) | (low & 0xffffffff);

	return (a1 * b1 + (middle >> 32) + (other >> 32)) | (lost != 0);
}

static KM_NOINLINE uint64_t soft_mul(uint64_t a, uint64_t b)
{
	uint64_t sign = (a ^ b) & SOFT_SIGN;
	struct soft_parts x, y;

	if (soft_is_nan(a) || soft_is_nan(b))
		return soft_quieted(a, b);
	if (soft_is_inf(a) || soft_is_inf(b))
		return (a & ~SOFT_SIGN) == 0 || (b & ~SOFT_SIGN) == 0 ? SOFT_NAN : sign | SOFT_INF;
	if ((a & ~SOFT_SIGN) == 0 || (b & ~SOFT_SIGN) == 0)
		return sign;
	x = soft_take_normal(a);
	y = soft_take_normal(b);
	/* 2^62 or more times 2^63 or more: the upper half has its leading one at bit 61 or 62. */
	return soft_round(sign, soft_product(x.mant << 10, y.mant << 11), x.exp + y.exp - 1022);
}

static KM_NOINLINE uint64_t soft_div(uint64_t a, uint64_t b)
{
	uint64_t sign = (a ^ b) & SOFT_SIGN, quotient, rest;
	struct soft_parts x, y;

	if (soft_is_nan(a) || soft_is_nan(b))
		return soft_quieted(a, b);
	if (soft_is_inf(a))
		return soft_is_inf(b) ? SOFT_NAN : sign | SOFT_INF;
	if (soft_is_inf(b))
		return sign;
	if ((b & ~SOFT_SIGN) == 0)
		return (a & ~SOFT_SIGN) == 0 ? SOFT_NAN : sign | SOFT_INF;
	if ((a & ~SOFT_SIGN) == 0)
		return sign;
	x = soft_take_normal(a);
	y = soft_take_normal(b);
	/* Long division in digits of 11 bits: the remainder is below 2^53, so that one more digit fits 64 bits. */
	quotient = x.mant / y.mant;
	rest = x.mant % y.mant;
	for (int digit = 0; digit < 5; digit++) {
		rest <<= 11;
		quotient = quotient << 11 | rest / y.mant;
		rest %= y.mant;
	}
	return soft_round(sign, quotient << 1 | (rest != 0), x.exp - y.exp + 1029);
}

static KM_NOINLINE uint64_t soft_from_int(int64_t i)
{
	uint64_t sign = i < 0 ? SOFT_SIGN : 0, mant = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;

	return mant == 0 ? 0 : soft_round(sign, mant, 1085);
}

/* The workload -------------------------------------------------------------------------------------------------- */

#define SOFT_EXPECTED UINT64_C(0x40592f5e93ce1a26)

struct cpu_soft {
	struct km *km;
	volatile int first, last;
	uint64_t right; /* sums right to the last bit */
};

static void *cpu_soft_setup(struct km *km)
{
	struct cpu_soft *s = km_state(km, sizeof *s);

	s->first = 2;
	s->last = 101;
	km->claim = (struct claim){ 0 };
	return s;
}

static uint64_t soft_arith_sum(int first, int last)
{
	uint64_t one = soft_from_int(1), sum = 0;

	for (int i = first; i <= last; i++) {
		uint64_t x = soft_from_int(i);
		uint64_t square = soft_mul(x, x);

		sum = soft_add(sum, soft_div(square, soft_sub(square, one)));
	}
	return sum;
}

static void cpu_soft_run(void *state, uint64_t n)
{
	struct cpu_soft *s = state;

	while (n--)
		s->right += soft_arith_sum(s->first, s->last) == SOFT_EXPECTED;
}

const struct workload cpu_arith_double_soft = {
	.name = "cpu/arith-double-soft",
	.per = "sum of 100 terms",
	.unit = UNIT_PER_S,
	.source = "M table 1",
	.what = "the sum of i*i/(i*i-1) for i = 2 to 101 in double made of integer instructions",
	.inside =
		"100 conversions from int, multiplications, subtractions, divisions and additions as calls, their loop",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 50 }),
	.setup = cpu_soft_setup,
	.run = cpu_soft_run,
	.counted = { offsetof(struct cpu_soft, right), "sums have the right bits" },
};
