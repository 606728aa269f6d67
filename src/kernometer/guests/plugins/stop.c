/* stop.c: stops the machine where a probe waits for its command (probe/wait.c), at an address that nobody knew before.
 *
 * A plugin of QEMU's TCG. When the marker is executed for the first time, it sets a breakpoint of the debugger's there;
 * the probe loops, so that the machine stops at the second time, after the same instruction in every boot. QEMU must
 * have a debugger's stub (-gdb). */
#include "processors.h"
#include "qemu_api.h"
#include <stdio.h>

#define BP_GDB 0x10 /* QEMU, include/hw/core/cpu.h */

static const struct processor *processor;
static int is_set;

static void at_ready(unsigned int vcpu, void *address)
{
	void *cpu = qemu_get_cpu((int)vcpu);

	if (is_set++)
		return;
	if (cpu_breakpoint_insert(cpu, (uint64_t)(uintptr_t)address, BP_GDB, NULL) != 0)
		fputs("stop plugin: QEMU sets no breakpoint\n", stderr);
	cpu_exit(cpu); /* leaves the loop of translated code, which has no breakpoint yet */
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned char bytes[MAX_INSN + 3] = { 0 };

		if (processor->marker_of(bytes, copy_bytes(insn, bytes, MAX_INSN)) >> 16 == MARK_READY)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_ready, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
	}
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	processor = info->system_emulation ? processor_of(info->target_name) : NULL;
	if (processor == NULL || cpu_breakpoint_insert == NULL || cpu_exit == NULL || qemu_get_cpu == NULL) {
		fprintf(stderr, "stop plugin: this QEMU for %s stops at no marker\n", info->target_name);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
