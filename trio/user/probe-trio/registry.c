/* registry.c: the units of Trio's own, in the order in which they are shown.
 *
 * Not in the structure mono, and why:
 * - trio/notify: a notification sets a bit and calls a procedure; no program can cause one alone.
 * - trio/grant: a grant is two words by value; L4's grant, which moves a page from one space to another, does not
 * exist.
 * - trio/fault by an external pager: the memory service is in the kernel, each fault is answered inside it.
 * - trio/irq: a driver's interrupt is a procedure call, and no program can ask for one interrupt and nothing else. */
#include "engine.h"

/* clang-format off */ /* it would take the list for one expression */
#define WORKLOADS(X) \
	X(trio_trap) X(trio_call) X(trio_fault) X(trio_switch) X(trio_copy) X(trio_map) X(trio_flush)

/* clang-format on */
#define DECLARE(symbol) extern const struct workload symbol;
#define ENTRY(symbol) &symbol,

WORKLOADS(DECLARE)

const struct workload *const registry[] = { WORKLOADS(ENTRY) NULL };
