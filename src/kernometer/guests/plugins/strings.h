/* strings.h: string instructions with a `rep` prefix, each counted once, as a processor retires it, and the bytes that
 * they move. QEMU executes every iteration, and the look at a count that has become 0, as an instruction of its own. */
#ifndef KM_STRINGS_H
#define KM_STRINGS_H

#include "decode.h"
#include "processors.h"
#include "qemu_api.h"
#include <stdlib.h>

static struct strings {
	uint64_t started;  /* executions of such an instruction */
	uint64_t repeated; /* QEMU's further executions of it: what its count has too much */
	uint64_t bytes;
} strings;

struct string_instruction {
	uint64_t address;
	int kernel, size; /* size: bytes of one iteration */
};

static uint64_t last_iret; /* all instructions up to the last one */

static void on_iret(unsigned int vcpu, void *userdata)
{
	(void)userdata;
	last_iret = counters(vcpu)[USER] + counters(vcpu)[KERNEL];
}

/* It goes on with an instruction that it began: at once; after an exception or interrupt, from which an `iret` leads
 * back to it; or, in user mode, after a return by `sysret`, when this instruction was the last one of user mode. An
 * interrupt that comes right before the first iteration is taken for one within. */
static void on_string(unsigned int vcpu, void *userdata)
{
	static uint64_t last_address[2], last_own[2], last_all;
	const struct string_instruction *here = userdata;
	const uint64_t *now = counters(vcpu);
	uint64_t all = now[USER] + now[KERNEL], own = now[here->kernel ? KERNEL : USER];
	int same = last_address[here->kernel] == here->address, next = same && all == last_all + 1;

	if (next)
		strings.bytes += (uint64_t)here->size;
	if (next || all == last_iret + 1 || (same && !here->kernel && own == last_own[0] + 1))
		strings.repeated++;
	else
		strings.started++;
	last_address[here->kernel] = here->address;
	last_own[here->kernel] = own;
	last_all = all;
}

static int size_of_string(const struct decoded *d)
{
	if (!(d->op[0] & 1))
		return 1;
	return d->rex & 8 ? 8 : d->operand16 ? 2 : 4;
}

/* After the instruction's own count was added. */
static void strings_instrument(struct qemu_plugin_insn *insn, const unsigned char *bytes, int kernel)
{
	struct decoded d = skip_prefixes(bytes);

	if (is_repeated(&d)) {
		struct string_instruction *here = malloc(sizeof *here);

		if (here == NULL)
			abort();
		*here = (struct string_instruction){ qemu_plugin_insn_vaddr(insn), kernel, size_of_string(&d) };
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_string, QEMU_PLUGIN_CB_NO_REGS, here);
	} else if (d.op[0] == 0xcf) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_iret, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

#endif
