/* What a workload's file wants of the engine, for tests that look at its functions and measure nothing. */
#include "../../../../probe/km.h"

volatile double km_kept_double;
#if !defined(__GNUC__) && !defined(__clang__)
volatile uintptr_t km_kept;
#endif

static struct km stub_km;

void km_fail(struct km *km, const char *format, ...)
{
	va_list values;

	(void)km;
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	exit(3);
}

void *km_alloc(struct km *km, size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		km_fail(km, "no memory");
	return p;
}

void *km_state(struct km *km, size_t bytes)
{
	struct km **state = km_alloc(km, bytes);

	*state = km;
	return state;
}

/* splitmix64: any seed will do, and its numbers are the same everywhere. */
static uint64_t stub_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}
