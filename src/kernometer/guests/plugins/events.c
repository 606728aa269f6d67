/* events.c: counts what happens inside the timed regions of a probe, from outside the guest.
 *
 * A plugin of QEMU's TCG. Two instructions without effect frame a region (docs/architecture.md, "Region markers"); the
 * plugin finds them when QEMU translates code, and only these two instructions get a callback. For everything else QEMU
 * compiles additions into the translated code, one per instruction: counts per block would be wrong at the ends of a
 * region. Nothing here affects the guest: its own counts are the same with and without the plugin.
 *
 * Arguments: out=PATH, where it writes a JSON object when QEMU ends; memory=GEOMETRY, to count what a processor's
 * caches, TLBs and predictors would do too (memory.h); entries=on, to count by entries into Linux too (entries.h). */
#include "entries.h"
#include "memory.h"
#include "processors.h"
#include "qemu_api.h"
#include "strings.h"
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EACH 16384 /* samples of a row, 4,096; the empty brackets of all rows of a guest */

/* All regions of one id. An end without a begin is ignored; a begin after a begin, of a killed process, starts anew. */
struct region {
	uint64_t complete, cut_off;
	int open;
	uint64_t at_begin[MAX_COUNTERS], sum[MAX_COUNTERS];
	struct strings strings_at_begin, strings;
	uint64_t memory_at_begin[MEMORY_COUNTS], curves_at_begin[CURVE_COUNTS], servers_at_begin;
	struct entry_counts entries_at_begin, entries;
	struct execution *each; /* every complete region, in order, up to MAX_EACH */
};

struct execution {
	uint64_t instructions, repeated;
	uint64_t events[MAX_COUNTERS], strings, string_bytes, server_instructions;
	uint64_t memory[MEMORY_COUNTS], curves[CURVE_COUNTS], lines[TOUCHED], pages[TOUCHED];
};

static struct region *regions[REGIONS];
static char *file_name;
static const struct processor *processor;

static struct region *region_of(unsigned int id)
{
	if (regions[id] == NULL) {
		regions[id] = calloc(1, sizeof *regions[id]);
		if (regions[id] == NULL || (regions[id]->each = calloc(MAX_EACH, sizeof(struct execution))) == NULL)
			abort();
	}
	return regions[id];
}

/* Of instructions those that a processor retires: see strings.h. */
static void counts(unsigned int vcpu, uint64_t to[MAX_COUNTERS])
{
	memcpy(to, counters(vcpu), MAX_COUNTERS * sizeof *to);
	to[USER] -= strings.repeated[USER];
	to[KERNEL] -= strings.repeated[KERNEL];
}

static void at_begin(unsigned int vcpu, void *userdata)
{
	struct region *region = userdata;

	region->cut_off += (uint64_t)region->open;
	region->open = 1;
	if (memory_on) {
		footprint_open();
		memory_counts(region->memory_at_begin);
		if (curves.on)
			curves_counts(region->curves_at_begin);
		spaces_leave(vcpu);
		region->servers_at_begin = spaces.server_instructions;
		spaces.home = spaces.current;
	}
	region->strings_at_begin = strings;
	strings_begin();
	if (entries.on)
		region->entries_at_begin = entries.counts;
	counts(vcpu, region->at_begin);
}

static void keep_execution(struct region *region, unsigned int vcpu, const uint64_t *now)
{
	struct execution *execution = &region->each[region->complete];
	uint64_t memory[MEMORY_COUNTS], of_curves[CURVE_COUNTS];
	size_t i;

	execution->instructions = now[USER] - region->at_begin[USER] + now[KERNEL] - region->at_begin[KERNEL];
	execution->repeated = strings_repeated();
	if (!memory_on)
		return;
	execution->strings = strings.started - region->strings_at_begin.started;
	execution->string_bytes = strings.bytes - region->strings_at_begin.bytes;
	for (i = 0; processor->names[i] != NULL; i++)
		execution->events[i] = now[i] - region->at_begin[i];
	spaces_leave(vcpu);
	execution->server_instructions = spaces.server_instructions - region->servers_at_begin;
	memory_counts(memory);
	for (i = 0; i < MEMORY_COUNTS; i++)
		execution->memory[i] = memory[i] - region->memory_at_begin[i];
	if (curves.on) {
		curves_counts(of_curves);
		for (i = 0; i < CURVE_COUNTS; i++)
			execution->curves[i] = of_curves[i] - region->curves_at_begin[i];
	}
	for (i = 0; i < TOUCHED; i++) {
		execution->lines[i] = footprint.lines[i];
		execution->pages[i] = footprint.pages[i];
	}
}

static void at_end(unsigned int vcpu, void *userdata)
{
	struct region *region = userdata;
	uint64_t now[MAX_COUNTERS];
	int i;

	if (!region->open)
		return;
	counts(vcpu, now);
	region->open = 0;
	if (region->complete < MAX_EACH)
		keep_execution(region, vcpu, now);
	footprint_close();
	region->complete++;
	for (i = 0; processor->names[i] != NULL; i++)
		region->sum[i] += now[i] - region->at_begin[i];
	for (i = 0; entries.on && i < (int)ENTRIES; i++) {
		region->entries.number[i] += entries.counts.number[i] - region->entries_at_begin.number[i];
		region->entries.instructions[i] +=
			entries.counts.instructions[i] - region->entries_at_begin.instructions[i];
	}
	region->strings.started += strings.started - region->strings_at_begin.started;
	region->strings.bytes += strings.bytes - region->strings_at_begin.bytes;
}

/* `block`: what it begins, or NULL. */
static void instrument(struct qemu_plugin_insn *insn, int ring, const enum block *block)
{
	unsigned char bytes[MAX_INSN + 3] = { 0 };
	size_t n = copy_bytes(insn, bytes, MAX_INSN);
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	unsigned long marker = processor->marker_of(bytes, n);
	int kernel = processor->in_kernel(address, ring);
	unsigned int classes = processor->classify(bytes, kernel);
	unsigned int i;

	count_at(insn, kernel ? KERNEL : USER);
	for (i = 0; classes >> i != 0; i++)
		if (classes >> i & 1)
			count_at(insn, i);
	if (processor->names == x86_names)
		strings_instrument(insn, bytes, kernel);
	if (memory_on)
		memory_instrument(insn, bytes, kernel, block != NULL);
	if (entries.on)
		entries_instrument(insn, bytes, kernel, block);
	/* last, so that a branch that led to the end of a region is of it */
	if (marker >> 16 == MARK_BEGIN || marker >> 16 == MARK_END)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, marker >> 16 == MARK_BEGIN ? at_begin : at_end,
						       QEMU_PLUGIN_CB_NO_REGS, region_of(marker & 0xffff));
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	int ring = ring_of_translation();
	enum block block = entries.on && n > 0 ? block_of(tb, n, ring) : USER_BLOCK;

	(void)id;
	for (i = 0; i < n; i++)
		instrument(qemu_plugin_tb_get_insn(tb, i), ring, i == 0 ? &block : NULL);
}

/* One number of every execution, by its place within `struct execution`. */
static void write_each(FILE *to, const struct region *region, const char *before, const char *name, size_t offset)
{
	uint64_t n;

	fprintf(to, "%s\"%s\": [", before, name);
	for (n = 0; n < region->complete && n < MAX_EACH; n++) {
		uint64_t value;

		memcpy(&value, (const char *)&region->each[n] + offset, sizeof value);
		fprintf(to, "%s%" PRIu64, n ? ", " : "", value);
	}
	fputs("]", to);
}

static void write_memory(FILE *to, const struct region *region)
{
	char name[40];
	size_t i;

	fputs(", \"memory\": {", to);
	write_each(to, region, "", "reps", offsetof(struct execution, strings));
	write_each(to, region, ", ", "rep_bytes", offsetof(struct execution, string_bytes));
	write_each(to, region, ", ", "server_instructions", offsetof(struct execution, server_instructions));
	for (i = 0; processor->names[i] != NULL; i++)
		write_each(to, region, ", ", processor->names[i],
			   offsetof(struct execution, events) + i * sizeof(uint64_t));
	for (i = 0; i < MEMORY_COUNTS; i++)
		write_each(to, region, ", ", memory_names[i],
			   offsetof(struct execution, memory) + i * sizeof(uint64_t));
	for (i = 0; curves.on && i < CURVE_COUNTS; i++)
		write_each(to, region, ", ", curve_name(i), offsetof(struct execution, curves) + i * sizeof(uint64_t));
	for (i = 0; i < TOUCHED; i++) {
		snprintf(name, sizeof name, "%s_lines", touched_names[i]);
		write_each(to, region, ", ", name, offsetof(struct execution, lines) + i * sizeof(uint64_t));
		snprintf(name, sizeof name, "%s_pages", touched_names[i]);
		write_each(to, region, ", ", name, offsetof(struct execution, pages) + i * sizeof(uint64_t));
	}
	fputs("}", to);
}

static void write_entries(FILE *to, const struct entry_counts *of)
{
	const char *separator = "";
	unsigned int i;

	fputs(", \"entries\": {", to);
	for (i = 0; i < ENTRIES; i++) {
		if (of->number[i] == 0 && of->instructions[i] == 0)
			continue;
		fprintf(to, "%s\"%u\": [%" PRIu64 ", %" PRIu64 "]", separator, i, of->number[i], of->instructions[i]);
		separator = ", ";
	}
	fputs("}", to);
}

static void write_region(FILE *to, unsigned int id, const struct region *region, const char *separator)
{
	int i;

	fprintf(to,
		"%s\n\"%u\": {\"complete\": %" PRIu64 ", \"cut_off\": %" PRIu64
		", \"counts\": {\"instructions\": %" PRIu64,
		separator, id, region->complete, (region->cut_off + (uint64_t)region->open),
		(region->sum[USER] + region->sum[KERNEL]));
	for (i = 0; processor->names[i] != NULL; i++)
		fprintf(to, ", \"%s\": %" PRIu64, processor->names[i], region->sum[i]);
	if (processor->names == x86_names)
		fprintf(to, ", \"reps\": %" PRIu64 ", \"rep_bytes\": %" PRIu64, region->strings.started,
			region->strings.bytes);
	fputs("}", to);
	write_each(to, region, ", ", "each", offsetof(struct execution, instructions));
	write_each(to, region, ", ", "repeated", offsetof(struct execution, repeated));
	if (memory_on)
		write_memory(to, region);
	if (entries.on)
		write_entries(to, &region->entries);
	fputs("}", to);
}

static void on_exit_of_qemu(qemu_plugin_id_t plugin_id, void *userdata)
{
	const char *separator = "";
	FILE *to = fopen(file_name, "w");
	unsigned int id;

	(void)plugin_id;
	(void)userdata;
	if (to != NULL) {
		fprintf(to, "{\"api\": %d, \"regions\": {", KM_PLUGIN_API);
		for (id = 0; id < REGIONS; id++)
			if (regions[id] != NULL) {
				write_region(to, id, regions[id], separator);
				separator = ",";
			}
		fputs("\n}}\n", to);
	}
	if (to == NULL || fclose(to) != 0)
		fprintf(stderr, "events plugin: %s: %s\n", file_name, strerror(errno));
}

static int has_x86_registers(const struct processor *p)
{
	return p->names == x86_names && has_registers();
}

static int can_walk(const struct processor *p)
{
	return has_x86_registers(p) && cpu_physical_memory_rw != NULL;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int i;

	processor = info->system_emulation ? processor_of(info->target_name) : NULL;
	if (processor == NULL) {
		fprintf(stderr, "events plugin: not made for %s\n", info->target_name);
		return -1;
	}
	for (i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0)
			file_name = strdup(argv[i] + 4);
		if (strncmp(argv[i], "memory=", 7) == 0 && !(can_walk(processor) && memory_open(argv[i] + 7))) {
			fprintf(stderr, "events plugin: no memory system %s here\n", argv[i]);
			return -1;
		}
		if (strcmp(argv[i], "entries=on") == 0 && !(has_x86_registers(processor) && entries_open())) {
			fputs("events plugin: no registers can be read here\n", stderr);
			return -1;
		}
	}
	if (file_name == NULL) {
		fputs("events plugin: out=PATH is missing\n", stderr);
		return -1;
	}
	counters_open();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
