/* clock.c: every clock of the platform, with its measured resolution and the cost of one read. */
#include "engine.h"

#include <sys/times.h>

static uint64_t nanoseconds(uint64_t s, uint64_t ns)
{
#ifdef KM_CLOCK_TICKS_PER_S /* a test: this system stands in for one with coarse clocks */
	ns = ns * KM_CLOCK_TICKS_PER_S / 1000000000u * 1000000000u / KM_CLOCK_TICKS_PER_S;
#endif
	return s * 1000000000u + ns;
}

#if HAVE_CLOCK_GETTIME
static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t) != 0)
		return 0;
	return nanoseconds((uint64_t)t.tv_sec, (uint64_t)t.tv_nsec);
}

static uint64_t read_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}
#endif

#if HAVE_CLOCK_RAW
static uint64_t read_monotonic_raw(void)
{
	return read_clock(CLOCK_MONOTONIC_RAW);
}
#endif

static uint64_t read_gettimeofday(void)
{
	struct timeval t;

	if (gettimeofday(&t, NULL) != 0)
		return 0;
	return nanoseconds((uint64_t)t.tv_sec, (uint64_t)t.tv_usec * 1000u);
}

static uint64_t read_times(void)
{
	struct tms unused;

	return (uint64_t)times(&unused);
}

#if defined(__x86_64__) || defined(__i386__)
#define CYCLES_UNSUPPORTED NULL

uint64_t clock_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* cpuid waits for every instruction before it (K, section 3.2). On a virtual machine it traps, at a cost. */
static uint64_t read_cycles_serialised(void)
{
	uint32_t low, high;

#if defined(__x86_64__)
	__asm__ volatile("xorl %%eax, %%eax\n\tcpuid\n\trdtsc" : "=a"(low), "=d"(high) : : "rbx", "rcx", "memory");
#else
	__asm__ volatile("pushl %%ebx\n\txorl %%eax, %%eax\n\tcpuid\n\trdtsc\n\tpopl %%ebx"
			 : "=a"(low), "=d"(high)
			 :
			 : "ecx", "memory");
#endif
	return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define CYCLES_UNSUPPORTED NULL

uint64_t clock_cycles(void)
{
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

static uint64_t read_cycles_serialised(void)
{
	uint64_t count;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
	return count;
}
#elif defined(__riscv) && __riscv_xlen == 64 /* rdcycle is the kernel's to permit, and few do */
#define CYCLES_UNSUPPORTED NULL

uint64_t clock_cycles(void)
{
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count));
	return count;
}

static uint64_t read_cycles_serialised(void)
{
	uint64_t count;

	__asm__ volatile("fence\n\trdtime %0" : "=r"(count) : : "memory");
	return count;
}
#else
#define CYCLES_UNSUPPORTED "no cycle counter that user mode may read is known for this processor"

uint64_t clock_cycles(void)
{
	return clock_wall();
}

static uint64_t read_cycles_serialised(void)
{
	return clock_wall();
}
#endif

static struct clock_source table[] = {
#if HAVE_CLOCK_GETTIME
	{ "monotonic", read_monotonic, 1, NULL, 0, 0 },
#else
	{ "monotonic", read_gettimeofday, 1, "this platform has no clock_gettime", 0, 0 },
#endif
#if HAVE_CLOCK_RAW
	{ "monotonic-raw", read_monotonic_raw, 1, NULL, 0, 0 },
#else
	{ "monotonic-raw", read_gettimeofday, 1, "this platform has no CLOCK_MONOTONIC_RAW", 0, 0 },
#endif
	{ "gettimeofday", read_gettimeofday, 1, NULL, 0, 0 },
	{ "times", read_times, 0, NULL, 0, 0 },
	{ "cycles", clock_cycles, 0, CYCLES_UNSUPPORTED, 0, 0 },
	{ "cycles-serialised", read_cycles_serialised, 0, CYCLES_UNSUPPORTED, 0, 0 },
};

struct clock_source *clock_table(size_t *n)
{
	*n = sizeof table / sizeof table[0];
	return table;
}

struct clock_source *clock_find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (strcmp(table[i].name, name) == 0 && !table[i].unsupported)
			return &table[i];
	return NULL;
}

const char *clock_default(void)
{
	size_t i = 0;

	while (table[i].unsupported) /* every platform has gettimeofday */
		i++;
	return table[i].name;
}

/* A clock that steps back stands still here for as long as it takes to do so. */
uint64_t clock_wall(void)
{
	static struct {
		uint64_t last, behind;
	} wall = { 1, 0 }; /* not zero: in a page that is written anyway, which counts by path depend on */
#if HAVE_CLOCK_GETTIME
	uint64_t now = read_monotonic();
#else
	uint64_t now = read_gettimeofday();
#endif

	if (now < wall.last)
		wall.behind += wall.last - now;
	wall.last = now;
	return now + wall.behind;
}

/* The wall clock's reading right after its next step. */
static uint64_t wall_step(void)
{
	uint64_t before = clock_wall(), now;

	do
		now = clock_wall();
	while (now == before);
	return now;
}

/* Ticks of `c` against the wall clock over `span` ns; each end of the span is exact to one wall reading. */
static double rate(struct clock_source *c, uint64_t span)
{
	uint64_t w0 = wall_step(), t0 = c->read(), w1, t1;

	do {
		w1 = wall_step();
		t1 = c->read();
	} while (w1 - w0 < span || t1 == t0);
	return (double)(w1 - w0) / (double)(t1 - t0);
}

int km_ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#define INTERVALS 2048
#define ROUNDING 4096 /* steps of a coarse clock differ by their rounding to ns, by less than this part */

/* The smallest step of a clock, in ticks: the shortest interval, or the smallest difference between two. Intervals of
 * bare reads are all as long as a read; so these contain work of varied length. Takes at most `reads` intervals, but at
 * least two steps (a clock of 16.67 ms shows one in a million reads), and never longer than two seconds. */
static uint64_t smallest_step(struct clock_source *c, long reads)
{
	static uint64_t interval[INTERVALS];
	uint64_t least, limit = clock_wall() + 2000000000u;
	size_t n = 0;

	for (long i = 0; n < INTERVALS && (i < reads || n < 2); i++) {
		uint64_t before = c->read(), now;

		for (long k = i * 7 % 61; k > 0; k--)
			KM_KEEP(k);
		now = c->read();
		if (now > before)
			interval[n++] = now - before;
		if (i % 1024 == 1023 && clock_wall() > limit)
			break;
	}
	qsort(interval, n, sizeof *interval, km_ascending);
	least = n > 0 ? interval[0] : 0;
	for (size_t i = 1; i < n; i++) {
		uint64_t step = interval[i] - interval[i - 1];

		if (step > interval[i] / ROUNDING && step < least)
			least = step;
	}
	return least;
}

void clock_measure(struct clock_source *c, int thorough)
{
	long reads = thorough ? 100000 : INTERVALS;
	uint64_t t0, t1;
	double done = 0;

	if (c->read == read_times)
		c->ns_per_tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	else if (c->ns_per_tick == 0)
		c->ns_per_tick = rate(c, thorough ? 50000000 : 5000000);
	if (c->read == read_cycles_serialised) /* on a virtual machine each read exits to the hypervisor */
		reads /= 50;
	if (c->read == read_times) /* ticks of 10 ms: two steps are enough */
		reads = 2;
	c->resolution_ns = (double)smallest_step(c, reads) * c->ns_per_tick;

	reads = thorough ? 20000 : 1000;
	if (c->read == read_cycles_serialised)
		reads /= 50;
	t0 = wall_step();
	do { /* repeated only where all these reads take less than one step of the wall clock, or it stepped back */
		for (long i = 0; i < reads; i++)
			(void)c->read();
		done += (double)reads;
		t1 = clock_wall();
	} while (t1 == t0 && done < 1e8);
	c->cost_ns = (double)(t1 - t0) / done;
}
