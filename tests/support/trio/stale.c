/* stale.c: finds translations that a processor might still use although the page tables no longer grant them.
 *
 * A plugin of QEMU's TCG, whose own TLB forgets too much to show them. It has a TLB that never forgets by itself: what
 * it holds goes only where the guest says so (a write of CR3, INVLPG, INVPCID). Each access, and each page fault, that
 * the TLB would have answered is compared with the tables; an answer that these no longer give is a line of the output.
 * A guest that says less than a processor needs is found so, at the first touch.
 *
 * With tags, entries of other spaces stay too. TCG has no tags: a kernel built with TRIO_TAGS_TOLD has them in CR3, and
 * says by a marker which write of CR3 keeps the TLB, and what it would have told INVPCID (trio/kernel/x86/tags.h).
 *
 * Arguments: out=PATH; fault=ADDRESS, of the entry of page faults; told=ADDRESS, of tags_told, 0 without tags. */
#include "memory.h"
#include "qemu_api.h"
#include <inttypes.h>

#define TAGS 4097u
#define SHARED 4096u /* the tag of global entries */
#define MARK_KEPT 0x4b500000u
#define MARK_INVPCID 0x4b510000u
#define REGISTER_CR2 28
#define LINES_MOST 20

enum { MAY_WRITE = 1, MAY_EXECUTE = 2, MAY_USER = 4 };

struct grant {
	uint64_t frame;
	unsigned int rights;
	int global;
};

/* A translation that was used. It is valid while its tag's number of flushes is as it was. */
static struct entry {
	uint64_t page, frame;
	unsigned int rights, tag, used;
	uint32_t flushes, checked;
} *entries;
static size_t room = 1u << 16, filled;
static uint32_t flushes[TAGS], changes = 1; /* of page tables */
static uint8_t *is_table;                   /* by physical page */
static unsigned int tag;
static int keeps;
static uint64_t fault_entry, told, stale, checks, flushed;
static FILE *out;

static uint64_t read_physical(uint64_t at)
{
	uint64_t value = 0;

	cpu_physical_memory_rw(at, &value, sizeof value, false);
	return value;
}

/* What the tables grant at an address now; 0: nothing. */
static int granted(uint64_t address, struct grant *to)
{
	uint64_t table = register_of_cpu(REGISTER_CR3) & FRAME;
	int level;

	to->rights = MAY_WRITE | MAY_EXECUTE | MAY_USER;
	for (level = 3; level >= 0; level--) {
		unsigned int shift = PAGE_SHIFT + 9 * (unsigned int)level;
		uint64_t entry = read_physical(table + (address >> shift & 511) * sizeof entry);

		if (table >> PAGE_SHIFT < ROOT_PAGES)
			is_table[table >> PAGE_SHIFT] = 1;
		if (!(entry & PRESENT))
			return 0;
		to->rights &=
			(entry & 2 ? MAY_WRITE : 0u) | (entry & 4 ? MAY_USER : 0u) | (entry >> 63 ? 0u : MAY_EXECUTE);
		if (level == 0 || entry & LARGE_PAGE) {
			to->frame = ((entry & FRAME & ~((1ull << shift) - 1)) | (address & ((1ull << shift) - 1))) >>
				    PAGE_SHIFT;
			to->global = (entry & GLOBAL_PAGE) != 0;
			return 1;
		}
		table = entry & FRAME;
	}
	return 0;
}

static struct entry *place_in(struct entry *in, size_t size, uint64_t page, unsigned int of)
{
	size_t at = (size_t)((page ^ (uint64_t)of << 40) * 0x9e3779b97f4a7c15ull >> 20) & (size - 1);

	while (in[at].used && (in[at].page != page || in[at].tag != of))
		at = (at + 1) & (size - 1);
	return &in[at];
}

static struct entry *held(uint64_t page, unsigned int of)
{
	struct entry *e = place_in(entries, room, page, of);

	return e->used && e->flushes == flushes[of] ? e : NULL;
}

static void hold(uint64_t page, const struct grant *now)
{
	unsigned int of = now->global ? SHARED : tag;
	struct entry *e = place_in(entries, room, page, of);

	filled += !e->used;
	*e = (struct entry){ page, now->frame, now->rights, of, 1, flushes[of], changes };
	if (2 * filled > room) {
		struct entry *wider = calloc(2 * room, sizeof *wider);
		size_t i;

		for (i = 0; i < room; i++)
			if (entries[i].used)
				*place_in(wider, 2 * room, entries[i].page, entries[i].tag) = entries[i];
		free(entries);
		entries = wider;
		room *= 2;
	}
}

/* The entry goes, so that a translation is told once. */
static void report(const char *what, uint64_t address, struct entry *e, const struct grant *now)
{
	e->flushes--;
	if (stale++ < LINES_MOST)
		fprintf(out, "%s %" PRIx64 " of tag %u: frame %" PRIx64 " rights %u, now %" PRIx64 " rights %u\n", what,
			address, e->tag, e->frame, e->rights, now->frame, now->rights);
}

static struct entry *answer_for(uint64_t page)
{
	struct entry *e = held(page, tag);

	return e ? e : held(page, SHARED);
}

static void access_to(uint64_t address)
{
	uint64_t page = (address & 0xffffffffffffull) >> PAGE_SHIFT;
	struct entry *e = answer_for(page);
	struct grant now = { 0, 0, 0 };

	if (e && e->checked == changes)
		return;
	checks++;
	if (!granted(address, &now)) {
		now.rights = 0;
		if (e)
			report("an absent page", address, e, &now);
		return;
	}
	if (e && (e->frame != now.frame || e->rights & ~now.rights))
		report("a page", address, e, &now);
	hold(page, &now);
}

static void let_go(uint64_t page, unsigned int of)
{
	struct entry *e = held(page, of);

	if (e)
		e->flushes--;
	flushed++;
}

/* What the instructions before the present block did to the TLB. */
static void after_control_of_tlb(void)
{
	if (last.cr4) {
		unsigned int i;

		for (i = 0; i < TAGS; i++)
			flushes[i]++;
	}
	if (last.cr3) {
		tag = told ? (unsigned int)(register_of_cpu(REGISTER_CR3) & 0xfff) : 0;
		if (!keeps)
			flushes[tag]++;
		keeps = 0;
		flushed++;
	}
	if (last.invlpg != NULL) {
		struct decoded d = skip_prefixes(last.invlpg);
		uint64_t address = address_of_operand(d.op + 2, d.rex, last.invlpg_end);

		let_go((address & 0xffffffffffffull) >> PAGE_SHIFT, tag);
		let_go((address & 0xffffffffffffull) >> PAGE_SHIFT, SHARED);
	}
	last.cr3 = last.cr4 = 0;
	last.invlpg = NULL;
}

static uint64_t read_virtual(uint64_t address)
{
	struct mapping at;

	return walk(address, &at) ? read_physical(at.physical) : 0;
}

/* The processor has pushed the error code: bit 1 a store, bit 2 in user mode, bit 4 a fetch. */
static void on_fault(void)
{
	uint64_t address = register_of_cpu(REGISTER_CR2), error = read_virtual(register_of_cpu(REGISTER_RSP));
	unsigned int wanted =
		(error & 2 ? MAY_WRITE : 0u) | (error & 4 ? MAY_USER : 0u) | (error & 16 ? MAY_EXECUTE : 0u);
	struct entry *e = answer_for((address & 0xffffffffffffull) >> PAGE_SHIFT);
	struct grant now = { 0, 0, 0 };

	checks++;
	if (e && (e->rights & wanted) == wanted) {
		(void)granted(address, &now);
		report("a fault", address, e, &now);
	}
}

static void on_block(unsigned int vcpu, void *userdata)
{
	uint64_t address = *(const uint64_t *)userdata;

	(void)vcpu;
	if (last.cr3 || last.cr4 || last.invlpg != NULL)
		after_control_of_tlb();
	if (!(register_of_cpu(REGISTER_EFER) & EFER_LMA))
		return;
	if (address == fault_entry)
		on_fault();
	access_to(address);
}

static void on_data(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
	uint64_t frame;

	(void)vcpu;
	(void)userdata;
	if (!(register_of_cpu(REGISTER_EFER) & EFER_LMA))
		return;
	access_to(address);
	if (place == NULL || qemu_plugin_hwaddr_is_io(place) || !qemu_plugin_mem_is_store(info))
		return;
	frame = qemu_plugin_hwaddr_phys_addr(place) >> PAGE_SHIFT;
	if (frame < ROOT_PAGES && is_table[frame])
		changes++;
}

static void on_kept(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	keeps = 1;
}

static void on_invpcid(unsigned int vcpu, void *userdata)
{
	uint64_t type = read_virtual(told), of = read_virtual(told + 8), address = read_virtual(told + 16);

	(void)vcpu;
	(void)userdata;
	if (type == 0)
		let_go((address & 0xffffffffffffull) >> PAGE_SHIFT, (unsigned int)of);
	else
		flushes[of]++;
	flushed++;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned char bytes[MAX_INSN + 3] = { 0 };
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		unsigned long mark = marker_of(bytes, copy_bytes(insn, bytes, MAX_INSN));
		struct decoded d = skip_prefixes(bytes);
		struct ending ending = { NO_BRANCH, address, address + qemu_plugin_insn_size(insn), 0, 0, 0, { 0 } };
		int field = d.op[2] >> 3 & 7;

		if (i == 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_block, QEMU_PLUGIN_CB_NO_REGS,
							       kept(&address, sizeof address));
		qemu_plugin_register_vcpu_mem_cb(insn, on_data, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
		if (mark == MARK_KEPT || mark == MARK_INVPCID)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark == MARK_KEPT ? on_kept : on_invpcid,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (d.op[0] != 0x0f)
			continue;
		ending.cr3 = d.op[1] == 0x22 && field == 3;
		ending.cr4 = d.op[1] == 0x22 && field == 4;
		ending.invlpg = d.op[1] == 0x01 && d.op[2] >> 6 != 3 && field == 7;
		memcpy(ending.bytes, bytes, sizeof ending.bytes);
		if (ending.cr3 || ending.cr4 || ending.invlpg)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_ending, QEMU_PLUGIN_CB_NO_REGS,
							       kept(&ending, sizeof ending));
	}
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	fprintf(out, "%" PRIu64 " stale, %" PRIu64 " compared, %" PRIu64 " let go\n", stale, checks, flushed);
	fclose(out);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0)
			out = fopen(argv[i] + 4, "w");
		if (strncmp(argv[i], "fault=", 6) == 0)
			fault_entry = strtoull(argv[i] + 6, NULL, 0);
		if (strncmp(argv[i], "told=", 5) == 0)
			told = strtoull(argv[i] + 5, NULL, 0);
	}
	entries = calloc(room, sizeof *entries);
	is_table = calloc(ROOT_PAGES, 1);
	if (out == NULL || entries == NULL || is_table == NULL || !has_registers() || cpu_physical_memory_rw == NULL)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
