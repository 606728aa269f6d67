/* trio/map, trio/flush: pages come into an address space and leave it. In mono they come by faults on a fresh
 * mapping. */
#include "unit.h"

#define TRIO_MAP_BATCH 32

struct trio_map {
	struct km *km;
	size_t bytes;
	char *at[TRIO_MAP_BATCH];
	uint64_t done;
};

static void *trio_map_setup(struct km *km)
{
	struct trio_map *m = km_alloc(km, sizeof *m);

	m->km = km;
	m->bytes = (size_t)km->arg[0] * km->page;
	km->claim.syscalls = 1;
	return m;
}

static void trio_map_run(void *state, uint64_t n)
{
	struct trio_map *m = state;

	for (uint64_t i = 0; i < n; i++) {
		m->at[i] = km_map_plain(m->bytes);
		if (!m->at[i])
			km_fail_call(m->km, "mmap");
		for (size_t k = 0; k < m->bytes; k += m->km->page)
			*(volatile char *)(m->at[i] + k) = 1;
	}
}

static void trio_flush_run(void *state, uint64_t n)
{
	struct trio_map *m = state;

	for (uint64_t i = 0; i < n; i++)
		if (km_unmap(m->at[i], m->bytes) != 0)
			km_fail_call(m->km, "munmap");
	m->done += n;
}

static void trio_map_settle(void *state, uint64_t n)
{
	struct trio_map *m = state;

	for (uint64_t i = 0; i < n; i++)
		for (size_t k = 0; k < m->bytes; k += m->km->page)
			if (m->at[i][k] != 1)
				km_fail(m->km, "a page does not hold what was written");
	trio_flush_run(state, n);
}

#define TRIO_MAP_ROW                                                                                \
	.source = "beyond the sources", .needs = CAP_MMAP, .params = { "pages" }, .curve = "pages", \
	.points = KM_POINTS({ { 1 }, QUICK, 30, ONE_CPU, 0 }, { { 16 }, FULL, 30, ONE_CPU, 0 },     \
			    { { 256 }, QUICK, 10, ONE_CPU, 0 }),                                    \
	.max_batch = TRIO_MAP_BATCH, .setup = trio_map_setup,                                       \
	.counted = { offsetof(struct trio_map, done), "mappings came and went" }, .teardown = km_free

const struct workload trio_map = {
	.name = "trio/map",
	TRIO_MAP_ROW,
	.per = "mapping",
	.what = "so many pages of zeros come into an address space, and are there",
	.inside = "one mmap and one store a page with its fault; not the unmapping",
	.run = trio_map_run,
	.settle = trio_map_settle,
};

const struct workload trio_flush = {
	.name = "trio/flush",
	TRIO_MAP_ROW,
	.per = "unmapping",
	.what = "so many pages that were touched leave the address space and are free again",
	.inside = "one munmap; not the mapping and its faults",
	.run = trio_flush_run,
	.prepare = trio_map_run,
};
