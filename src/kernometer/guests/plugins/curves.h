/* curves.h: why lines miss, and in which size they would not. Beside each cache stands a fully associative one of its
 * size, so that a miss is of a line that was never used before (cold), of one that the fully associative cache has lost
 * too (capacity), or of one that only the sets have lost (conflict: Hill and Smith, Evaluating associativity in CPU
 * caches, 1989). Beside the first level also stand fully associative caches of 4 KiB to 2 MiB, some of L1's size apart
 * for clients and for the system, and caches of 64 KiB with one way and with two, as of 1993. Counted apart are the
 * user mode of clients, that of servers, and the kernel. */
#ifndef KM_CURVES_H
#define KM_CURVES_H

#include "caches.h"
#include "processors.h"
#include "recency.h"
#include "spaces.h"
#include "strings.h"
#include <stdio.h>

enum domain { CLIENT, SERVER, IN_KERNEL, DOMAINS };
enum side { OF_DATA, OF_CODE, SIDES };
enum cause { COLD, CAPACITY, CONFLICT, CAUSES };

static struct {
	int on;
	uint32_t size[2][SIDES];        /* of L1 and L2, as the number of a size of recency.h */
	struct recency l1[SIDES], l2;   /* l2: of what L1 misses, code and data together */
	struct recency apart[2][SIDES]; /* of clients, and of the system */
	struct cache one_way[SIDES], two_ways[SIDES];
	struct curve_counts {
		struct curve {
			uint64_t uses, causes[2][CAUSES]; /* causes of misses of L1 and L2 */
			uint64_t apart; /* misses of L1's size, fully associative, without the others' lines */
			uint64_t one_way, two_ways;
			uint64_t misses[CACHE_SIZES];
		} curve[DOMAINS][SIDES];
	} counts;
} curves;

#define CURVE_COUNTS (sizeof(struct curve_counts) / sizeof(uint64_t))

static enum domain domain_of(int kernel)
{
	return kernel ? IN_KERNEL : in_server() ? SERVER : CLIENT;
}

static enum cause cause_of(uint32_t sizes_too_small, uint32_t size)
{
	return sizes_too_small == NEVER_USED ? COLD : sizes_too_small > size ? CAPACITY : CONFLICT;
}

static int misses(struct cache *cache, uint64_t line)
{
	if (cache_find(cache, line, line))
		return 0;
	cache_add(cache, line, line);
	return 1;
}

/* A line was used, which `levels` levels of the caches did not have. */
static void curves_use(uint64_t line, enum side side, int kernel, int levels)
{
	enum domain domain = domain_of(kernel);
	struct curve *curve = &curves.counts.curve[domain][side];
	uint32_t beyond = recency_use(&curves.l1[side], line), size = curves.size[0][side], i;

	curve->uses++;
	for (i = 0; i < beyond && i < CACHE_SIZES; i++)
		curve->misses[i]++;
	curve->apart += recency_use(&curves.apart[domain != CLIENT][side], line) > size;
	curve->one_way += (uint64_t)misses(&curves.one_way[side], line);
	curve->two_ways += (uint64_t)misses(&curves.two_ways[side], line);
	if (levels > 0)
		curve->causes[0][cause_of(beyond, size)]++;
	if (levels > 0 && (beyond = recency_use(&curves.l2, line), levels > 1))
		curve->causes[1][cause_of(beyond, curves.size[1][side])]++;
}

/* All counts up to now. */
static inline void curves_counts(uint64_t to[CURVE_COUNTS])
{
	memcpy(to, &curves.counts, sizeof curves.counts);
}

/* The name of a count, by its place in `curves.counts`: `server_code_misses_32k`. */
static inline const char *curve_name(size_t number)
{
	static const char *const domains[] = { "client", "server", "kernel" }, *const sides[] = { "data", "code" };
	static const char *const first[] = {
		"uses",        "l1_cold",     "l1_capacity",  "l1_conflict", "l2_cold",
		"l2_capacity", "l2_conflict", "misses_apart", "one_way_64k", "two_ways_64k"
	};
	static char name[40];
	size_t each = sizeof(struct curve) / sizeof(uint64_t), at = number % each, curve = number / each;
	int n;

	n = snprintf(name, sizeof name, "%s_%s_", domains[curve / SIDES], sides[curve % SIDES]);
	if (at < sizeof first / sizeof *first)
		snprintf(name + n, sizeof name - (size_t)n, "%s", first[at]);
	else
		snprintf(name + n, sizeof name - (size_t)n, "misses_%uk", 4u << (at - sizeof first / sizeof *first));
	return name;
}

/* Lines of L1I, L1D and L2. Returns 0 if one is no power of two between the smallest and the largest size. */
static int curves_open(unsigned long l1i, unsigned long l1d, unsigned long l2)
{
	unsigned long lines[2][SIDES] = { { l1d, l1i }, { l2, l2 } };
	uint32_t i, size;

	for (i = 0; i < SIDES; i++) {
		cache_open(&curves.one_way[i], CACHE_LINES(4), 1);
		cache_open(&curves.two_ways[i], CACHE_LINES(4), 2);
	}
	for (i = 0; i < 4; i++) {
		for (size = 0; size < CACHE_SIZES && CACHE_LINES(size) != lines[i / 2][i % 2]; size++)
			;
		if (size == CACHE_SIZES)
			return 0;
		curves.size[i / 2][i % 2] = size;
	}
	return curves.on = 1;
}

#endif
