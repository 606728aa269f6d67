/* memory.h: the memory system of one processor, counted while the guest runs: the footprint of each region, caches of
 * three levels, TLBs without and with tags, and predictors of branches. Nothing of it affects the guest.
 *
 * Lines are told by physical addresses. Instructions are seen by line as they are executed, data by access; a string
 * instruction with `rep` accesses each line once. What memory callbacks do not show is not counted: frames that the
 * processor pushes and pops at exceptions, reads of descriptors and of page tables. No line is fetched before it is
 * asked for; loads that a prefetcher would have foreseen are told apart. x86 alone, in long mode, or in 32 bits without
 * PAE: other code is counted by its instructions only. docs/cycles.md has the reasons. */
#ifndef KM_MEMORY_H
#define KM_MEMORY_H

#include "branches.h"
#include "caches.h"
#include "curves.h"
#include "decode.h"
#include "footprint.h"
#include "qemu_api.h"
#include "spaces.h"
#include "tlb.h"
#include <stdio.h>

/* Who asks for a line. STREAM is a load that misses beside a line that was missed lately: prefetchers foresee it. A
 * string instruction's misses overlap, as no other's do. */
enum asker { CODE, LOAD, STREAM, STORE, STRING, ASKERS };

static struct {
	uint64_t loads, stores; /* of data, lines touched by string instructions among them */
	uint64_t l1[ASKERS], l2[ASKERS], l3[ASKERS];
} cache_counts; /* misses */

static const char *const memory_names[] = {
	"loads",
	"stores",
	"l1i_misses",
	"l1d_load_misses",
	"l1d_stream_misses",
	"l1d_store_misses",
	"l1d_string_misses",
	"l2_code_misses",
	"l2_load_misses",
	"l2_stream_misses",
	"l2_store_misses",
	"l2_string_misses",
	"l3_code_misses",
	"l3_load_misses",
	"l3_stream_misses",
	"l3_store_misses",
	"l3_string_misses",
	"itlb_misses",
	"dtlb_misses",
	"walks",
	"large_walks",
	"tagged_itlb_misses",
	"tagged_dtlb_misses",
	"tagged_walks",
	"tagged_large_walks",
	"mispredicted_conditional",
	"mispredicted_indirect",
	"mispredicted_returns",
};

#define MEMORY_COUNTS (sizeof memory_names / sizeof *memory_names)

static struct cache l1i, l1d, l2, l3;
static struct tlb tlbs[2] = { { .tagged = 0, .tag = 1 }, { .tagged = 1, .tag = 1 } };
static int memory_on; /* the plugin was told a geometry */
/* Called where an access missed (TOUCHED), or touched a line that is new in this execution; NULL: nobody asks. */
static void (*memory_asked)(uint64_t address, enum touched what);

/* What the next block must know of the last instruction. */
static struct {
	enum branch kind;
	uint64_t at, after;          /* of a branch */
	int cr3, cr4;                /* it wrote one */
	const unsigned char *invlpg; /* its operand's bytes */
	uint64_t invlpg_end;
} last = { .cr3 = 1 };

/* A line of code, at the first instruction of a block in it. */
struct fetch {
	uint64_t address, end; /* virtual, of the instruction's first and last byte */
	uint64_t line[2];      /* physical >> LINE_SHIFT: of the first byte, if that is to be fetched, and of the
				  last, if the instruction crosses; otherwise 0 */
	int first, kernel;     /* first: of its block */
};

#define STREAMS 32 /* Intel's second level follows as many, each within 4 KiB, upward or downward */

/* Whether a missed line lies beside one that was missed lately, in its page. */
static int is_streamed(uint64_t line)
{
	static uint64_t heads[STREAMS]; /* the last line of each stream, the stream used last first */
	unsigned int i, next;

	for (i = 0; i < STREAMS - 1; i++)
		if (heads[i] == line - 1 || heads[i] == line + 1)
			break;
	next = (heads[i] == line - 1 || heads[i] == line + 1) &&
	       heads[i] >> (PAGE_SHIFT - LINE_SHIFT) == line >> (PAGE_SHIFT - LINE_SHIFT);
	memmove(heads + 1, heads, i * sizeof *heads);
	heads[0] = line;
	return (int)next;
}

/* How many levels of the caches did not have the line; then they have. */
static int look_up(uint64_t line, enum asker asker)
{
	struct cache *l1 = asker == CODE ? &l1i : &l1d;

	if (cache_find(l1, line, line))
		return 0;
	if (asker == LOAD && is_streamed(line))
		asker = STREAM;
	cache_counts.l1[asker]++;
	cache_add(l1, line, line);
	if (cache_find(&l2, line, line))
		return 1;
	cache_counts.l2[asker]++;
	cache_add(&l2, line, line);
	if (cache_find(&l3, line, line))
		return 2;
	cache_counts.l3[asker]++;
	cache_add(&l3, line, line);
	return 3;
}

/* `line` is physical, `address` virtual and within it. */
static void touch(uint64_t line, uint64_t address, enum asker asker, int kernel)
{
	int levels = look_up(line, asker);
	enum touched what = asker == CODE ? kernel ? KERNEL_CODE : USER_CODE : kernel ? KERNEL_DATA : USER_DATA;
	int is_new = footprint_touch(what, line);

	if (curves.on)
		curves_use(line, asker == CODE ? OF_CODE : OF_DATA, kernel, levels);
	if ((levels || is_new) && memory_asked != NULL)
		memory_asked(address, is_new ? what : TOUCHED);
}

static void translate(uint64_t address, unsigned int is_code)
{
	struct mapping at = { 0, 0, 0 };

	tlb_access(&tlbs[0], address, is_code, &at);
	tlb_access(&tlbs[1], address, is_code, &at);
	if (at.shift != 0 && memory_asked != NULL)
		memory_asked(address, TOUCHED);
}

/* gdb's number of the register with this number in an instruction. */
static int gdb_number(unsigned int number)
{
	static const unsigned char first[] = { 0, 2, 3, 1, 7, 6, 4, 5 };

	return number < 8 ? first[number] : (int)number;
}

static uint64_t register_in(unsigned int number)
{
	return register_of_cpu(gdb_number(number));
}

static int64_t signed_at(const unsigned char *bytes, int size)
{
	int32_t value;

	if (size == 1)
		return (signed char)*bytes;
	memcpy(&value, bytes, sizeof value);
	return value;
}

/* The address that an operand in memory has (Intel SDM, volume 2, 2.1.5 and 2.2.1.6). Segment bases are taken as 0. In
 * 32 bits `end` is 0 and the upper half of the result without meaning. */
static uint64_t address_of_operand(const unsigned char *modrm, unsigned char rex, uint64_t end)
{
	unsigned int mode = *modrm >> 6, base = *modrm & 7;
	const unsigned char *displacement = modrm + 1;
	uint64_t address = 0;

	if (base == 4) {
		unsigned int index = (modrm[1] >> 3 & 7) | (rex & 2) << 2;

		base = modrm[1] & 7;
		displacement++;
		if (index != 4)
			address += register_in(index) << (modrm[1] >> 6);
		if (base == 5 && mode == 0)
			return address + (uint64_t)signed_at(displacement, 4);
	} else if (base == 5 && mode == 0) {
		return end + (uint64_t)signed_at(displacement, 4);
	}
	address += register_in(base | (rex & 1) << 3);
	return address + (uint64_t)(mode == 1   ? signed_at(displacement, 1)
				    : mode == 2 ? signed_at(displacement, 4)
						: 0);
}

/* What the last block's end did to translations. Registers are those of the guest only where a block begins. */
static void after_control(unsigned int vcpu)
{
	int forgotten;
	uint64_t tag;

	if (last.cr4) {
		tlb_remove(&tlbs[0], is_any, 0);
		tlb_remove(&tlbs[1], is_any, 0);
	}
	if (last.cr3) {
		spaces_leave(vcpu);
		tag = space_now(&forgotten);
		if (forgotten)
			tlb_remove(&tlbs[1], is_any, 0);
		tlb_switch(&tlbs[0], tag);
		tlb_switch(&tlbs[1], tag);
	}
	if (last.invlpg != NULL) {
		struct decoded d = skip_prefixes(last.invlpg);
		int wide = (register_of_cpu(REGISTER_EFER) & EFER_LMA) != 0;
		uint64_t operand = address_of_operand(d.op + 2, d.rex, wide ? last.invlpg_end : 0);
		uint64_t page = (operand & (wide ? 0x1ffffffffffffffull : 0xffffffffull)) >> PAGE_SHIFT;

		tlb_remove(&tlbs[0], is_page, page);
		tlb_remove(&tlbs[1], is_page, page);
	}
	last.cr3 = last.cr4 = 0;
	last.invlpg = NULL;
}

static void on_fetch(unsigned int vcpu, void *userdata)
{
	const struct fetch *fetch = userdata;
	int i;

	if (fetch->first) {
		if (last.kind != NO_BRANCH)
			resolve(last.kind, last.at, last.after, fetch->address);
		last.kind = NO_BRANCH;
		if (last.cr3 || last.cr4 || last.invlpg != NULL)
			after_control(vcpu);
	}
	translate(fetch->address, 1);
	if (fetch->end >> PAGE_SHIFT != fetch->address >> PAGE_SHIFT)
		translate(fetch->end, 1);
	for (i = 0; i < 2; i++)
		if (fetch->line[i] != 0)
			touch(fetch->line[i], i == 0 ? fetch->address : fetch->end, CODE, fetch->kernel);
}

#define ACCESS_BY_KERNEL 1u
#define ACCESS_BY_STRING 2u

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	static uint64_t last_line[2];
	unsigned int how = (unsigned int)(uintptr_t)userdata;
	int store = qemu_plugin_mem_is_store(info);
	enum asker asker = how & ACCESS_BY_STRING ? STRING : store ? STORE : LOAD;
	int kernel = (how & ACCESS_BY_KERNEL) != 0;
	uint64_t bytes = 1ull << qemu_plugin_mem_size_shift(info), physical, line;
	const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);

	(void)vcpu;
	if (place == NULL || qemu_plugin_hwaddr_is_io(place))
		return;
	physical = qemu_plugin_hwaddr_phys_addr(place);
	line = physical >> LINE_SHIFT;
	if (how & ACCESS_BY_STRING && last_line[store] == line)
		return;
	last_line[store] = how & ACCESS_BY_STRING ? line : 0;
	*(store ? &cache_counts.stores : &cache_counts.loads) += 1;
	translate(address, 0);
	touch(line, address, asker, kernel);
	if (store)
		space_stored(physical);
	if ((address & 63) + bytes > 64 && (address & 4095) + bytes <= 4096)
		touch(line + 1, address + bytes - 1, asker, kernel);
}

struct ending {
	enum branch kind;
	uint64_t at, after;
	int cr3, cr4, invlpg;
	unsigned char bytes[MAX_INSN + 3];
};

static void on_ending(unsigned int vcpu, void *userdata)
{
	const struct ending *ending = userdata;

	(void)vcpu;
	last.kind = ending->kind;
	last.at = ending->at;
	last.after = ending->after;
	last.cr3 = ending->cr3;
	last.cr4 = ending->cr4;
	last.invlpg = ending->invlpg ? ending->bytes : NULL;
	last.invlpg_end = ending->after;
}

static void *kept(const void *from, size_t size)
{
	void *to = malloc(size);

	if (to == NULL)
		abort();
	return memcpy(to, from, size);
}

static uint64_t line_of_code(uint64_t address)
{
	struct mapping at;

	return walk(address, &at) ? at.physical >> LINE_SHIFT : 0;
}

/* Callbacks for one instruction; those of a block come in their order. */
static void memory_instrument(struct qemu_plugin_insn *insn, const unsigned char *bytes, int kernel, int first)
{
	static uint64_t line; /* of the end of the instruction before, virtual */
	uint64_t address = qemu_plugin_insn_vaddr(insn), after = address + qemu_plugin_insn_size(insn);
	uint64_t end = (after - 1) >> LINE_SHIFT;
	struct decoded d = skip_prefixes(bytes);
	struct ending ending = { branch_of(&d), address, after, 0, 0, 0, { 0 } };
	unsigned int how = (kernel ? ACCESS_BY_KERNEL : 0) | (is_repeated(&d) ? ACCESS_BY_STRING : 0);

	if (first || address >> LINE_SHIFT != line || end != line) {
		int starts = first || address >> LINE_SHIFT != line, crosses = end != address >> LINE_SHIFT;
		struct fetch fetch = { address, after - 1, { 0, 0 }, first, kernel };

		if (starts)
			fetch.line[0] = line_of_code(address);
		if (crosses)
			fetch.line[1] = line_of_code(after - 1);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_fetch, QEMU_PLUGIN_CB_NO_REGS,
						       kept(&fetch, sizeof fetch));
	}
	line = end;
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 (void *)(uintptr_t)how);
	if (d.op[0] == 0x0f) {
		int field = d.op[2] >> 3 & 7;

		ending.cr3 = d.op[1] == 0x22 && field == 3;
		ending.cr4 = (d.op[1] == 0x22 && field == 4) || (d.op[1] == 0x38 && d.op[2] == 0x82); /* or invpcid */
		ending.invlpg = d.op[1] == 0x01 && d.op[2] >> 6 != 3 && field == 7;
	}
	if (ending.kind != NO_BRANCH || ending.cr3 || ending.cr4 || ending.invlpg) {
		memcpy(ending.bytes, bytes, sizeof ending.bytes);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_ending, QEMU_PLUGIN_CB_NO_REGS,
						       kept(&ending, sizeof ending));
	}
}

/* All counts up to now. */
static void memory_counts(uint64_t to[MEMORY_COUNTS])
{
	int i;

	memcpy(to, &cache_counts, sizeof cache_counts);
	to += sizeof cache_counts / sizeof *to;
	for (i = 0; i < 2; i++, to += sizeof tlbs[i].counts / sizeof *to)
		memcpy(to, &tlbs[i].counts, sizeof tlbs[i].counts);
	memcpy(to, predictor.missed, sizeof predictor.missed);
}

static struct cache *new_cache(unsigned long entries, unsigned long ways)
{
	struct cache *cache = malloc(sizeof *cache);

	if (cache == NULL)
		abort();
	cache_open(cache, (uint32_t)entries, (uint32_t)ways);
	return cache;
}

#define SIZES 21

static void tlb_open(struct tlb *tlb, const unsigned long n[SIZES])
{
	unsigned int i;

	for (i = 0; i < 2; i++) { /* data, code */
		const unsigned long *first = n + (i == 1 ? 8 : 12);

		tlb->first[i][0] = new_cache(first[0], first[1]);
		tlb->first[i][1] = first[2] ? new_cache(first[2], first[3]) : tlb->first[i][0];
	}
	tlb->second[0] = new_cache(n[16], n[17]);
	tlb->second[1] = n[18] ? new_cache(n[18], n[19]) : tlb->second[0];
}

/* The entries and ways of l1i, l1d, l2, l3, itlb, itlb of large pages, dtlb, dtlb of large pages, second level, second
 * level of code, and the entries of the return stack: `512/8/512/8/…`. 0/0, where large pages or code have none of
 * their own; with `/curves` at the end curves.h counts too. Returns 0 if it is not of this form. */
static int memory_open(const char *geometry)
{
	struct cache *caches[] = { &l1i, &l1d, &l2, &l3 };
	unsigned long n[SIZES];
	unsigned int i;
	char *end;

	for (i = 0; i < SIZES; i++, geometry = end + 1) {
		int may_lack = i == 10 || i == 14 || i == 18;

		n[i] = strtoul(geometry, &end, 10);
		if (n[i] > 1u << 24 || (i + 1 < SIZES ? *end != '/' : *end != '\0' && strcmp(end, "/curves") != 0))
			return 0;
		if (i % 2 == 1 ? n[i - 1] != 0 && (n[i] == 0 || n[i] > 64 || n[i - 1] % n[i] != 0)
			       : n[i] == 0 && !may_lack)
			return 0;
	}
	if (n[SIZES - 1] > MAX_RETURNS)
		return 0;
	for (i = 0; i < 4; i++)
		cache_open(caches[i], (uint32_t)n[2 * i], (uint32_t)n[2 * i + 1]);
	tlb_open(&tlbs[0], n);
	tlb_open(&tlbs[1], n);
	predictor.depth = (unsigned int)n[SIZES - 1];
	spaces_open();
	memory_on = 1;
	return geometry[-1] == '\0' || curves_open(n[0], n[2], n[4]);
}

#endif
