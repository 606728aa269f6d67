/* clock.c: the calibration of the kernel's clock (calibrate.c) on a machine whose host is late: a model of
 * the local APIC's timer and the cycle counter, of which every access takes time, and some take long. For each seed:
 * the rate is as true as the calibration says, and where no reading was late it says nothing. */
#include "x86/apic.h"
#include "x86/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NS 1000000000UL
/* As good as the calibration has it when it says nothing; what counting in whole numbers adds. */
#define PARTS 1000.0
#define ROUNDED 0.0002

#define HOLDS(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

/* A host: how long an access takes, which of how many are late, and how late at the most; ns. */
struct host {
	const char *name;
	uint64_t access, one_late_in, late;
};

static const struct host hosts[] = {
	{ "prompt", 300, 0, 0 },
	{ "busy", 1000, 3000, 20 * 1000 * 1000 },
	{ "wraps 8 bits", 1000, 300, 1000 * 1000 },
	{ "wraps 16 bits", 1000, 2000, 300 * 1000 * 1000 },
	{ "always late", 2000, 3, 400 * 1000 },
	{ "hopeless", 2000, 2, 200 * 1000 * 1000 },
};

static uint64_t seed, random_state, now_ns, cycles_a_second;
static const struct host *host;
static uint64_t timer_loaded;
static volatile uint32_t apic[2];
/* What the calibration said. */
static uint64_t parts_told;
static jmp_buf gave_up;
static bool is_tcg;

static void fail(const char *what, int line)
{
	printf("seed %llu, %s host, line %d: %s\n", (unsigned long long)seed, host->name, line, what);
	exit(1);
}

static uint64_t random_below(uint64_t n)
{
	random_state = random_state * 6364136223846793005UL + 1442695040888963407UL;
	return (random_state >> 33) % n;
}

static uint64_t counted(uint64_t ns, uint64_t a_second)
{
	return (uint64_t)((unsigned __int128)ns * a_second / NS);
}

static void time_passes(void)
{
	now_ns += host->access / 2 + random_below(host->access);
	if (host->one_late_in && random_below(host->one_late_in) == 0)
		now_ns += random_below(host->late);
}

uint64_t cpu_cycles(void)
{
	time_passes();
	return counted(now_ns, cycles_a_second);
}

volatile uint32_t *apic_now(void)
{
	uint64_t passed;

	if (apic[APIC_COUNT_FROM]) {
		HOLDS(apic[APIC_COUNT_FROM] == UINT32_MAX);
		timer_loaded = now_ns;
		apic[APIC_COUNT_FROM] = 0;
	}
	time_passes();
	passed = now_ns - timer_loaded;
	apic[APIC_COUNT] = passed < UINT32_MAX ? UINT32_MAX - (uint32_t)passed : 0;
	return apic;
}

void cpu_id(uint32_t leaf, uint32_t sub, uint32_t found[4])
{
	(void)sub;
	memset(found, 0, 4 * sizeof *found);
	found[2] = leaf == 1 ? 1U << 31 : 0;
	if (leaf == 0x40000000)
		memcpy(&found[1], is_tcg ? "TCGTCGTCGTCG" : "KVMKVMKVM\0\0\0", 12);
}

void log_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)va_arg(arguments, unsigned);
	parts_told = va_arg(arguments, uint64_t);
	va_end(arguments);
}

void panic(const char *format, ...)
{
	(void)format;
	longjmp(gave_up, 1);
}

static bool is_true(uint64_t found, uint64_t rate, double parts)
{
	double off = (double)found / (double)rate - 1;

	return off <= 1 / parts + ROUNDED && -off <= 1 / parts + ROUNDED;
}

static void test_rates(void)
{
	uint64_t found;

	cycles_a_second = NS / 2 + random_below(5 * NS);
	parts_told = 0;
	if (setjmp(gave_up)) {
		HOLDS(host->one_late_in && host->one_late_in < 10);
		return;
	}
	found = cycles_measure();
	HOLDS(parts_told == 0 || host->one_late_in);
	HOLDS(is_true(found, cycles_a_second, parts_told ? (double)parts_told : PARTS));
}

/* Another rate than one a nanosecond is never taken for that. */
static void test_nanoseconds(void)
{
	is_tcg = true;
	cycles_a_second = random_below(2) ? NS + NS / 100 + random_below(4 * NS) : NS - NS / 100 - random_below(NS / 2);
	HOLDS(!counts_nanoseconds());
	is_tcg = false;
	cycles_a_second = NS;
	HOLDS(!counts_nanoseconds());
}

/* Where an access takes some instructions, and each of them a nanosecond. */
static void test_instructions(void)
{
	static const struct host counting = { "counting", 10, 0, 0 };

	host = &counting;
	is_tcg = true;
	cycles_a_second = NS;
	HOLDS(counts_nanoseconds());
	is_tcg = false;
}

int main(int count, char **arguments)
{
	uint64_t seeds = count > 1 ? strtoull(arguments[1], NULL, 0) : 100;

	for (seed = 0; seed < seeds; seed++) {
		random_state = seed * 2654435761UL + 1;
		test_instructions();
		for (host = hosts; host < hosts + COUNT_OF(hosts); host++) {
			test_rates();
			test_nanoseconds();
		}
	}
	puts("all holds");
	return 0;
}
