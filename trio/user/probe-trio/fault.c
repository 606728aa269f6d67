/* trio/fault: a page fault that the memory service answers, in the kernel or as a server outside it (Mach's external
 * pager): a page of zeros, or the copy of a page that is shared since fork. As in mem/touch and mem/fault-cow the
 * mapping and the fork are before the sample. */
#include "unit.h"

#define TRIO_FAULT_BATCH 256 /* pages */

struct trio_fault {
	struct km *km;
	char *area;
	uintptr_t round; /* the value in all pages before a sample; 0 in fresh ones */
	int cow, ready[2], go[2];
	long child;
	uint64_t checked;
};

static void *trio_fault_setup(struct km *km)
{
	struct trio_fault *f = km_alloc(km, sizeof *f);

	f->km = km;
	f->cow = km->arg[0] != 0;
	f->ready[0] = f->ready[1] = f->go[0] = f->go[1] = -1;
	km->claim.faults = 1;
	km->claim.syscalls = 0;
	return f;
}

/* The child sleeps until the sample is over, so that each page must be copied. */
static void trio_fault_child(struct km *km, void *state)
{
	struct trio_fault *f = state;
	char byte = 0;

	km_close(&f->go[1]);
	km_write_all(km, f->ready[1], &byte, 1);
	km_read_all(km, f->go[0], &byte, 1);
	for (size_t i = 0; i < TRIO_FAULT_BATCH; i++)
		if (*(volatile uintptr_t *)(f->area + i * km->page) != f->round)
			km_fail(km, "the child sees what the parent wrote into page %lu", (unsigned long)i);
}

static void trio_fault_prepare(void *state, uint64_t n)
{
	struct trio_fault *f = state;
	char byte;

	if (n > TRIO_FAULT_BATCH)
		km_fail(f->km, "a batch of %" PRIu64 " is over this workload's %d", n, TRIO_FAULT_BATCH);
	f->area = km_map_fresh(TRIO_FAULT_BATCH * f->km->page, 1);
	if (!f->area)
		km_fail_call(f->km, "mmap");
	f->round = 0;
	if (!f->cow)
		return;
	f->round = 7;
	for (size_t i = 0; i < TRIO_FAULT_BATCH; i++)
		*(volatile uintptr_t *)(f->area + i * f->km->page) = f->round;
	km_pipe(f->km, f->ready);
	km_pipe(f->km, f->go);
	f->child = km_peer(f->km, trio_fault_child, f);
	km_close(&f->ready[1]);
	km_close(&f->go[0]);
	km_read_all(f->km, f->ready[0], &byte, 1);
}

static void trio_fault_run(void *state, uint64_t n)
{
	struct trio_fault *f = state;

	for (char *at = f->area; n > 0; n--, at += f->km->page)
		*(volatile uintptr_t *)at = f->round + 1;
}

static void trio_fault_settle(void *state, uint64_t n)
{
	struct trio_fault *f = state;
	char byte = 0;

	if (f->cow) {
		km_write_all(f->km, f->go[1], &byte, 1);
		km_peer_end(f->km, f->child);
		km_close(&f->ready[0]);
		km_close(&f->go[1]);
	}
	for (size_t i = 0; i < TRIO_FAULT_BATCH; i++)
		if (*(uintptr_t *)(f->area + i * f->km->page) != f->round + (i < n))
			km_fail(f->km, "page %lu does not hold what was written", (unsigned long)i);
	if (km_unmap(f->area, TRIO_FAULT_BATCH * f->km->page) != 0)
		km_fail_call(f->km, "munmap");
	f->checked += n;
}

const struct workload trio_fault = {
	.name = "trio/fault",
	.per = "fault",
	.source = "beyond the sources",
	.what = "a page fault answered by the memory service: a page of zeros (cow=0), a copy of a shared page (cow=1)",
	.inside = "one store a page, the exception, the memory service's answer, return; not the mapping nor the fork",
	.needs = CAP_MMAP,
	.params = { "cow" },
	.points = KM_POINTS({ .arg = { 0 }, .profile = QUICK, .path_n = 100 },
			    { .arg = { 1 }, .profile = QUICK, .path_n = 100 }),
	.max_batch = TRIO_FAULT_BATCH,
	.setup = trio_fault_setup,
	.run = trio_fault_run,
	.prepare = trio_fault_prepare,
	.settle = trio_fault_settle,
	.counted = { offsetof(struct trio_fault, checked), "pages were checked" },
	.teardown = km_free,
};
