/* mem/fault-cow: the first write to a page that parent and child share after fork, copy-on-write. A child is forked
 * before each sample and sleeps until after it: the kernel must copy the page, and cannot just take it over. Afterwards
 * the child checks that it sees nothing of what the parent wrote. */
#include "km.h"

#define MEM_FAULT_COW_BATCH 256 /* pages */

struct mem_fault_cow {
	struct km *km;
	size_t page;
	char *area;      /* MEM_FAULT_COW_BATCH pages, written before the fork */
	uintptr_t round; /* what the parent wrote last; what the child must see */
	long child;
	int ready[2], go[2]; /* child to parent, parent to child */
	uint64_t checked;
};

static void mem_fault_cow_fill(struct mem_fault_cow *f, uintptr_t value)
{
	for (size_t i = 0; i < MEM_FAULT_COW_BATCH; i++)
		*(volatile uintptr_t *)(f->area + i * f->page) = value;
}

static void *mem_fault_cow_setup(struct km *km)
{
	struct mem_fault_cow *f = km_state(km, sizeof *f);

	f->page = km->page;
	f->area = km_map_fresh(MEM_FAULT_COW_BATCH * f->page, 1);
	if (!f->area)
		km_fail_call(km, "mmap");
	f->ready[0] = f->ready[1] = f->go[0] = f->go[1] = -1;
	km->claim.faults = 1;
	km->claim.syscalls = 0;
	return f;
}

static void mem_fault_cow_child(struct km *km, void *state)
{
	struct mem_fault_cow *f = state;
	char byte = 0;

	km_close(&f->go[1]); /* otherwise it would not see the parent's death */
	km_write_all(km, f->ready[1], &byte, 1);
	km_read_all(km, f->go[0], &byte, 1);
	for (size_t i = 0; i < MEM_FAULT_COW_BATCH; i++)
		if (*(volatile uintptr_t *)(f->area + i * f->page) != f->round)
			km_fail(km, "the child sees what the parent wrote into page %lu", (unsigned long)i);
}

/* Linux puts new pages on its lists of pages in use (LRU) in groups. A write fault on a page that still waits puts all
 * waiting pages on, as munmap does: 4,750 instructions for those of a fork, in some runs of a kernel only. */
static void mem_fault_cow_drain(const struct mem_fault_cow *f)
{
	char *other = km_map_fresh(f->page, 1);

	if (!other)
		km_fail_call(f->km, "mmap");
	*(volatile char *)other = 1;
	if (km_unmap(other, f->page) != 0)
		km_fail_call(f->km, "munmap");
}

static void mem_fault_cow_prepare(void *state, uint64_t n)
{
	struct mem_fault_cow *f = state;
	char byte;

	if (n > MEM_FAULT_COW_BATCH)
		km_fail(f->km, "a batch of %" PRIu64 " is over this workload's %d", n, MEM_FAULT_COW_BATCH);
	mem_fault_cow_fill(f, ++f->round);
	km_pipe(f->km, f->ready);
	km_pipe(f->km, f->go);
	f->child = km_peer(f->km, mem_fault_cow_child, f);
	km_close(&f->ready[1]);
	km_close(&f->go[0]);
	km_read_all(f->km, f->ready[0], &byte, 1);
	mem_fault_cow_drain(f);
}

static void mem_fault_cow_run(void *state, uint64_t n)
{
	struct mem_fault_cow *f = state;
	uintptr_t value = f->round + 1;

	for (char *at = f->area; n > 0; n--, at += f->page)
		*(volatile uintptr_t *)at = value;
}

static void mem_fault_cow_settle(void *state, uint64_t n)
{
	struct mem_fault_cow *f = state;
	char byte = 0;

	km_write_all(f->km, f->go[1], &byte, 1);
	km_peer_end(f->km, f->child);
	km_close(&f->ready[0]);
	km_close(&f->go[1]);
	for (size_t i = 0; i < MEM_FAULT_COW_BATCH; i++)
		if (*(uintptr_t *)(f->area + i * f->page) != f->round + (i < n))
			km_fail(f->km, "page %lu does not contain what the parent wrote", (unsigned long)i);
	f->checked += n;
}

const struct workload mem_fault_cow = {
	.name = "mem/fault-cow",
	.revision = 1, /* no page waits; before, some did */
	.per = "page",
	.source = "K (beyond: copy-on-write)",
	.what = "parent's first write of one word to each page that it shares with a forked, sleeping child",
	.inside = "one store a page and its fault: a page allocated and the old one copied into it; not fork, which is "
		  "before the sample, nor the child's end after it; ordinary pages, not huge ones",
	.needs = CAP_MMAP,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 20 }),
	.max_batch = MEM_FAULT_COW_BATCH,
	.setup = mem_fault_cow_setup,
	.run = mem_fault_cow_run,
	.prepare = mem_fault_cow_prepare,
	.settle = mem_fault_cow_settle,
	.counted = { offsetof(struct mem_fault_cow, checked), "pages were checked" },
};
