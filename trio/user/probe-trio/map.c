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

static void trio_map_verify(void *state, uint64_t n)
{
	struct trio_map *m = state;

	if (m->done != n)
		km_fail(m->km, "%" PRIu64 " of %" PRIu64 " mappings came and went", m->done, n);
}

static void trio_map_teardown(void *state)
{
	km_free(state);
}

static const struct point trio_map_points[] = {
	{ { 1 }, QUICK, 30, ONE_CPU, 0 },
	{ { 16 }, FULL, 30, ONE_CPU, 0 },
	{ { 256 }, QUICK, 10, ONE_CPU, 0 },
	{ { 0 }, 0, 0, ONE_CPU, 0 },
};

const struct workload trio_map = {
	.name = "trio/map",
	.per = "mapping",
	.source = "beyond the sources",
	.what = "so many pages of zeros come into an address space, and are there",
	.inside = "one mmap and one store a page with its fault; not the unmapping",
	.needs = CAP_MMAP,
	.params = { "pages" },
	.curve = "pages",
	.points = trio_map_points,
	.max_batch = TRIO_MAP_BATCH,
	.setup = trio_map_setup,
	.run = trio_map_run,
	.settle = trio_map_settle,
	.verify = trio_map_verify,
	.teardown = trio_map_teardown,
};

const struct workload trio_flush = {
	.name = "trio/flush",
	.per = "unmapping",
	.source = "beyond the sources",
	.what = "so many pages that were touched leave the address space and are free again",
	.inside = "one munmap; not the mapping and its faults",
	.needs = CAP_MMAP,
	.params = { "pages" },
	.curve = "pages",
	.points = trio_map_points,
	.max_batch = TRIO_MAP_BATCH,
	.setup = trio_map_setup,
	.run = trio_flush_run,
	.prepare = trio_map_run,
	.verify = trio_map_verify,
	.teardown = trio_map_teardown,
};
