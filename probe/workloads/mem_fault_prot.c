/* mem/fault-prot: a store to a read-only page, from the fault to the handler and back. The page never becomes writable:
 * after each return from the handler the store is repeated and faults anew, as in lmbench's lat_sig prot. (After an
 * mprotect in the handler the second try is, on some kernels, a fault of its own: two for one.)
 *
 * Only a jump from a last, surplus fault ends the store: all other faults of an iteration return to it; the baseline is
 * the surplus fault alone. */
#include "km.h"

#include <setjmp.h>

#define MEM_FAULT_PROT_RETURNS 16

struct mem_fault_prot {
	struct km *km;
	volatile char *page;
	volatile uint64_t left;   /* returns to the store still due */
	volatile uint64_t caught; /* faults that the handler saw, in all */
	uint64_t jumps;           /* of them, ended by a jump */
	sigjmp_buf out;
};

static struct mem_fault_prot *mem_fault_prot_now; /* for the handler, which gets no state */

static void mem_fault_prot_caught(int number)
{
	struct mem_fault_prot *p = mem_fault_prot_now;

	(void)number;
	p->caught++;
	if (p->left-- == 0)
		siglongjmp(p->out, 1);
}

/* SA_NODEFER: the jump leaves no signal blocked, without a system call. Some kernels send SIGBUS. */
static void mem_fault_prot_handle(struct mem_fault_prot *p, void (*handler)(int))
{
	km_handle(p->km, SIGSEGV, handler, SA_NODEFER);
	km_handle(p->km, SIGBUS, handler, SA_NODEFER);
}

/* `returns` times fault, handler and return; then once fault, handler and jump. */
static void mem_fault_prot_store(struct mem_fault_prot *p, uint64_t returns)
{
	p->left = returns;
	p->jumps++;
	if (sigsetjmp(p->out, 0) == 0)
		*p->page = 1;
}

static void *mem_fault_prot_setup(struct km *km)
{
	struct mem_fault_prot *p = km_state(km, sizeof *p);

	p->page = km_map_fresh(km->page, 0);
	if (!p->page)
		km_fail_call(km, "mmap");
	KM_KEEP((uintptr_t)*p->page); /* maps the page: only the protection faults */
	mem_fault_prot_now = p;
	mem_fault_prot_handle(p, mem_fault_prot_caught);
	mem_fault_prot_store(p, 0);
	if (p->caught != 1)
		km_unsupported(km, "a store to a page mapped for reading raises no signal here");
	p->caught = p->jumps = 0;
	km->ops = MEM_FAULT_PROT_RETURNS;
	km->claim.syscalls = km->ops; /* the return from the handler; rusage counts no faults that become signals */
	return p;
}

static void mem_fault_prot_run(void *state, uint64_t n)
{
	while (n--)
		mem_fault_prot_store(state, MEM_FAULT_PROT_RETURNS);
}

static void mem_fault_prot_baseline(void *state, uint64_t n)
{
	while (n--)
		mem_fault_prot_store(state, 0);
}

static void mem_fault_prot_verify(void *state, uint64_t n)
{
	struct mem_fault_prot *p = state;

	mem_fault_prot_handle(p, SIG_DFL);
	n = n * MEM_FAULT_PROT_RETURNS + p->jumps;
	if (p->caught != n)
		km_fail(p->km, "%" PRIu64 " faults reached the handler, not %" PRIu64, p->caught, n);
	if (*p->page != 0)
		km_fail(p->km, "the page was written");
}

const struct workload mem_fault_prot = {
	.name = "mem/fault-prot",
	.per = "fault",
	.source = "K, lmbench lat_sig prot",
	.what = "store to a read-only page, caught by a SIGSEGV handler that returns to the store: it faults again",
	.inside = "16 times fault, delivery of the signal, a handler that counts, return to the store",
	.subtracts = "one more such fault, ended by a jump from the handler, as the store never succeeds",
	.figure_less_baseline = 1,
	.needs = CAP_MMAP,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 50 }),
	.setup = mem_fault_prot_setup,
	.run = mem_fault_prot_run,
	.baseline = mem_fault_prot_baseline,
	.verify = mem_fault_prot_verify,
};
