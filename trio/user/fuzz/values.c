/* values.c: random numbers and values for arguments: sizes and counts around limits, addresses near the ends of pages,
 * odd protections. */
#include "fuzz.h"

#include <sys/mman.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEAD 256 /* bytes that may precede what is stored */

static uint64_t state;

void random_from(uint64_t seed)
{
	state = seed;
}

uint64_t next(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

unsigned long below(unsigned long n)
{
	return next() % n;
}

/* Limits between ways to store something: classes of small memory, pages and runs of pages, names, rings, tables. What
 * is stored behind a head reaches its limit sooner. */
unsigned long size_around(void)
{
	static const unsigned long limits[] = { 16,   64,   128,  192,  255,   288,   528,      1008,    1024,
						2016, 2048, 4096, 8192, 16384, 65536, 1u << 17, 1u << 20 };
	unsigned long limit = limits[below(COUNT(limits))];

	if (below(2))
		return limit - below(limit < HEAD ? limit : HEAD);
	return limit - 8 + below(17);
}

/* Limits of descriptors beside a message (253), members of a vector (1,024), descriptors of a process. */
unsigned long count_around(void)
{
	static const unsigned long limits[] = { 16, 64, 253, 256, 1024 };

	return below(2) ? below(8) : limits[below(COUNT(limits))] - 3 + below(6);
}

unsigned long length(void)
{
	static const unsigned long extremes[] = { 1ul << 31, 1ul << 32, 1ul << 46, 1ul << 62,
						  1ul << 63, -1ul,      -4096ul,   0x7ffffffff000 };

	switch (below(8)) {
	case 0:
		return extremes[below(COUNT(extremes))];
	case 1:
	case 2:
	case 3:
		return size_around();
	default:
		return below(300);
	}
}

unsigned long wild(void)
{
	static const unsigned long some[] = { 0,
					      1,
					      16,
					      0x400000,
					      0x7ffffffff000,
					      0x7fffffffffff,
					      0x800000000000,
					      0x8000000000000000,
					      0xffff7fffffffffff,
					      0xffff800000000000,
					      0xffff888000001000,
					      0xffffffff80000000,
					      0xffffffff81000000,
					      0xfffffffffffff000,
					      0xffffffffffffffff };

	return some[below(COUNT(some))];
}

/* In the arena: anywhere, or close before an inaccessible page. */
unsigned long buffer(void)
{
	switch (below(8)) {
	case 0:
		return ARENA_AT + ARENA_PAGES * FUZZ_PAGE - below(64);
	case 1:
		return ARENA_AT + below(ARENA_PAGES) * FUZZ_PAGE + FUZZ_PAGE - below(16);
	case 2:
		return ARENA_AT + below(ARENA_PAGES * FUZZ_PAGE);
	case 3:
		return wild();
	default:
		return ARENA_AT + (below(ARENA_PAGES * FUZZ_PAGE) & ~15ul);
	}
}

unsigned long flags(void)
{
	unsigned long bits = 0;

	for (unsigned long n = below(4); n > 0; n--)
		bits |= 1ul << below(below(8) ? 21 : 64);
	return bits;
}

/* All are equally likely, also write-only, execute-only and none. */
unsigned long protection(void)
{
	return below(8);
}

/* Flags for a mapping over the calls' memory. */
unsigned long mapping(void)
{
	static const unsigned long more[] = { 0, MAP_ANONYMOUS, MAP_POPULATE, MAP_NORESERVE | MAP_ANONYMOUS };

	return (below(2) ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED | more[below(COUNT(more))];
}

/* A name of 255 bytes and one of 256; a path of 4,095 and one of 4,096. */
#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16
#define LONGEST X64 X64 X64 X16 X16 X16 "xxxxxxxxxxxxxxx"
#define UP15 "d/../d/../d/../"
#define UP60 UP15 UP15 UP15 UP15
#define UP960 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60 UP60
#define DEEPEST UP960 UP960 UP960 UP960 UP60 UP60 UP60 UP60 UP15

unsigned long path(void)
{
	static const char *const paths[] = { "a",     "b",         "c",    "d",        "d/a",   "d/b",
					     "d/e",   "d/e/a",     "s",    "p",        ".",     "d/.",
					     "a/x",   "missing/x", "sock", "d/e/../b", LONGEST, X64 X64 X64 X64,
					     DEEPEST, DEEPEST "d", "",     "d/" };

	return (unsigned long)paths[below(COUNT(paths))];
}

unsigned long any(void)
{
	switch (below(6)) {
	case 0:
		return below(16);
	case 1:
		return buffer();
	case 2:
		return length();
	case 3:
		return flags();
	case 4:
		return wild();
	default:
		return next();
	}
}
