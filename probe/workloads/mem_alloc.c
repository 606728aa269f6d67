/* mem/alloc: the cost of malloc by size, from 128 bytes to 4096 pages. Only malloc itself touches the blocks, and the
 * timed region frees none: the source's program never frees.
 *
 * An iteration is a chain of many blocks, and a sample is one iteration: the number of blocks between two frees decides
 * how much of the heap is new, so that a calibrated batch would change the figure itself. */
#include "../km.h"

#define MEM_ALLOC_CHAIN 1024          /* blocks in one iteration, at the most */
#define MEM_ALLOC_BYTES (64L << 20)   /* of one iteration, at the most; hardly any of it is touched */
#define MEM_ALLOC_MAPPED (128L << 10) /* glibc's threshold from which a block is a mapping of its own */

struct mem_alloc {
	struct km *km;
	size_t bytes;
	uint64_t chain;   /* blocks in one iteration */
	size_t live;      /* blocks not yet freed */
	uint64_t checked; /* iterations */
	int fixed, heap;  /* malloc's threshold stays; blocks come from the heap (-1: unknown) */
	uint64_t *block[MEM_ALLOC_CHAIN];
};

static void mem_alloc_say_where(struct mem_alloc *m)
{
	void *block = malloc(m->bytes);

	if (!block)
		km_fail_call(m->km, "malloc");
	m->heap = km_from_heap(block);
	free(block);
	if (m->heap >= 0)
		km_warn(m->km, "allocator", "this C library takes a block of %lu bytes from %s",
			(unsigned long)m->bytes, m->heap ? "the heap (brk)" : "a mapping (mmap)");
}

static void *mem_alloc_setup(struct km *km)
{
	struct mem_alloc *m = km_state(km, sizeof *m);
	long chain = MEM_ALLOC_BYTES / km->arg[0];

	m->bytes = (size_t)km->arg[0];
	m->chain = chain > MEM_ALLOC_CHAIN ? MEM_ALLOC_CHAIN : (uint64_t)chain;
	km->ops = (double)m->chain;
	/* Otherwise the first free of a mapped block raises glibc's threshold, and later blocks come from the heap. */
	m->fixed = km_fix_malloc();
	if (m->fixed && m->bytes >= MEM_ALLOC_MAPPED) {
		km->claim.syscalls = km->ops;
		km->claim.faults = km->ops; /* malloc writes a block's header before it */
	}
	mem_alloc_say_where(m);
	return m;
}

static void mem_alloc_prepare(void *state, uint64_t n)
{
	struct mem_alloc *m = state;

	if (n != 1)
		km_fail(m->km, "one iteration a sample: its blocks must be freed after each");
}

static void mem_alloc_run(void *state, uint64_t n)
{
	struct mem_alloc *m = state;

	for (n *= m->chain; n > 0; n--) {
		void *block = malloc(m->bytes);

		if (!block)
			km_fail_call(m->km, "malloc");
		m->block[m->live++] = block;
		KM_KEEP((uintptr_t)block);
	}
}

/* Writes a number into every block before it checks the first: two overlapping blocks show. */
static void mem_alloc_settle(void *state, uint64_t n)
{
	struct mem_alloc *m = state;

	if (m->live != n * m->chain)
		km_fail(m->km, "%lu blocks, not %" PRIu64, (unsigned long)m->live, n * m->chain);
	if (m->fixed && km_from_heap(m->block[m->live - 1]) != m->heap)
		km_fail(m->km, "blocks came from the heap and from mappings in turn");
	for (size_t i = 0; i < m->live; i++)
		m->block[i][0] = m->block[i][m->bytes / sizeof(uint64_t) - 1] = i;
	for (size_t i = 0; i < m->live; i++) {
		if (m->block[i][0] != i || m->block[i][m->bytes / sizeof(uint64_t) - 1] != i)
			km_fail(m->km, "block %lu overlaps another", (unsigned long)i);
		free(m->block[i]);
	}
	km_trim_malloc(); /* otherwise the next sample finds this one's pages in the heap */
	m->live = 0;
	m->checked += n;
}

const struct workload mem_alloc = {
	.name = "mem/alloc",
	.per = "malloc",
	.source = "K figure 3",
	.what = "malloc of `bytes` bytes: 128 to 4096, then 1 to 4096 pages of 4096",
	.inside = "a chain of mallocs (1024, fewer above 64 KiB: 64 MiB in all), their system calls and the faults on "
		  "blocks' headers; heap trimmed before, glibc's threshold for mappings fixed at 128 KiB; no free",
	.settings = SET_HUGE_PAGES,
	.params = { "bytes" },
	.curve = "bytes",
	.points = KM_POINTS({ { 128 }, FULL, 16, ONE_CPU, 0 }, { { 256 }, FULL, 16, ONE_CPU, 0 },
			    { { 512 }, FULL, 8, ONE_CPU, 0 }, { { 1024 }, QUICK, 8, ONE_CPU, 0 },
			    { { 2048 }, FULL, 4, ONE_CPU, 0 },
			    { { 4096 }, FULL, 4, ONE_CPU, 0 }, /* one page; from here on by powers of four */
			    { { 4L * 4096 }, FULL, 4, ONE_CPU, 0 }, { { 16L * 4096 }, FULL, 4, ONE_CPU, 0 },
			    { { 64L * 4096 }, QUICK, 4, ONE_CPU, 0 }, { { 256L * 4096 }, FULL, 8, ONE_CPU, 0 },
			    { { 1024L * 4096 }, FULL, 16, ONE_CPU, 0 }, { { 4096L * 4096 }, FULL, 32, ONE_CPU, 0 }),
	.max_batch = 1,
	.setup = mem_alloc_setup,
	.run = mem_alloc_run,
	.prepare = mem_alloc_prepare,
	.settle = mem_alloc_settle,
	.counted = { offsetof(struct mem_alloc, checked), "iterations were checked" },
};
