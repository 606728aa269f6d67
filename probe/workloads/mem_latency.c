/* mem/latency, mem/latency-random: dependent loads. The working set has one pointer every `stride` bytes; each leads to
 * the next, all in one ring, so that a load begins when the one before has ended.
 *
 * mem/latency walks down through memory by the stride, as lmbench's lat_mem_rd does. Hardware prefetchers follow such a
 * walk, the better the smaller the stride: so the source's lines differ by stride. mem/latency-random visits the same
 * places in an order that no prefetcher follows: x -> a x + c modulo their number, a power of two, which is one ring
 * for every odd c where a is 1 modulo 4 (Hull and Dobell, 1962), and can be laid out without walking it. */
#include "../km.h"
#define MEM_LATENCY_LOADS 64                 /* in an iteration */
#define MEM_LATENCY_WARM (UINT64_C(1) << 20) /* loads before the first sample, at the most */

/* The place after x is a x + c, modulo `mask` + 1 where the order is random; otherwise x - 1, or from 0 the last. */
struct mem_latency_order {
	uint64_t a, c, mask;
};

struct mem_latency {
	struct km *km;
	size_t bytes, stride;
	uint64_t places;
	struct mem_latency_order order; /* a = 0: downwards */
	char *area;
	void *at;       /* where the next load is */
	uint64_t loads; /* in all */
};

static uint64_t mem_latency_next(const struct mem_latency *l, uint64_t place)
{
	if (l->order.a)
		return (l->order.a * place + l->order.c) & l->order.mask;
	return place ? place - 1 : l->places - 1;
}

/* The place after so many loads; by repeated squaring where the order is random. */
static uint64_t mem_latency_after(const struct mem_latency *l, uint64_t place, uint64_t loads)
{
	uint64_t a = l->order.a, c = l->order.c;

	if (!a)
		return (place + l->places - loads % l->places) % l->places;
	for (; loads > 0; loads /= 2) {
		if (loads % 2)
			place = a * place + c;
		c = a * c + c;
		a *= a;
	}
	return place & l->order.mask;
}

static uint64_t mem_latency_first(const struct mem_latency *l)
{
	return l->places - 1;
}

/* The loop goes down too: the first round begins with the lines that the cache keeps longest, as all later ones do. */
static void mem_latency_lay(struct mem_latency *l)
{
	for (uint64_t i = l->places; i-- > 0;)
		*(void **)(void *)(l->area + i * l->stride) = l->area + mem_latency_next(l, i) * l->stride;
}

#define MEM_LATENCY_LOAD(p) (*(void **)(p))
#define MEM_LATENCY_4(p) MEM_LATENCY_LOAD(MEM_LATENCY_LOAD(MEM_LATENCY_LOAD(MEM_LATENCY_LOAD(p))))
#define MEM_LATENCY_16(p) MEM_LATENCY_4(MEM_LATENCY_4(MEM_LATENCY_4(MEM_LATENCY_4(p))))

static void mem_latency_run(void *state, uint64_t n) /* timed: 64 n loads */
{
	struct mem_latency *l = state;
	void *at = l->at;

	l->loads += n * MEM_LATENCY_LOADS;
	while (n--)
		at = MEM_LATENCY_16(MEM_LATENCY_16(MEM_LATENCY_16(MEM_LATENCY_16(at))));
	l->at = at;
}

static struct mem_latency *mem_latency_setup_with(struct km *km, struct mem_latency_order order)
{
	struct mem_latency *l = km_state(km, sizeof *l);
	uint64_t warm;

	l->bytes = (size_t)km->arg[0];
	l->stride = (size_t)km->arg[1];
	l->places = l->bytes / l->stride;
	l->order = order;
	l->order.mask = l->places - 1;
	l->area = km_area(km, l->bytes);
	mem_latency_lay(l);
	l->at = l->area + mem_latency_first(l) * l->stride;
	warm = l->places < MEM_LATENCY_WARM ? l->places : MEM_LATENCY_WARM;
	mem_latency_run(l, 2 * warm / MEM_LATENCY_LOADS + 1);
	km->ops = MEM_LATENCY_LOADS;
	km->claim.syscalls = km->claim.faults = 0;
	return l;
}

static void *mem_latency_setup(struct km *km)
{
	static const struct mem_latency_order down = { 0, 0, 0 };

	return mem_latency_setup_with(km, down);
}

static void *mem_latency_random_setup(struct km *km)
{
	static const struct mem_latency_order random = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd1b54a32d192ed03),
							 0 };

	return mem_latency_setup_with(km, random);
}

static void mem_latency_verify(void *state, uint64_t n)
{
	struct mem_latency *l = state;
	uint64_t place = mem_latency_after(l, mem_latency_first(l), l->loads);

	if (l->loads < n * MEM_LATENCY_LOADS)
		km_fail(l->km, "%" PRIu64 " loads were made, not %" PRIu64, l->loads, n * MEM_LATENCY_LOADS);
	if (l->at != l->area + place * l->stride)
		km_fail(l->km, "the chain of %" PRIu64 " loads ended in the wrong place", l->loads);
}

/* By path a load is an instruction whatever it waits for: the rows with a plan are for what is counted beside, misses
 * and page walks of a modelled processor, which show the ends of its caches (by the line) and of its TLB (by the page).
 */
#define MEM_LATENCY_PATH_N(bytes, stride) (((stride) == 64 || (stride) == 4096) && (bytes) <= 32 << 20 ? 1000 : 0)
#define MEM_LATENCY_AT(bytes, stride) { { bytes, stride }, FULL, MEM_LATENCY_PATH_N(bytes, stride), ONE_CPU, 0 }
/* Powers of two, and one between them where first-level caches of today end. */
#define MEM_LATENCY_FROM_8K(stride, profile_at_16m)                                                                    \
	MEM_LATENCY_AT(8 << 10, stride), MEM_LATENCY_AT(16 << 10, stride), MEM_LATENCY_AT(32 << 10, stride),           \
		MEM_LATENCY_AT(48 << 10, stride), MEM_LATENCY_AT(64 << 10, stride), MEM_LATENCY_AT(128 << 10, stride), \
		MEM_LATENCY_AT(256 << 10, stride), MEM_LATENCY_AT(512 << 10, stride), MEM_LATENCY_AT(1 << 20, stride), \
		MEM_LATENCY_AT(2 << 20, stride), MEM_LATENCY_AT(4 << 20, stride), MEM_LATENCY_AT(8 << 20, stride),     \
		{ { 16 << 20, stride }, profile_at_16m, 0, ONE_CPU, 0 }, MEM_LATENCY_AT(32 << 20, stride),             \
		MEM_LATENCY_AT(64 << 20, stride), MEM_LATENCY_AT(128 << 20, stride)

#define MEM_LATENCY_ROW                                                                           \
	.per = "load", .params = { "bytes", "stride" }, .curve = "bytes", .run = mem_latency_run, \
	.verify = mem_latency_verify

const struct workload mem_latency = {
	.name = "mem/latency",
	MEM_LATENCY_ROW,
	.source = "G figure 1 (lmbench's lat_mem_rd)",
	.what = "dependent loads down through a working set of `bytes` bytes in steps of `stride` bytes, over and over",
	.inside = "64 loads an iteration, each of the pointer that the next one follows; prefetchers can follow the "
		  "constant stride; ordinary pages (huge ones refused where possible), touched before",
	/* Each working set has two places or more. */
	.points =
		KM_POINTS(MEM_LATENCY_AT(512, 16), MEM_LATENCY_AT(2048, 16), MEM_LATENCY_FROM_8K(16, FULL),
			  MEM_LATENCY_AT(512, 64), MEM_LATENCY_AT(2048, 64), MEM_LATENCY_FROM_8K(64, QUICK),
			  MEM_LATENCY_AT(512, 256), MEM_LATENCY_AT(2048, 256), MEM_LATENCY_FROM_8K(256, FULL),
			  MEM_LATENCY_AT(2048, 1024), MEM_LATENCY_FROM_8K(1024, FULL), MEM_LATENCY_FROM_8K(4096, FULL)),
	.setup = mem_latency_setup,
};

const struct workload mem_latency_random = {
	.name = "mem/latency-random",
	MEM_LATENCY_ROW,
	.source = "beyond the sources",
	.what = "dependent loads of every `stride` bytes of a working set of `bytes` bytes in a fixed scattered order",
	.inside =
		"64 loads an iteration, each of the pointer that the next one follows; no prefetcher follows the order "
		"(place x leads to a x + c); ordinary pages (huge ones refused where possible), touched before",
	.points = KM_POINTS(MEM_LATENCY_AT(4 << 10, 64), MEM_LATENCY_AT(32 << 10, 64), MEM_LATENCY_AT(256 << 10, 64),
			    MEM_LATENCY_AT(1 << 20, 64), MEM_LATENCY_AT(2 << 20, 64), MEM_LATENCY_AT(8 << 20, 64),
			    MEM_LATENCY_AT(32 << 20, 64), MEM_LATENCY_AT(64 << 20, 64), MEM_LATENCY_AT(128 << 20, 64)),
	.setup = mem_latency_random_setup,
};
