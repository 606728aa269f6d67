/* registry.c: Trio's own units in the order in which they are shown; the last of them explain why they cannot be
 * measured. GNU Mach's units follow. */
#include "engine.h"

/* clang-format off */ /* it would format the list as one expression */
#define WORKLOADS(X) \
	X(trio_trap) X(trio_call) X(trio_string) X(trio_fault) X(trio_turn) X(trio_switch) X(trio_copy) \
	X(trio_map) X(trio_flush) X(trio_notify) X(trio_grant) X(trio_irq) \
	X(mach_self) X(mach_message) X(mach_memory) X(mach_pager)

/* clang-format on */
#define DECLARE(symbol) extern const struct workload symbol;
#define ENTRY(symbol) &symbol,

WORKLOADS(DECLARE)

const struct workload *const registry[] = { WORKLOADS(ENTRY) NULL };
