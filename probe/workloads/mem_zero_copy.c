/* mem/zero-copy-half: allocates a block, zeroes it, and copies its first half onto the second, as the source describes
 * its memory test. Each block is fresh from the kernel: its pages are a part of the measurement, mostly the largest,
 * and their cost is shown beside it. The source's tool allocates once and times the copying alone, as mem/copy-bw. */
#include "../km.h"

struct mem_zero_copy {
	struct km *km;
	size_t bytes;
	uint64_t done; /* blocks */
};

static void *mem_zero_copy_setup(struct km *km)
{
	struct mem_zero_copy *z = km_state(km, sizeof *z);

	z->bytes = (size_t)km->arg[0];
	km->bytes = (double)z->bytes;
	return z;
}

static void mem_zero_copy_block(struct mem_zero_copy *z)
{
	size_t half = z->bytes / 2;
	char *block = km_map_plain(z->bytes);
	uint64_t number = z->done + 1, first, last;

	if (!block)
		km_fail_call(z->km, "mmap");
	memset(block, 0, z->bytes);
	memcpy(block, &number, sizeof number);
	memcpy(block + half - sizeof number, &number, sizeof number);
	KM_KEEP(block);
	memcpy(block + half, block, half);
	KM_KEEP(block);
	memcpy(&first, block + half, sizeof first);
	memcpy(&last, block + z->bytes - sizeof last, sizeof last);
	if (first != number || last != number)
		km_fail(z->km, "the second half of block %" PRIu64 " is not a copy of the first", number);
	if (km_unmap(block, z->bytes) != 0)
		km_fail_call(z->km, "munmap");
	z->done = number;
}

static void mem_zero_copy_run(void *state, uint64_t n)
{
	while (n--)
		mem_zero_copy_block(state);
}

static void mem_zero_copy_faults(void *state, uint64_t n) /* the same blocks, a byte of each page written */
{
	struct mem_zero_copy *z = state;

	while (n--) {
		volatile char *block = km_map_plain(z->bytes);

		if (!block)
			km_fail_call(z->km, "mmap");
		for (size_t at = 0; at < z->bytes; at += z->km->page)
			block[at] = 1;
		if (km_unmap((void *)(uintptr_t)block, z->bytes) != 0)
			km_fail_call(z->km, "munmap");
	}
}

const struct workload mem_zero_copy_half = {
	.name = "mem/zero-copy-half",
	.per = "block",
	.unit = UNIT_BYTES_PER_S,
	.only = BY_TIME,
	.source = "G figure 4",
	.what = "allocate a block of `bytes` bytes, zero it, copy its first half onto the second, free it: "
		"the block's bytes a second",
	.inside = "mmap, libc's memset and memcpy, the faults of all pages (huge ones where the system gives them), "
		  "munmap, two words compared",
	.subtracts =
		"mmap, the faults of all pages and munmap alone (shown beside, not subtracted): the rest is memory's",
	.needs = CAP_MMAP,
	.settings = SET_HUGE_PAGES,
	.params = { "bytes" },
	.curve = "bytes",
	.points = KM_POINTS({ { 4 << 10 }, FULL, 0, ONE_CPU, 0 }, { { 16 << 10 }, FULL, 0, ONE_CPU, 0 },
			    { { 64 << 10 }, FULL, 0, ONE_CPU, 0 }, { { 256 << 10 }, FULL, 0, ONE_CPU, 0 },
			    { { 1 << 20 }, QUICK, 0, ONE_CPU, 0 }, { { 4 << 20 }, FULL, 0, ONE_CPU, 0 },
			    { { 16 << 20 }, FULL, 0, ONE_CPU, 0 }, { { 64 << 20 }, FULL, 0, ONE_CPU, 0 }),
	.setup = mem_zero_copy_setup,
	.run = mem_zero_copy_run,
	.baseline = mem_zero_copy_faults,
	.counted = { offsetof(struct mem_zero_copy, done), "blocks were copied" },
};
