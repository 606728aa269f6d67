/* cpu/whetstone: the Whetstone benchmark in double precision, from Curnow and Wichmann, "A synthetic benchmark"
 * (Computer Journal 19(1), 1976): their modules 2 to 4, 6 to 9 and 11 with their weights, for one million Whetstone
 * instructions; modules 1, 5 and 10 have the weight 0 and may be omitted.
 *
 * The standard functions are part of the measure and are our own here: the same on every system, and the program links
 * without a mathematics library. They are exact to a few units in the last place where the modules need them; tests
 * compare them with libm. The modules print nothing: verify checks the values that each leaves. */
#include "../km.h"

#define WHET_I 10 /* their i: 100 000 Whetstone instructions each */
#define WHET_T 0.499975
#define WHET_T1 0.50025
#define WHET_T2 2.0

/* Standard functions -------------------------------------------------------------------------------------------- */

#define WHET_LN2_HIGH 6.93147180369123816490e-01 /* 33 bits: times a small integer it is exact */
#define WHET_LN2_LOW 1.90821492927058770002e-10
#define WHET_HALF_PI_HIGH 1.57079632673412561417e+00
#define WHET_HALF_PI_LOW 6.07710050650619224932e-11
#define WHET_SQRT_HALF 0.70710678118654752440

union whet_bits {
	double value;
	uint64_t bits;
};

/* 2^n, n in the normal range. */
static double whet_power_of_2(int n)
{
	union whet_bits u;

	u.bits = (uint64_t)(n + 1023) << 52;
	return u.value;
}

/* The integer nearest to x, |x| below 2^31. */
static int whet_nearest(double x)
{
	return (int)(x < 0 ? x - 0.5 : x + 0.5);
}

/* sum of c[k] * z^k by Horner's rule; terms shrink from the first to the last. */
static double whet_series(const double *c, int terms, double z)
{
	double sum = c[terms - 1];

	for (int k = terms - 2; k >= 0; k--)
		sum = sum * z + c[k];
	return sum;
}

/* By Newton's iteration from a guess that halves the exponent; x > 0 and normal. */
static KM_NOINLINE double whet_sqrt(double x)
{
	union whet_bits u;
	double y;

	u.value = x;
	u.bits = (u.bits >> 1) + (UINT64_C(1023) << 51);
	y = u.value;
	for (int k = 0; k < 4; k++)
		y = 0.5 * (y + x / y);
	return y;
}

/* x = k ln 2 + r with |r| at most ln 2 / 2, Taylor's series of r; |x| below 700. */
static KM_NOINLINE double whet_exp(double x)
{
	static const double c[] = {
		1,          1,           1 / 2.0,      1 / 6.0,       1 / 24.0,       1 / 120.0,       1 / 720.0,
		1 / 5040.0, 1 / 40320.0, 1 / 362880.0, 1 / 3628800.0, 1 / 39916800.0, 1 / 479001600.0, 1 / 6227020800.0
	};
	int k = whet_nearest(x / (WHET_LN2_HIGH + WHET_LN2_LOW));
	double r = (x - k * WHET_LN2_HIGH) - k * WHET_LN2_LOW;

	return whet_series(c, sizeof c / sizeof c[0], r) * whet_power_of_2(k);
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2); ln m = 2 artanh((m - 1) / (m + 1)); x > 0 and normal. */
static KM_NOINLINE double whet_log(double x)
{
	static const double c[] = { 2,        2 / 3.0,  2 / 5.0,  2 / 7.0,  2 / 9.0, 2 / 11.0,
				    2 / 13.0, 2 / 15.0, 2 / 17.0, 2 / 19.0, 2 / 21.0 };
	union whet_bits u;
	double s;
	int k;

	u.value = x;
	k = (int)(u.bits >> 52) - 1022;
	u.bits = (u.bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1022) << 52;
	if (u.value < WHET_SQRT_HALF) {
		u.value *= 2;
		k--;
	}
	s = (u.value - 1) / (u.value + 1);
	return k * WHET_LN2_HIGH + (s * whet_series(c, sizeof c / sizeof c[0], s * s) + k * WHET_LN2_LOW);
}

/* atan x = atan c + atan((x - c) / (1 + x c)) with c = 0, 1/2 or 1, and pi/2 - atan(1/x) beyond 1. */
static KM_NOINLINE double whet_atan(double x)
{
	static const double c[] = { 1,         -1 / 3.0, 1 / 5.0,   -1 / 7.0, 1 / 9.0,   -1 / 11.0, 1 / 13.0,
				    -1 / 15.0, 1 / 17.0, -1 / 19.0, 1 / 21.0, -1 / 23.0, 1 / 25.0 };
	static const double at[] = { 0, 0.46364760900080611621, 0.78539816339744830962 };
	double a = x < 0 ? -x : x, centre, z, result;
	int beyond = a > 1, nearest;

	if (beyond)
		a = 1 / a;
	nearest = whet_nearest(2 * a);
	centre = nearest / 2.0;
	z = (a - centre) / (1 + a * centre);
	result = at[nearest] + z * whet_series(c, sizeof c / sizeof c[0], z * z);
	if (beyond)
		result = (WHET_HALF_PI_HIGH - result) + WHET_HALF_PI_LOW;
	return x < 0 ? -result : result;
}

/* sin(x + quarters * pi/2): x is brought to +-pi/4, then Taylor's series; |x| below a million. */
static double whet_sine(double x, int quarters)
{
	static const double of_sin[] = { 1,
					 -1 / 6.0,
					 1 / 120.0,
					 -1 / 5040.0,
					 1 / 362880.0,
					 -1 / 39916800.0,
					 1 / 6227020800.0,
					 -1 / 1307674368000.0,
					 1 / 355687428096000.0 };
	static const double of_cos[] = { 1,
					 -1 / 2.0,
					 1 / 24.0,
					 -1 / 720.0,
					 1 / 40320.0,
					 -1 / 3628800.0,
					 1 / 479001600.0,
					 -1 / 87178291200.0,
					 1 / 20922789888000.0 };
	int k = whet_nearest(x / (WHET_HALF_PI_HIGH + WHET_HALF_PI_LOW));
	double r = (x - k * WHET_HALF_PI_HIGH) - k * WHET_HALF_PI_LOW, result;

	k += quarters;
	if (k & 1)
		result = whet_series(of_cos, sizeof of_cos / sizeof of_cos[0], r * r);
	else
		result = r * whet_series(of_sin, sizeof of_sin / sizeof of_sin[0], r * r);
	return k & 2 ? -result : result;
}

static KM_NOINLINE double whet_sin(double x)
{
	return whet_sine(x, 0);
}

static KM_NOINLINE double whet_cos(double x)
{
	return whet_sine(x, 1);
}

/* The modules --------------------------------------------------------------------------------------------------- */

/* Each module's values: e1 of 2, of 3, j of 4, e1[1], e1[2] of 6, x, y of 7, z of 8, e1[1] to e1[3] of 9, x of 11. */
#define WHET_LEFT 18

/* Their global variables; arrays begin at 1, as theirs do. */
struct cpu_whet {
	struct km *km;
	volatile double t, t1, t2;
	double e1[5];
	int j, k, l;
	double left[WHET_LEFT], sum[WHET_LEFT]; /* of one iteration, of all */
};

/* Their procedures with external linkage, so that a compiler must expect any arguments. */
void whet_pa(const struct cpu_whet *s, double *e);
void whet_p3(const struct cpu_whet *s, double x, double y, double *z);
void whet_p0(struct cpu_whet *s);

/* e1 by its elements. */
static KM_NOINLINE void whet_module2(struct cpu_whet *s)
{
	double *e = s->e1, t = s->t;

	e[1] = 1;
	e[2] = e[3] = e[4] = -1;
	for (int i = 12 * WHET_I; i > 0; i--) {
		e[1] = (e[1] + e[2] + e[3] - e[4]) * t;
		e[2] = (e[1] + e[2] - e[3] + e[4]) * t;
		e[3] = (e[1] - e[2] + e[3] + e[4]) * t;
		e[4] = (-e[1] + e[2] + e[3] + e[4]) * t;
	}
	memcpy(s->left, e + 1, 4 * sizeof *e);
}

/* An array as a parameter. */
KM_NOINLINE void whet_pa(const struct cpu_whet *s, double *e)
{
	double t = s->t, t2 = s->t2;

	for (int j = 0; j < 6; j++) {
		e[1] = (e[1] + e[2] + e[3] - e[4]) * t;
		e[2] = (e[1] + e[2] - e[3] + e[4]) * t;
		e[3] = (e[1] - e[2] + e[3] + e[4]) * t;
		e[4] = (-e[1] + e[2] + e[3] + e[4]) / t2;
	}
}

static KM_NOINLINE void whet_module3(struct cpu_whet *s)
{
	for (int i = 14 * WHET_I; i > 0; i--)
		whet_pa(s, s->e1);
	memcpy(s->left + 4, s->e1 + 1, 4 * sizeof s->e1[0]);
}

/* Conditional jumps, or what the compiler makes of them. */
static KM_NOINLINE void whet_module4(struct cpu_whet *s)
{
	int j = 1;

	for (int i = 345 * WHET_I; i > 0; i--) {
		j = j == 1 ? 2 : 3;
		KM_KEEP(j);
		j = j > 2 ? 0 : 1;
		KM_KEEP(j);
		j = j < 1 ? 1 : 0;
		KM_KEEP(j);
	}
	s->left[8] = j;
}

/* Integer arithmetic. The numbers are constant, which memory hides from the compiler. */
static KM_NOINLINE void whet_module6(struct cpu_whet *s)
{
	s->j = 1;
	s->k = 2;
	s->l = 3;
	for (int i = 210 * WHET_I; i > 0; i--) {
		KM_KEEP(i);
		s->j = s->j * (s->k - s->j) * (s->l - s->k);
		s->k = s->l * s->k - (s->l - s->j) * s->k;
		s->l = (s->l - s->k) * (s->k + s->j);
		s->e1[s->l - 1] = s->j + s->k + s->l;
		s->e1[s->k - 1] = s->j * s->k * s->l;
	}
	s->left[9] = s->e1[1];
	s->left[10] = s->e1[2];
}

/* Trigonometric functions. */
static KM_NOINLINE void whet_module7(struct cpu_whet *s)
{
	double x = 0.5, y = 0.5, t = s->t, t2 = s->t2;

	for (int i = 32 * WHET_I; i > 0; i--) {
		x = t * whet_atan(t2 * whet_sin(x) * whet_cos(x) / (whet_cos(x + y) + whet_cos(x - y) - 1.0));
		y = t * whet_atan(t2 * whet_sin(y) * whet_cos(y) / (whet_cos(x + y) + whet_cos(x - y) - 1.0));
	}
	s->left[11] = x;
	s->left[12] = y;
}

/* Procedure calls, two parameters by value and one by reference. */
KM_NOINLINE void whet_p3(const struct cpu_whet *s, double x, double y, double *z)
{
	double t = s->t;

	x = t * (x + y);
	y = t * (x + y);
	*z = (x + y) / s->t2;
}

static KM_NOINLINE void whet_module8(struct cpu_whet *s)
{
	double x = 1.0, y = 1.0;

	s->left[13] = 1.0;
	for (int i = 899 * WHET_I; i > 0; i--) {
		whet_p3(s, x, y, &s->left[13]);
		KM_KEEP(i);
	}
}

/* Array references. */
KM_NOINLINE void whet_p0(struct cpu_whet *s)
{
	s->e1[s->j] = s->e1[s->k];
	s->e1[s->k] = s->e1[s->l];
	s->e1[s->l] = s->e1[s->j];
}

static KM_NOINLINE void whet_module9(struct cpu_whet *s)
{
	s->j = 1;
	s->k = 2;
	s->l = 3;
	s->e1[1] = 1.0;
	s->e1[2] = 2.0;
	s->e1[3] = 3.0;
	for (int i = 616 * WHET_I; i > 0; i--) {
		whet_p0(s);
		KM_KEEP(i);
	}
	memcpy(s->left + 14, s->e1 + 1, 3 * sizeof s->e1[0]);
}

/* Standard functions. */
static KM_NOINLINE void whet_module11(struct cpu_whet *s)
{
	double x = 0.75, t1 = s->t1;

	for (int i = 93 * WHET_I; i > 0; i--)
		x = whet_sqrt(whet_exp(whet_log(x) / t1));
	s->left[WHET_LEFT - 1] = x;
}

static void *cpu_whet_setup(struct km *km)
{
	struct cpu_whet *s = km_state(km, sizeof *s);

	s->t = WHET_T;
	s->t1 = WHET_T1;
	s->t2 = WHET_T2;
	km->claim = (struct claim){ 0 };
	return s;
}

static void cpu_whet_run(void *state, uint64_t n)
{
	struct cpu_whet *s = state;

	while (n--) {
		whet_module2(s);
		whet_module3(s);
		whet_module4(s);
		whet_module6(s);
		whet_module7(s);
		whet_module8(s);
		whet_module9(s);
		whet_module11(s);
		for (int i = 0; i < WHET_LEFT; i++)
			s->sum[i] += s->left[i];
	}
}

/* The values of the published program, computed with 60 digits. Double differs by less than 1e-14. */
static const double whet_right[WHET_LEFT] = { -0.068342198629951953,
					      -0.462637656263568039,
					      -0.729718387843690335,
					      -1.123979070046127022,
					      -0.055336452591790961,
					      -0.447436562754744999,
					      -0.710973389285179563,
					      -1.103098056925599741,
					      1,
					      6,
					      6,
					      0.490407316159045465,
					      0.490392497956100069,
					      0.999937500625,
					      3,
					      2,
					      3,
					      0.834665519519058057 };

static void cpu_whet_verify(void *state, uint64_t n)
{
	struct cpu_whet *s = state;

	for (int i = 0; i < WHET_LEFT; i++) {
		double mean = s->sum[i] / (double)n, wrong = mean - whet_right[i];

		if (!(wrong > -1e-10 && wrong < 1e-10))
			km_fail(s->km, "value %d is %.15g, not %.15g", i, mean, whet_right[i]);
	}
}

const struct workload cpu_whetstone = {
	.name = "cpu/whetstone",
	.per = "million Whetstone instructions",
	.unit = UNIT_PER_S,
	.source = "M table 1; Curnow and Wichmann 1976",
	.what = "Whetstone in double precision, with standard functions of our own",
	.inside = "modules 2, 3, 4, 6, 7, 8, 9 and 11 with the published weights for one million instructions (i = 10)",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 5 }),
	.setup = cpu_whet_setup,
	.run = cpu_whet_run,
	.verify = cpu_whet_verify,
};
