/* Is the integer-only double arithmetic of cpu/arith-double-soft that of the hardware, to the last bit?
 *
 * usage: soft_double PAIRS SEED. Prints the first differences; exit status 0, 1 (they differ), 2 (usage) or 77 (this
 * machine computes doubles with excess precision and cannot judge). */
#include "stub.h"
#include "../../../../probe/workloads/cpu_arith_double_soft.c"

#include <float.h>

static int differences;

static double to_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static uint64_t to_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* Operands of every kind, and those whose results lie near a rounding's edge: few bits set, exponents close by. */
static uint64_t operand(uint64_t *random, uint64_t other)
{
	static const uint64_t special[] = { 0,
					    SOFT_INF,
					    SOFT_NAN,
					    SOFT_INF | 1,
					    1,
					    SOFT_FRACTION,
					    SOFT_HIDDEN,
					    SOFT_HIDDEN | 1,
					    SOFT_INF - 1,
					    UINT64_C(0x3ff) << 52,
					    (UINT64_C(0x3ff) << 52) + 1,
					    (UINT64_C(0x3ff) << 52) - 1,
					    UINT64_C(0x1ff) << 52,
					    UINT64_C(0x5ff) << 52 };
	uint64_t r = stub_random(random), bits = stub_random(random), sign = bits & SOFT_SIGN;

	switch (r % 8) {
	case 0:
		return sign | special[r / 8 % (sizeof special / sizeof special[0])];
	case 1: /* subnormal, of any length */
		return sign | (bits & SOFT_FRACTION) >> r / 8 % 52;
	case 2: /* the fraction's upper bits only */
		return bits & ~(SOFT_FRACTION >> r / 8 % 52);
	case 3: /* near the other one in size, of either sign */
		return (other ^ sign) + (((r / 8 % 129) - 64) << 52) + (bits & 7);
	case 4: /* next to the other one */
		return (other ^ sign) + r / 8 % 5 - 2;
	case 5: /* from 2^-64 to 2^64 */
		return (bits & (SOFT_SIGN | SOFT_FRACTION)) | (959 + r / 8 % 129) << 52;
	default:
		return bits;
	}
}

static void compare(const char *what, uint64_t a, uint64_t b, uint64_t soft, double hard)
{
	uint64_t right = to_bits(hard);

	if (soft_is_nan(right)) { /* which NaN is for each machine to say, unless one went in */
		int nans = soft_is_nan(a) + soft_is_nan(b);

		if (nans == 1 ? soft == soft_quieted(a, b) : soft_is_nan(soft) && (soft & SOFT_QUIET))
			return;
	} else if (soft == right) {
		return;
	}
	if (differences++ < 20)
		printf("%016" PRIx64 " %s %016" PRIx64 " = %016" PRIx64 ", not %016" PRIx64 "\n", a, what, b, soft,
		       right);
}

static void compare_pair(uint64_t a, uint64_t b)
{
	volatile double x = to_double(a), y = to_double(b);

	compare("+", a, b, soft_add(a, b), x + y);
	compare("-", a, b, soft_sub(a, b), x - y);
	compare("*", a, b, soft_mul(a, b), x * y);
	compare("/", a, b, soft_div(a, b), x / y);
}

static void compare_integer(uint64_t bits, uint64_t shift)
{
	uint64_t size = bits >> shift % 64;
	volatile int64_t i = (int64_t)(bits & 1 ? size : 0 - size);

	compare("from integer", (uint64_t)i, 0, soft_from_int(i), (double)i);
}

int main(int argc, char **argv)
{
	uint64_t random, a = 0, b;

	if (argc != 3) {
		fprintf(stderr, "usage: soft_double PAIRS SEED\n");
		return 2;
	}
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
	return 77;
#endif
	random = strtoull(argv[2], NULL, 10);
	for (unsigned long long n = strtoull(argv[1], NULL, 10); n > 0; n--) {
		b = operand(&random, a);
		a = operand(&random, b);
		compare_pair(a, b);
		compare_integer(stub_random(&random), a);
	}
	compare_integer(UINT64_C(1) << 63, 0);
	compare_integer(0, 0);
	free(cpu_arith_double_soft.setup(&stub_km));
	printf("%d differences\n", differences);
	return differences > 0;
}
