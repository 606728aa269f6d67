/* profile.c: records one execution of one timed region, instruction by instruction, or counts all of them.
 *
 * A plugin of QEMU's TCG for x86-64 guests (see events.c for the regions). Every instruction has a callback, which
 * returns at once outside the wanted execution, so that a profile takes several times as long as plain counts
 * (docs/profile.md), and the guest's own counts stay the same.
 *
 * Arguments: region=ID; execution=N (from 0, among the complete ones) or `all`, which counts and keeps no order;
 * memory=GEOMETRY and charged=DIGITS, to charge what a memory system does in these executions to the instructions that
 * ask for it, and to pages; out=PATH, the file that is written when QEMU ends. Its form is struct head, then the
 * instructions, the steps, and the readings of registers, all little-endian, and lines of text: charges, footprints and
 * pages; trace.py reads it. */
#include "decode.h"
#include "memory.h"
#include "pages.h"
#include "processors.h"
#include "qemu_api.h"
#include "strings.h"
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS (1u << 25) /* 128 MiB; a longer execution has counts only */
#define MAX_READINGS (1u << 16)
#define READING (1u << 31) /* in a step: the rest is the number of a reading and not of an instruction */
#define GOES_ON (1u << 30) /* in a step: of a string instruction, which went on after an interrupt */
#define ALL UINT64_MAX

/* What an instruction does to the flow of control, or to what the flow belongs to. */
enum flow { PLAIN, CALL, RETURN, JUMP, ENTER, LEAVE, IRET, REPEAT, CLOCK, STACK, SPACE };

struct instruction {
	uint64_t address;
	uint64_t page; /* of the host's memory that has it: equal pages are one page of the guest's */
	uint64_t count;
	uint8_t size, flow, kernel, first; /* first: of its translation block, where registers can be read */
	uint8_t bytes[12];                 /* as many as fit: they show which program's file it comes from */
	uint64_t *charged;                 /* not in the file: by memory_names; NULL: nothing */
	size_t number;                     /* likewise: its own */
};

struct reading {
	uint64_t stack, space;
};

struct head {
	char magic[8];
	uint64_t instructions, steps, readings, complete, executed, kept; /* executed: steps, if all are kept */
	uint64_t repeated; /* what the guest's clock counted beyond them in string instructions */
};

static struct instruction **known;
static size_t n_known, room_known;
static uint32_t *steps;
static size_t n_steps, room_steps;
static struct reading readings[MAX_READINGS];
static size_t n_readings;

static unsigned int wanted_region;
static uint64_t wanted_execution, complete, executed, repeated;
static int recording, done, read_next;
static const char *file_name;

static const char *charged;   /* hexadecimal digits, of four executions each, the first one in the lowest bit */
static int charging, spoiled; /* spoiled: an execution was charged that did not end */
static struct instruction *present, *previous; /* the instruction that is executed, and the last one */

static void *or_abort(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static void keep_step(uint32_t step)
{
	if (n_steps == MAX_STEPS)
		return;
	if (n_steps == room_steps) {
		room_steps = room_steps ? 2 * room_steps : 1u << 16;
		steps = or_abort(realloc(steps, room_steps * sizeof *steps));
	}
	steps[n_steps++] = step;
}

/* What the memory system did since the last call: to the instruction that is executed, and to the page of the address
 * that was asked for; mispredictions, which show at the next instruction, to the branch. Accesses alone are not
 * charged. */
static void charge(uint64_t address)
{
	static uint64_t counts[MEMORY_COUNTS];
	uint64_t now[MEMORY_COUNTS];
	size_t kind;

	memory_counts(now);
	for (kind = 2; charging && kind < MEMORY_COUNTS; kind++) {
		int is_branch = kind >= MEMORY_COUNTS - 3;
		struct instruction *to = is_branch ? previous : present;

		if (now[kind] == counts[kind])
			continue;
		if (to->charged == NULL)
			to->charged = or_abort(calloc(MEMORY_COUNTS, sizeof *to->charged));
		to->charged[kind] += now[kind] - counts[kind];
		page_asked(is_branch ? to->address : address)->counts[kind] += now[kind] - counts[kind];
	}
	memcpy(counts, now, sizeof counts);
}

/* See memory.h. */
static void on_asked(uint64_t address, enum touched what)
{
	if (charging)
		charge(address);
	if (what != TOUCHED)
		page_touched(address, what, present->number);
}

static int is_charged(uint64_t execution)
{
	char digit[2] = { 0, 0 };

	if (charged == NULL || execution / 4 >= strlen(charged))
		return 0;
	digit[0] = charged[execution / 4];
	return strtoul(digit, NULL, 16) >> execution % 4 & 1;
}

/* The user's lines are this space's from now on. */
static void enter_space(uint64_t space)
{
	struct footprint *f = footprint.next;

	while (f != NULL && f->space != space)
		f = f->next;
	if (f == NULL) {
		f = or_abort(calloc(1, sizeof *f));
		f->space = space;
		f->next = footprint.next;
		footprint.next = f;
	}
	footprint_of_user = f;
}

/* Which stack and which address space the next steps belong to. */
static void keep_reading(void)
{
	struct reading now = { register_of_cpu(REGISTER_RSP), register_of_cpu(REGISTER_CR3) };

	enter_space(now.space);
	if (n_readings == MAX_READINGS || n_steps == MAX_STEPS)
		return;
	readings[n_readings] = now;
	keep_step(READING | (uint32_t)n_readings++);
}

static void on_instruction(unsigned int vcpu, void *userdata)
{
	struct instruction *insn = known[(uintptr_t)userdata];
	int goes_on = insn->flow == REPEAT && string_step == RESUMED;

	(void)vcpu;
	if (charging || footprint_execution != 0) {
		charge(0);
		number_of_space();
		previous = present;
		present = insn;
	}
	if (!recording || (insn->flow == REPEAT && string_step == REPEATED))
		return;
	insn->count += !goes_on;
	executed++;
	if (wanted_execution == ALL)
		return;
	if (insn->first && has_registers() && (read_next || insn->first > 1)) {
		keep_reading();
		read_next = 0;
	}
	if (insn->flow == STACK || insn->flow == SPACE)
		read_next = 1;
	keep_step((uint32_t)(uintptr_t)userdata | (goes_on ? GOES_ON : 0));
}

static void forget(void)
{
	size_t i;

	for (i = 0; i < n_known; i++)
		known[i]->count = 0;
	n_steps = n_readings = 0;
	executed = 0;
	read_next = 1;
}

/* A begin after a begin starts anew, since the process was killed. */
static void at_begin(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	spoiled |= charging;
	charging = 0;
	charge(0);
	charging = is_charged(complete);
	n_roots = 0;
	number_of_space();
	present = previous = known[(uintptr_t)userdata];
	if (done || (wanted_execution != ALL && complete != wanted_execution))
		return;
	if (wanted_execution != ALL)
		forget();
	if (wanted_execution != ALL && memory_on) {
		footprint_open();
		enter_space(register_of_cpu(REGISTER_CR3));
	}
	recording = 1;
	strings_begin();
}

static void at_end(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	charge(0);
	charging = 0;
	footprint_close();
	if (recording)
		repeated += strings_repeated();
	if (recording && wanted_execution != ALL)
		done = 1;
	recording = 0;
	complete++;
}

static enum flow flow_of_two_bytes(const struct decoded *d)
{
	unsigned char op = d->op[1], modrm = d->op[2];

	if (op == 0x05 || op == 0x34)
		return ENTER;
	if (op == 0x07 || op == 0x35)
		return LEAVE;
	if (reads_clock(d))
		return CLOCK;
	if (op == 0x22 && (modrm >> 3 & 7) == 3)
		return SPACE;
	return (op & 0xf0) == 0x80 ? JUMP : PLAIN;
}

/* A `mov` to the stack pointer, from memory or from another register than the frame's; or a `pop` to it. */
static int loads_stack(const struct decoded *d)
{
	unsigned char op = d->op[0], modrm = d->op[1];

	if (op == 0x8b)
		return (modrm >> 3 & 7) == 4 && !(d->rex & 4);
	if (op == 0x89)
		return modrm >> 6 == 3 && (modrm & 7) == 4 && !(d->rex & 1) && (modrm >> 3 & 7) != 5;
	return op == 0x5c && !(d->rex & 1);
}

static enum flow flow_of(const struct decoded *d)
{
	unsigned char op = d->op[0], group = d->op[1] >> 3 & 7;

	if (op == 0x0f)
		return flow_of_two_bytes(d);
	if (is_repeated(d))
		return REPEAT;
	if (op == 0xe8 || (op == 0xff && (group == 2 || group == 3)))
		return CALL;
	if (op == 0xc3 || op == 0xc2 || op == 0xcb || op == 0xca)
		return RETURN;
	if (op == 0xcc || op == 0xcd)
		return ENTER;
	if (op == 0xcf)
		return IRET;
	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3) || op == 0xe9 || op == 0xeb ||
	    (op == 0xff && (group == 4 || group == 5)))
		return JUMP;
	return loads_stack(d) ? STACK : PLAIN;
}

static struct instruction *instruction_at(struct qemu_plugin_insn *from, int ring)
{
	struct instruction *insn = or_abort(calloc(1, sizeof *insn));
	unsigned char bytes[MAX_INSN + 3] = { 0 };
	struct decoded d;

	copy_bytes(from, bytes, MAX_INSN);
	d = skip_prefixes(bytes);
	insn->address = qemu_plugin_insn_vaddr(from);
	insn->page = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(from) >> 12;
	insn->size = (uint8_t)qemu_plugin_insn_size(from);
	insn->flow = (uint8_t)flow_of(&d);
	insn->kernel = (uint8_t)x86_in_kernel(insn->address, ring);
	memcpy(insn->bytes, bytes, sizeof insn->bytes);
	count_at(from, insn->kernel ? KERNEL : USER);
	strings_instrument(from, bytes, insn->kernel);
	if (n_known == room_known) {
		room_known = room_known ? 2 * room_known : 1u << 16;
		known = or_abort(realloc(known, room_known * sizeof *known));
	}
	insn->number = n_known;
	known[n_known++] = insn;
	return insn;
}

/* QEMU calls the callbacks of an instruction in the order of their registration: so the marker that begins a region is
 * not recorded, and the marker that ends it is. */
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb), first = n_known;
	int ring = ring_of_translation(), reads = 0;

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *from = qemu_plugin_tb_get_insn(tb, i);
		struct instruction *insn = instruction_at(from, ring);
		unsigned long marker = marker_of(insn->bytes, insn->size);
		unsigned char bytes[MAX_INSN + 3] = { 0 };

		reads |= insn->flow == STACK || insn->flow == SPACE;
		qemu_plugin_register_vcpu_insn_exec_cb(from, on_instruction, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)(n_known - 1));
		copy_bytes(from, bytes, MAX_INSN);
		if (memory_on && has_registers())
			memory_instrument(from, bytes, insn->kernel, i == 0);
		if ((marker >> 16 == MARK_BEGIN || marker >> 16 == MARK_END) && (marker & 0xffff) == wanted_region)
			qemu_plugin_register_vcpu_insn_exec_cb(from, marker >> 16 == MARK_BEGIN ? at_begin : at_end,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)(n_known - 1));
	}
	if (n > 0)
		known[first]->first = reads ? 2 : 1;
}

static void write_memory(FILE *to)
{
	const struct footprint *f;
	size_t i, kind;

	for (i = 0; i < n_known && !spoiled && !charging; i++)
		for (kind = 0; known[i]->charged != NULL && kind < MEMORY_COUNTS; kind++)
			if (known[i]->charged[kind] != 0)
				fprintf(to, "charge %zu %s %" PRIu64 "\n", i, memory_names[kind],
					known[i]->charged[kind]);
	for (f = &footprint; f != NULL; f = f->next)
		for (i = 0; i < TOUCHED; i++)
			if (f->lines[i] != 0)
				fprintf(to, "touch %" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", f->space,
					touched_names[i], f->lines[i], f->pages[i]);
}

static int write_all(FILE *to)
{
	struct head head = { "KMTRACE",
			     n_known,
			     n_steps,
			     n_readings,
			     complete,
			     executed,
			     wanted_execution != ALL && done && n_steps < MAX_STEPS,
			     repeated };
	size_t i;

	if (fwrite(&head, sizeof head, 1, to) != 1)
		return 0;
	for (i = 0; i < n_known; i++)
		if (fwrite(known[i], offsetof(struct instruction, charged), 1, to) != 1)
			return 0;
	if (fwrite(steps, sizeof *steps, n_steps, to) != n_steps ||
	    fwrite(readings, sizeof *readings, n_readings, to) != n_readings)
		return 0;
	if (memory_on)
		write_memory(to);
	if (memory_on && !spoiled && !charging)
		write_pages(to);
	return !ferror(to);
}

static void on_exit_of_qemu(qemu_plugin_id_t plugin_id, void *userdata)
{
	FILE *to = fopen(file_name, "wb");
	int written = to != NULL && write_all(to);

	(void)plugin_id;
	(void)userdata;
	if (to == NULL || fclose(to) != 0 || !written)
		fprintf(stderr, "profile plugin: %s: %s\n", file_name, strerror(errno));
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int i;

	if (strcmp(info->target_name, "x86_64") != 0 || !info->system_emulation) {
		fprintf(stderr, "profile plugin: made for x86_64 system emulation, not for %s\n", info->target_name);
		return -1;
	}
	wanted_execution = ALL;
	for (i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0)
			file_name = strdup(argv[i] + 4);
		else if (strncmp(argv[i], "region=", 7) == 0)
			wanted_region = (unsigned int)strtoul(argv[i] + 7, NULL, 10);
		else if (strncmp(argv[i], "execution=", 10) == 0 && strcmp(argv[i] + 10, "all") != 0)
			wanted_execution = strtoull(argv[i] + 10, NULL, 10);
		else if (strncmp(argv[i], "charged=", 8) == 0)
			charged = strdup(argv[i] + 8);
		else if (strncmp(argv[i], "memory=", 7) == 0 && (!has_registers() || !memory_open(argv[i] + 7)))
			return -1;
	}
	if (file_name == NULL) {
		fputs("profile plugin: out=PATH is missing\n", stderr);
		return -1;
	}
	memory_asked = on_asked;
	counters_open();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
