/* mem/mprotect: pages in the middle of a mapping become read-only and writable again, as a loader does with what it has
 * relocated: a mapping is divided, and joined. */
#include "../km.h"

enum { MEM_MPROTECT_PAGES = 16, MEM_MPROTECT_FIRST = 4, MEM_MPROTECT_SOME = 4 };

struct mem_mprotect {
	struct km *km;
	int zeros; /* /dev/zero: a read into memory that is protected fails, and raises no signal */
	char *area;
	uint64_t done;
};

static void mem_mprotect_set(struct mem_mprotect *m, int writable)
{
	if (km_protect(m->area + MEM_MPROTECT_FIRST * m->km->page, MEM_MPROTECT_SOME * m->km->page, writable) != 0)
		km_fail_call(m->km, "mprotect");
}

static int mem_mprotect_writable(const struct mem_mprotect *m, int number)
{
	return read(m->zeros, m->area + (size_t)number * m->km->page, 1) == 1;
}

static void *mem_mprotect_setup(struct km *km)
{
	struct mem_mprotect *m = km_state(km, sizeof *m);

	m->zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (m->zeros < 0)
		km_fail_call(km, "open /dev/zero");
	m->area = km_map_fresh(MEM_MPROTECT_PAGES * km->page, 1);
	if (!m->area)
		km_fail_call(km, "mmap");
	for (size_t i = 0; i < MEM_MPROTECT_PAGES; i++)
		m->area[i * km->page + 1] = (char)(i + 1);
	mem_mprotect_set(m, 0);
	if (mem_mprotect_writable(m, MEM_MPROTECT_FIRST) || !mem_mprotect_writable(m, MEM_MPROTECT_FIRST - 1))
		km_fail(km, "mprotect protects other pages than it should");
	mem_mprotect_set(m, 1);
	km->claim = (struct claim){ .syscalls = 2 };
	return m;
}

static void mem_mprotect_run(void *state, uint64_t n)
{
	struct mem_mprotect *m = state;

	for (; n > 0; n--, m->done++) {
		mem_mprotect_set(m, 0);
		mem_mprotect_set(m, 1);
	}
}

static void mem_mprotect_verify(void *state, uint64_t n)
{
	struct mem_mprotect *m = state;

	(void)n;
	for (int i = 0; i < MEM_MPROTECT_PAGES; i++)
		if (!mem_mprotect_writable(m, i) || m->area[(size_t)i * m->km->page + 1] != (char)(i + 1))
			km_fail(m->km, "page %d is not as it was", i);
}

const struct workload mem_mprotect = {
	.name = "mem/mprotect",
	.per = "protection and its end",
	.source = "beyond the sources",
	.what = "4 of 16 pages that were written become read-only, and writable again",
	.inside = "two mprotect: a mapping divided into three, and joined",
	.needs = CAP_MMAP | CAP_MPROTECT,
	.points = KM_POINTS({ .profile = FULL, .path_n = 100 }),
	.setup = mem_mprotect_setup,
	.run = mem_mprotect_run,
	.verify = mem_mprotect_verify,
	.counted = { offsetof(struct mem_mprotect, done), "times pages were protected" },
};
