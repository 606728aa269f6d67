/* strings.h: string instructions with a `rep` prefix, each counted once, as a processor retires it, and the bytes that
 * they move. QEMU executes every iteration, and the look at a count that has become 0, as an instruction of its own. */
#ifndef KM_STRINGS_H
#define KM_STRINGS_H

#include "decode.h"
#include "processors.h"
#include "qemu_api.h"
#include <stdlib.h>

static struct strings {
	uint64_t started;     /* executions of such an instruction */
	uint64_t repeated[2]; /* by USER and KERNEL, QEMU's further executions of it: what its clock has too much */
	uint64_t bytes;
} strings;

/* What was repeated when a region began, and when user mode read the processor's clock first and last since: what is
 * repeated beside these readings, as by a page fault of a marker itself, is not in what the probe reads. */
static struct {
	uint64_t begin, readings, first, last;
} bracket;

/* What QEMU executed last of one: its begin; an attempt again that had faulted, and that its clock does not have; what
 * follows after an interrupt, or at once. */
static enum string_step { STARTED, RETRIED, RESUMED, REPEATED } string_step;

struct string_instruction {
	uint64_t address;
	int kernel, size, accesses; /* KERNEL or USER; of one iteration the bytes, and the accesses to memory */
	int due;                    /* accesses that the last execution has not made: it faulted, or the count was 0 */
	struct string_instruction *next;
};

static uint64_t all_repeated(void)
{
	return strings.repeated[USER] + strings.repeated[KERNEL];
}

/* At a region's begin. */
static void strings_begin(void)
{
	bracket.begin = all_repeated();
	bracket.readings = 0;
}

/* At its end: what the probe's clock has too much. */
static uint64_t strings_repeated(void)
{
	return bracket.readings > 1 ? bracket.last - bracket.first : all_repeated() - bracket.begin;
}

static void on_clock(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	bracket.last = all_repeated();
	if (bracket.readings++ == 0)
		bracket.first = bracket.last;
}

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
	static const struct string_instruction *last[2];
	static uint64_t last_own[2], last_all;
	struct string_instruction *here = userdata;
	const uint64_t *now = counters(vcpu);
	uint64_t all = now[USER] + now[KERNEL], own = now[here->kernel];
	int same = last[here->kernel] == here;

	if (same && all == last_all + 1)
		string_step = REPEATED;
	else if (all == last_iret + 1 || (same && !here->kernel && own == last_own[0] + 1))
		string_step = here->due > 0 ? RETRIED : RESUMED;
	else
		string_step = STARTED;
	strings.started += string_step == STARTED;
	strings.repeated[here->kernel] += string_step == RESUMED || string_step == REPEATED;
	here->due = here->accesses;
	last[here->kernel] = here;
	last_own[here->kernel] = own;
	last_all = all;
}

static void on_access_of_string(unsigned int vcpu, qemu_plugin_meminfo_t how, uint64_t address, void *userdata)
{
	struct string_instruction *here = userdata;

	(void)vcpu;
	(void)how;
	(void)address;
	if (here->due == 0)
		return;
	here->due--;
	if (here->due == 0)
		strings.bytes += (uint64_t)here->size;
}

static int size_of_string(const struct decoded *d)
{
	if (!(d->op[0] & 1))
		return 1;
	return d->rex & 8 ? 8 : d->operand16 ? 2 : 4;
}

/* One instruction is translated more than once: within a block, and as the block that is its further iterations. */
static struct string_instruction *string_at(uint64_t address, int kernel, int size, int accesses)
{
	static struct string_instruction *all;
	struct string_instruction *string;

	for (string = all; string != NULL; string = string->next)
		if (string->address == address && string->kernel == kernel && string->size == size &&
		    string->accesses == accesses)
			return string;
	string = malloc(sizeof *string);
	if (string == NULL)
		abort();
	*string = (struct string_instruction){ address, kernel ? KERNEL : USER, size, accesses, accesses, all };
	return all = string;
}

/* After the instruction's own count was added. */
static void strings_instrument(struct qemu_plugin_insn *insn, const unsigned char *bytes, int kernel)
{
	struct decoded d = skip_prefixes(bytes);

	if (is_repeated(&d)) {
		int accesses = d.op[0] >= 0xa4 && d.op[0] <= 0xa7 ? 2 : 1; /* movs, cmps */
		struct string_instruction *here =
			string_at(qemu_plugin_insn_vaddr(insn), kernel, size_of_string(&d), accesses);

		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_string, QEMU_PLUGIN_CB_NO_REGS, here);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access_of_string, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 here);
	} else if (d.op[0] == 0xcf) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_iret, QEMU_PLUGIN_CB_NO_REGS, NULL);
	} else if (!kernel && reads_clock(&d)) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_clock, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

#endif
