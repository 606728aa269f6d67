/* mem/mmap-munmap, mem/mmap-munmap-file: maps memory or a cached file, touches one word of every 16 KiB (as lmbench's
 * lat_mmap steps), and unmaps it: the whole cost of a mapping. */
#include "../km.h"

#define MEM_MMAP_STEP ((size_t)16 << 10)

struct mem_mmap {
	struct km *km;
	size_t bytes;
	int fd;               /* -1: memory */
	uint64_t sum, wanted; /* of the file's words in all; of one mapping */
	uint64_t done;        /* mappings */
};

static struct mem_mmap *mem_mmap_setup_with(struct km *km)
{
	struct mem_mmap *m = km_state(km, sizeof *m);

	m->bytes = (size_t)km->arg[0];
	m->fd = -1;
	km->claim.syscalls = 2;
	return m;
}

static void mem_mmap_end(struct mem_mmap *m, char *at)
{
	if (km_unmap(at, m->bytes) != 0)
		km_fail_call(m->km, "munmap");
	m->done++;
}

static void *mem_mmap_setup(struct km *km)
{
	return mem_mmap_setup_with(km);
}

static void mem_mmap_run(void *state, uint64_t n)
{
	struct mem_mmap *m = state;

	while (n--) {
		char *at = km_map_plain(m->bytes);
		const char *last = at + m->bytes - MEM_MMAP_STEP;

		if (!at)
			km_fail_call(m->km, "mmap");
		for (size_t i = 0; i < m->bytes; i += MEM_MMAP_STEP)
			*(volatile uint64_t *)(void *)(at + i) = m->done + i;
		if (*(const volatile uint64_t *)(const void *)last != m->done + m->bytes - MEM_MMAP_STEP)
			km_fail(m->km, "the last page touched does not contain what was written");
		mem_mmap_end(m, at);
	}
}

static void mem_mmap_verify(void *state, uint64_t n)
{
	struct mem_mmap *m = state;

	if (m->sum != n * m->wanted)
		km_fail(m->km, "the pages do not contain what was written to the file");
}

static void *mem_mmap_file_setup(struct km *km)
{
	struct mem_mmap *m = mem_mmap_setup_with(km);
	uint64_t seed = km_random(km);

	km_room(km, 1, m->bytes);
	m->fd = km_content_file(km, "mapped", seed, m->bytes);
	for (size_t i = 0; i < m->bytes; i += MEM_MMAP_STEP)
		m->wanted += km_content_word(seed, i / KM_CONTENT_WORD);
	return m;
}

static void mem_mmap_file_run(void *state, uint64_t n)
{
	struct mem_mmap *m = state;

	while (n--) {
		char *at = km_map_file(NULL, m->fd, 0, m->bytes);

		if (!at)
			km_fail_call(m->km, "mmap");
		for (size_t i = 0; i < m->bytes; i += MEM_MMAP_STEP)
			m->sum += *(const volatile uint64_t *)(const void *)(at + i);
		mem_mmap_end(m, at);
	}
}

#define MEM_MMAP_ROW                                                                                                   \
	.per = "mapping", .source = "K, lmbench lat_mmap", .needs = CAP_MMAP, .params = { "bytes" }, .curve = "bytes", \
	.counted = { offsetof(struct mem_mmap, done), "mappings were made" }, .verify = mem_mmap_verify

const struct workload mem_mmap_munmap = {
	.name = "mem/mmap-munmap",
	MEM_MMAP_ROW,
	.what = "map `bytes` bytes of fresh memory, write one word of every 16 KiB, unmap",
	.inside = "mmap (private, anonymous), the stores and their faults, munmap; huge pages if the system gives them",
	.settings = SET_HUGE_PAGES,
	.points = KM_POINTS({ { 16 << 10 }, FULL, 50, ONE_CPU, 0 }, { { 64 << 10 }, QUICK, 20, ONE_CPU, 0 },
			    { { 256 << 10 }, FULL, 20, ONE_CPU, 0 }, { { 1 << 20 }, FULL, 10, ONE_CPU, 0 },
			    { { 4 << 20 }, FULL, 4, ONE_CPU, 0 }, { { 16 << 20 }, FULL, 0, ONE_CPU, 0 },
			    { { 64 << 20 }, FULL, 0, ONE_CPU, 0 }),
	.setup = mem_mmap_setup,
	.run = mem_mmap_run,
};

const struct workload mem_mmap_munmap_file = {
	.name = "mem/mmap-munmap-file",
	MEM_MMAP_ROW,
	.what = "map `bytes` bytes of a cached file, read one word of every 16 KiB, unmap",
	.inside = "mmap (shared, for reading), the loads and their faults (fewer than loads where the kernel maps "
		  "pages around the one touched), munmap",
	.points = KM_POINTS({ { 16 << 10 }, FULL, 50, ONE_CPU, 0 }, { { 64 << 10 }, FULL, 20, ONE_CPU, 0 },
			    { { 256 << 10 }, FULL, 20, ONE_CPU, 0 }, { { 1 << 20 }, FULL, 10, ONE_CPU, 0 },
			    { { 4 << 20 }, FULL, 0, ONE_CPU, 0 }, { { 16 << 20 }, FULL, 0, ONE_CPU, 0 }),
	.setup = mem_mmap_file_setup,
	.run = mem_mmap_file_run,
};
