/* Does the plugin know what each instruction does to the flow of control? Includes profile.c, with stubs for QEMU.
 * Reads lines "NUMBER BYTES-IN-HEX"; prints those of another number (of `enum flow`), and how many were read. */
#define KM_PLUGIN_API 1
#include "../../../plugin/profile.c"

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, insn_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *userdata)
{
	(void)insn;
	(void)cb;
	(void)flags;
	(void)userdata;
}

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, atexit_cb cb, void *userdata)
{
	(void)id;
	(void)cb;
	(void)userdata;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	(void)tb;
	return 0;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i)
{
	(void)tb;
	(void)i;
	return NULL;
}

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return 0;
}

const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	return insn;
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return 0;
}

void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return NULL;
}

void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *counter,
						uint64_t by)
{
	(void)insn;
	(void)op;
	(void)counter;
	(void)by;
}

int main(void)
{
	char hex[2 * MAX_INSN + 2];
	unsigned int wanted;
	int lines = 0;

	while (scanf("%u %31s", &wanted, hex) == 2) {
		unsigned char bytes[MAX_INSN + 3] = { 0 };
		struct decoded d;
		size_t i;

		for (i = 0; i < strlen(hex) / 2; i++) {
			unsigned int byte;

			sscanf(hex + 2 * i, "%2x", &byte);
			bytes[i] = (unsigned char)byte;
		}
		d = skip_prefixes(bytes);
		if (flow_of(&d) != wanted)
			printf("%s: wanted %u, got %u\n", hex, wanted, (unsigned int)flow_of(&d));
		lines++;
	}
	printf("%d read\n", lines);
	return 0;
}
