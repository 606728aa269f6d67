/* events.c: counts what happens inside the timed regions of a probe, from outside the guest.
 *
 * A plugin of QEMU's TCG for x86-64 guests. Two long NOPs frame a region (docs/architecture.md, "Region markers"); the
 * plugin finds them when QEMU translates code, and only these two instructions get a callback. For everything else QEMU
 * compiles additions into the translated code, one per instruction: counts per block would be wrong at the ends of a
 * region. Nothing here affects the guest: its own counts are the same with and without the plugin.
 *
 * Arguments: out=PATH, where it writes a JSON object when QEMU ends. */
#include "decode.h"
#include "qemu_api.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EACH 4096 /* as many as the probe has samples */

enum counter {
	USER,
	KERNEL, /* by the half of the address space that the instruction is in; outside long mode by the ring */
	SYSCALLS,
	SYSRETS,
	INTS,
	IRETS,
	CR3_WRITES,
	SWAPGS,
	FPU_SAVES,
	FPU_RESTORES,
	CLI,
	STI,
	RDTSC,
	REP_ITERATIONS,
	WRMSR,
	INVLPG,
	CPUID,
	PORT_IO,
	HLT,
	LOCKED,
	COUNTERS,
	NOTHING = COUNTERS
};

static const char *const counter_names[COUNTERS] = {
	"user",   "kernel",    "syscalls",     "sysrets", "ints", "irets",  "cr3_writes",
	"swapgs", "fpu_saves", "fpu_restores", "cli",     "sti",  "rdtsc",  "rep_iterations",
	"wrmsr",  "invlpg",    "cpuid",        "port_io", "hlt",  "locked",
};

/* All regions of one id. An end without a begin is none; a begin after a begin starts anew: the process was killed. */
struct region {
	uint64_t complete, cut_off;
	int open;
	uint64_t at_begin[COUNTERS], sum[COUNTERS];
	uint64_t *each; /* instructions of every complete region, in order, up to MAX_EACH */
};

static struct region *regions[REGIONS];
static char *file_name;

static struct region *region_of(unsigned int id)
{
	if (regions[id] == NULL) {
		regions[id] = calloc(1, sizeof *regions[id]);
		if (regions[id] == NULL || (regions[id]->each = calloc(MAX_EACH, sizeof(uint64_t))) == NULL)
			abort();
	}
	return regions[id];
}

static void at_begin(unsigned int vcpu, void *userdata)
{
	struct region *region = userdata;

	region->cut_off += (uint64_t)region->open;
	region->open = 1;
	memcpy(region->at_begin, counters(vcpu), sizeof region->at_begin);
}

static void at_end(unsigned int vcpu, void *userdata)
{
	struct region *region = userdata;
	const uint64_t *now = counters(vcpu);
	int i;

	if (!region->open)
		return;
	region->open = 0;
	if (region->complete < MAX_EACH)
		region->each[region->complete] =
			now[USER] - region->at_begin[USER] + now[KERNEL] - region->at_begin[KERNEL];
	region->complete++;
	for (i = 0; i < COUNTERS; i++)
		region->sum[i] += now[i] - region->at_begin[i];
}

/* Group 15 and group 9 with an operand in memory: saving and restoring the FPU's state. */
static enum counter classify_fpu(unsigned char opcode, unsigned char modrm, const struct decoded *d)
{
	int field = modrm >> 3 & 7;

	if (modrm >> 6 == 3 || d->rep || d->operand16)
		return NOTHING;
	if (opcode == 0xae) /* fxsave 0, xsave 4, xsaveopt 6; fxrstor 1, xrstor 5 */
		return field == 0 || field == 4 || field == 6 ? FPU_SAVES
		       : field == 1 || field == 5             ? FPU_RESTORES
							      : NOTHING;
	return field == 4 || field == 5 ? FPU_SAVES : field == 3 ? FPU_RESTORES : NOTHING; /* xsavec, xsaves, xrstors */
}

static enum counter classify_two_bytes(const struct decoded *d)
{
	unsigned char opcode = d->op[1], modrm = d->op[2];

	switch (opcode) {
	case 0x05:
	case 0x34:
		return SYSCALLS;
	case 0x07:
	case 0x35:
		return SYSRETS;
	case 0x22:
		return (modrm >> 3 & 7) == 3 ? CR3_WRITES : NOTHING;
	case 0x01:
		if (modrm == 0xf8)
			return SWAPGS;
		if (modrm == 0xf9)
			return RDTSC; /* rdtscp */
		return modrm >> 6 != 3 && (modrm >> 3 & 7) == 7 ? INVLPG : NOTHING;
	case 0xae:
	case 0xc7:
		return classify_fpu(opcode, modrm, d);
	case 0x30:
		return WRMSR;
	case 0x31:
		return RDTSC;
	case 0xa2:
		return CPUID;
	default:
		return NOTHING;
	}
}

static enum counter classify(const struct decoded *d)
{
	unsigned char op = d->op[0];

	if (op == 0x0f)
		return classify_two_bytes(d);
	if (is_repeated(d))
		return REP_ITERATIONS;
	switch (op) {
	case 0xcc:
	case 0xcd:
		return INTS;
	case 0xcf:
		return IRETS;
	case 0xfa:
		return CLI;
	case 0xfb:
		return STI;
	case 0xf4:
		return HLT;
	case 0x6c:
	case 0x6d:
	case 0x6e:
	case 0x6f:
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
	case 0xec:
	case 0xed:
	case 0xee:
	case 0xef:
		return PORT_IO;
	default:
		return NOTHING;
	}
}

static void instrument(struct qemu_plugin_insn *insn, int ring)
{
	unsigned char bytes[MAX_INSN + 3] = { 0 };
	size_t n = copy_bytes(insn, bytes, MAX_INSN);
	unsigned long marker = marker_of(bytes, n);
	struct decoded d = skip_prefixes(bytes);
	enum counter class = classify(&d);

	if (marker >> 16 == MARK_BEGIN || marker >> 16 == MARK_END)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, marker >> 16 == MARK_BEGIN ? at_begin : at_end,
						       QEMU_PLUGIN_CB_NO_REGS, region_of(marker & 0xffff));
	count_at(insn, (ring == LONG_MODE ? qemu_plugin_insn_vaddr(insn) >> 63 : ring < 3) ? KERNEL : USER);
	if (class != NOTHING)
		count_at(insn, class);
	if (d.lock)
		count_at(insn, LOCKED);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	int ring = ring_of_translation();

	(void)id;
	for (i = 0; i < n; i++)
		instrument(qemu_plugin_tb_get_insn(tb, i), ring);
}

static void write_region(FILE *to, unsigned int id, const struct region *region, const char *separator)
{
	uint64_t n;
	int i;

	fprintf(to,
		"%s\n\"%u\": {\"complete\": %" PRIu64 ", \"cut_off\": %" PRIu64
		", \"counts\": {\"instructions\": %" PRIu64,
		separator, id, region->complete, (region->cut_off + (uint64_t)region->open),
		(region->sum[USER] + region->sum[KERNEL]));
	for (i = 0; i < COUNTERS; i++)
		fprintf(to, ", \"%s\": %" PRIu64, counter_names[i], region->sum[i]);
	fputs("}, \"each\": [", to);
	for (n = 0; n < region->complete && n < MAX_EACH; n++)
		fprintf(to, "%s%" PRIu64, n ? ", " : "", region->each[n]);
	fputs("]}", to);
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

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int i;

	if (strcmp(info->target_name, "x86_64") != 0 || !info->system_emulation) {
		fprintf(stderr, "events plugin: made for x86_64 system emulation, not for %s\n", info->target_name);
		return -1;
	}
	for (i = 0; i < argc; i++)
		if (strncmp(argv[i], "out=", 4) == 0)
			file_name = strdup(argv[i] + 4);
	if (file_name == NULL) {
		fputs("events plugin: out=PATH is missing\n", stderr);
		return -1;
	}
	counters_open();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
