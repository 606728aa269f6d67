/* QEMU's functions for tests of a plugin's decoding: one instruction, whose bytes are `current`. */
#ifndef KM_STUBS_H
#define KM_STUBS_H

static const unsigned char *current;
static size_t current_size;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb)
{
	(void)id;
	(void)cb;
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
	return 1;
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
	return current_size;
}

const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return current;
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return 0x400000;
}

void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return NULL;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb, enum qemu_plugin_cb_flags flags,
				      enum qemu_plugin_mem_rw rw, void *userdata)
{
	(void)insn;
	(void)cb;
	(void)flags;
	(void)rw;
	(void)userdata;
}

unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info)
{
	(void)info;
	return 0;
}

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	(void)info;
	return false;
}

struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address)
{
	(void)info;
	(void)address;
	return NULL;
}

bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *place)
{
	(void)place;
	return false;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place)
{
	(void)place;
	return 0;
}

/* What registers callbacks and counters; a test that looks at them has its own. */
#ifndef OWN_REGISTRATION
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, insn_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *userdata)
{
	(void)insn;
	(void)cb;
	(void)flags;
	(void)userdata;
}

void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *counter,
						uint64_t by)
{
	(void)insn;
	(void)op;
	(void)counter;
	(void)by;
}
#endif

#endif
