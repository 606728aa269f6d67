/* mem/fault-file: the touch of a cached, freshly mapped page of a file. Kernels map more than the touched page (Linux:
 * the 16 around it, with MADV_RANDOM too), so that a figure per page touched is 16 times too low, as lmbench's
 * lat_pagefault is. Two ways, both per fault that happened:
 *
 * pages=1: each page is a mapping of its own, without neighbours to map: one page, one fault, everywhere.
 * pages=N: one mapping of N pages, all touched; set-up counts the faults and reports them. */
#include "km.h"

#define MEM_FAULT_FILE_BATCH 64 /* iterations */

struct mem_fault_file {
	struct km *km;
	int fd;
	size_t page, bytes; /* of one mapping, which is one iteration */
	uint64_t seed;
	char *arena, *first; /* all mappings of a sample lie in it; the first, at a multiple of its size */
	size_t arena_bytes;
	uint64_t sum, wanted, checked;
};

/* Mapping k's distance from the first, in memory and in the file alike. A gap of a mapping's size follows each, so that
 * the kernel does not join them or map one's pages at a fault in the other. */
static size_t mem_fault_file_offset(const struct mem_fault_file *f, uint64_t k)
{
	return 2 * (size_t)k * f->bytes;
}

/* At a multiple of its size, so that a kernel that maps around cuts each mapping into the same windows. */
static void mem_fault_file_reserve(struct mem_fault_file *f, uint64_t n)
{
	f->arena_bytes = mem_fault_file_offset(f, n) + f->bytes;
	f->arena = km_map_fresh(f->arena_bytes, 0);
	if (!f->arena)
		km_fail_call(f->km, "mmap");
	f->first = f->arena + (f->bytes - (uintptr_t)f->arena % f->bytes) % f->bytes;
}

static void mem_fault_file_prepare(void *state, uint64_t n)
{
	struct mem_fault_file *f = state;

	if (n > MEM_FAULT_FILE_BATCH)
		km_fail(f->km, "a batch of %" PRIu64 " is over this workload's %d", n, MEM_FAULT_FILE_BATCH);
	mem_fault_file_reserve(f, n);
	f->sum = f->wanted = 0;
	for (uint64_t k = 0; k < n; k++) {
		size_t offset = mem_fault_file_offset(f, k);

		if (!km_map_file(f->first + offset, f->fd, (off_t)offset, f->bytes))
			km_fail_call(f->km, "mmap");
		for (size_t at = offset; at < offset + f->bytes; at += f->page)
			f->wanted += km_content_word(f->seed, at / KM_CONTENT_WORD);
	}
}

static void mem_fault_file_run(void *state, uint64_t n)
{
	struct mem_fault_file *f = state;
	uint64_t sum = 0;

	for (uint64_t k = 0; k < n; k++) {
		char *end = f->first + mem_fault_file_offset(f, k) + f->bytes;

		for (char *at = end - f->bytes; at < end; at += f->page)
			sum += *(volatile uint64_t *)at;
	}
	f->sum = sum;
}

static void mem_fault_file_settle(void *state, uint64_t n)
{
	struct mem_fault_file *f = state;

	if (f->sum != f->wanted)
		km_fail(f->km, "the pages do not contain what was written to the file");
	if (km_unmap(f->arena, f->arena_bytes) != 0)
		km_fail_call(f->km, "munmap");
	f->checked += n;
}

/* Why touches made no fault: the touch of fresh memory makes one wherever they are counted at all. */
static KM_NORETURN void mem_fault_file_none(struct mem_fault_file *f)
{
	volatile char *fresh = km_map_fresh(f->page, 1);
	long before = km_faults();

	if (fresh)
		*fresh = 1;
	km_unsupported(f->km, before < 0 || km_faults() == before
				      ? "page faults are not counted here (getrusage): there is no figure per fault"
				      : "cached pages are mapped with their file here: no touch makes a fault");
}

static double mem_fault_file_count(struct mem_fault_file *f)
{
	long before, after;

	mem_fault_file_prepare(f, 1);
	before = km_faults();
	mem_fault_file_run(f, 1);
	after = km_faults();
	mem_fault_file_settle(f, 1);
	if (before < 0 || after <= before)
		mem_fault_file_none(f);
	return (double)(after - before);
}

static void *mem_fault_file_setup(struct km *km)
{
	struct mem_fault_file *f = km_state(km, sizeof *f);
	double pages = (double)km->arg[0];
	uint64_t bytes;

	f->page = km->page;
	f->bytes = (size_t)km->arg[0] * km->page;
	f->seed = km_random(km);
	bytes = mem_fault_file_offset(f, km->by == BY_PATH ? 1 : MEM_FAULT_FILE_BATCH);
	km_room(km, 1, bytes);
	f->fd = km_content_file(km, "mapped", f->seed, bytes);
	(void)mem_fault_file_count(f); /* the first count may include this program's own first touches */
	km->ops = mem_fault_file_count(f);
	f->checked = 0;
	if (km->ops >= 2 * pages)
		km_unsupported(km, "a page's touch counts as %.0f faults here: there is no figure for one",
			       km->ops / pages);
	if (km->ops < pages)
		km_warn(km, "fault-around",
			"%.0f pages came with %.0f fault(s): this kernel maps pages around the one touched; the figure "
			"is per fault",
			pages, km->ops);
	km->claim.faults = km->ops;
	km->claim.syscalls = 0;
	return f;
}

const struct workload mem_fault_file = {
	.name = "mem/fault-file",
	.per = "fault",
	.source = "K, lmbench lat_pagefault",
	.what = "touch of the pages of a cached file just mapped: per fault that happened, not per page touched",
	.inside = "loads of one word from each page, and the faults (pages=1: each page has a mapping of its own, so "
		  "that no fault maps its neighbours); mapping and unmapping are outside",
	.needs = CAP_MMAP | CAP_GETRUSAGE,
	.params = { "pages" },
	.curve = "pages",
	.points = KM_POINTS({ .arg = { 1 }, .profile = QUICK, .path_n = 100 },
			    { .arg = { 64 }, .profile = FULL, .path_n = 30 }),
	.max_batch = MEM_FAULT_FILE_BATCH,
	.setup = mem_fault_file_setup,
	.run = mem_fault_file_run,
	.prepare = mem_fault_file_prepare,
	.settle = mem_fault_file_settle,
	.counted = { offsetof(struct mem_fault_file, checked), "iterations were checked" },
};
