/* mem/touch: the first write to each page of freshly allocated memory. The memory is mapped before each sample and
 * unmapped after it: malloc takes no part, and no page is written twice. */
#include "../km.h"

#define MEM_TOUCH_BATCH 16 /* at 4096 pages of 4 KiB: 256 MiB */

struct mem_touch {
	struct km *km;
	size_t page, bytes; /* of one iteration */
	char *area;         /* mapped: from prepare to settle */
	uint64_t checked;   /* iterations, in all */
};

static void *mem_touch_setup(struct km *km)
{
	struct mem_touch *t = km_state(km, sizeof *t);

	t->page = km->page;
	t->bytes = km->page * (size_t)km->arg[0];
	km->ops = (double)km->arg[0];
	km->claim.faults = km->ops;
	km->claim.syscalls = 0;
	return t;
}

static void mem_touch_prepare(void *state, uint64_t n)
{
	struct mem_touch *t = state;

	t->area = km_map_fresh(t->bytes * n, 1);
	if (!t->area)
		km_fail_call(t->km, "mmap");
}

static void mem_touch_run(void *state, uint64_t n)
{
	struct mem_touch *t = state;
	char *end = t->area + n * t->bytes;

	for (char *at = t->area; at < end; at += t->page)
		*(volatile uintptr_t *)at = (uintptr_t)at;
}

static void mem_touch_settle(void *state, uint64_t n)
{
	struct mem_touch *t = state;

	for (char *at = t->area; at < t->area + n * t->bytes; at += t->page)
		if (*(uintptr_t *)at != (uintptr_t)at)
			km_fail(t->km, "page %lu does not contain what was written",
				(unsigned long)((size_t)(at - t->area) / t->page));
	if (km_unmap(t->area, n * t->bytes) != 0)
		km_fail_call(t->km, "munmap");
	t->checked += n;
}

const struct workload mem_touch = {
	.name = "mem/touch",
	.per = "page",
	.source = "K figure 4",
	.what = "first write of one word to each of `pages` pages just allocated",
	.inside = "one store a page and the fault that it causes: an iteration touches all pages; not the mapping "
		  "(mmap, private, anonymous, huge pages refused where possible; K used malloc)",
	.needs = CAP_MMAP,
	.params = { "pages" },
	.curve = "pages",
	.points = KM_POINTS({ { 1 }, FULL, 100, ONE_CPU, 0 }, { { 4 }, FULL, 50, ONE_CPU, 0 },
			    { { 16 }, FULL, 30, ONE_CPU, 0 }, { { 64 }, QUICK, 20, ONE_CPU, 0 },
			    { { 256 }, FULL, 10, ONE_CPU, 0 }, { { 1024 }, FULL, 3, ONE_CPU, 0 },
			    { { 4096 }, FULL, 1, ONE_CPU, 0 }),
	.max_batch = MEM_TOUCH_BATCH,
	.setup = mem_touch_setup,
	.run = mem_touch_run,
	.prepare = mem_touch_prepare,
	.settle = mem_touch_settle,
	.counted = { offsetof(struct mem_touch, checked), "iterations were checked" },
};
