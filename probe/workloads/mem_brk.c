/* mem/brk: the heap grows, and shrinks again, as malloc lets it. One word of the new part is written: its first page is
 * really there. */
#include "../km.h"

#define MEM_BRK_BYTES ((size_t)128 << 10) /* what glibc's malloc asks for at a time */

struct mem_brk {
	struct km *km;
	char *end; /* of the heap before a sample: libc's malloc may have moved it since the last one */
	uint64_t done;
};

static void mem_brk_prepare(void *state, uint64_t n)
{
	struct mem_brk *m = state;

	(void)n;
	m->end = km_break(NULL);
	if (!m->end)
		km_lacking(m->km, "brk");
}

static void *mem_brk_setup(struct km *km)
{
	struct mem_brk *m = km_state(km, sizeof *m);

	mem_brk_prepare(m, 0);
	km->claim = (struct claim){ .syscalls = 2, .faults = 1 };
	return m;
}

static void mem_brk_run(void *state, uint64_t n)
{
	struct mem_brk *m = state;

	for (; n > 0; n--, m->done++) {
		char *end = km_break(m->end + MEM_BRK_BYTES);

		if (!end)
			km_fail_call(m->km, "brk");
		*(volatile char *)(end - 1) = (char)m->done;
		if (*(volatile char *)(end - 1) != (char)m->done)
			km_fail(m->km, "the heap's last byte does not contain what was written");
		if (!km_break(m->end))
			km_fail_call(m->km, "brk");
	}
}

const struct workload mem_brk = {
	.name = "mem/brk",
	.per = "growth and shrinking",
	.source = "beyond the sources",
	.what = "the heap grows by 128 KiB, its last byte is written, and it shrinks back",
	.inside = "two brk, one page fault",
	.needs = CAP_SYSCALL,
	.settings = SET_HUGE_PAGES,
	.points = KM_POINTS({ .profile = FULL, .path_n = 50 }),
	.setup = mem_brk_setup,
	.run = mem_brk_run,
	.prepare = mem_brk_prepare,
	.counted = { offsetof(struct mem_brk, done), "times the heap grew and shrank" },
};
