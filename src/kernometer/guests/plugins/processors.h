/* processors.h: as which events an instruction counts, by the guest's processor, and which ones mark a region. */
#ifndef KM_PROCESSORS_H
#define KM_PROCESSORS_H

#include "decode.h"
#include "qemu_api.h"

#define USER 0u
#define KERNEL 1u
#define CLASS(counter) (1u << (counter))

struct processor {
	const char *target;       /* QEMU's name */
	const char *const *names; /* of its counters, USER and KERNEL first; NULL at the end; MAX_COUNTERS at most */
	unsigned long (*marker_of)(const unsigned char *bytes, size_t n); /* one MARK_* << 16 | region; 0 */
	int (*in_kernel)(uint64_t address, int ring);
	unsigned int (*classify)(const unsigned char *bytes, int kernel); /* a set of its counters */
};

/* x86-64. */

enum x86_counter {
	SYSCALLS = 2,
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
	NOTHING
};

static const char *const x86_names[] = {
	"user",   "kernel",    "syscalls",     "sysrets", "ints", "irets",  "cr3_writes",
	"swapgs", "fpu_saves", "fpu_restores", "cli",     "sti",  "rdtsc",  "rep_iterations",
	"wrmsr",  "invlpg",    "cpuid",        "port_io", "hlt",  "locked", NULL,
};

/* Group 15 and group 9 with an operand in memory: saving and restoring the FPU's state. */
static enum x86_counter classify_fpu(unsigned char opcode, unsigned char modrm, const struct decoded *d)
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

static enum x86_counter classify_two_bytes(const struct decoded *d)
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

static enum x86_counter x86_class(const struct decoded *d)
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

static unsigned int x86_classify(const unsigned char *bytes, int kernel)
{
	struct decoded d = skip_prefixes(bytes);
	enum x86_counter class = x86_class(&d);

	(void)kernel;
	return (class != NOTHING ? CLASS(class) : 0) | (d.lock ? CLASS(LOCKED) : 0);
}

/* The others: instructions of 32 bits, or of 16 on RISC-V, and a kernel in the upper half. */

static uint32_t word_of(const unsigned char *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int in_upper_half(uint64_t address, int ring)
{
	(void)ring;
	return (int)(address >> 63);
}

/* aarch64 (Arm Architecture Reference Manual, C4.1). An eret ends a system call or another exception; atomics are
 * stores of an exclusive pair, compare and swap, and atomic operations in memory. */

enum aarch64_counter { A_SYSCALLS = 2, A_ERETS, A_TTBR_WRITES, A_TLBI, A_CNTVCT, A_WFI, A_ATOMICS };

static const char *const aarch64_names[] = { "user", "kernel", "syscalls", "erets",   "ttbr_writes",
					     "tlbi", "cntvct", "wfi",      "atomics", NULL };

static unsigned long aarch64_marker_of(const unsigned char *bytes, size_t n)
{
	uint32_t word = word_of(bytes), kind = word >> 19 & 3;

	if (n != 4 || (word & 0xffe0001f) != 0xd280001f || kind == 0)
		return 0;
	return (MARK_BEGIN + kind - 1) << 16 | (word >> 5 & 0x3fff);
}

static unsigned int aarch64_classify(const unsigned char *bytes, int kernel)
{
	uint32_t word = word_of(bytes);

	(void)kernel;
	if ((word & 0xffe0001f) == 0xd4000001)
		return CLASS(A_SYSCALLS);
	if (word == 0xd69f03e0 || word == 0xd69f0bff || word == 0xd69f0fff)
		return CLASS(A_ERETS);
	if ((word & 0xffffffc0) == 0xd5182000) /* TTBR0_EL1, TTBR1_EL1 */
		return CLASS(A_TTBR_WRITES);
	if ((word & 0xfff8f000) == 0xd5088000)
		return CLASS(A_TLBI);
	if ((word & 0xffffffe0) == 0xd53be040)
		return CLASS(A_CNTVCT);
	if (word == 0xd503207f)
		return CLASS(A_WFI);
	if ((word & 0x3fc00000) == 0x08000000 || (word & 0x3fa07c00) == 0x08a07c00 || (word & 0x3f200c00) == 0x38200000)
		return CLASS(A_ATOMICS);
	return 0;
}

/* riscv64 (The RISC-V Instruction Set Manual). Its firmware, which the kernel calls, has the first 2 MiB of the memory
 * and no translation; no program of ours is there. Atomics are conditional stores and atomic operations in memory. */

#define FIRMWARE 0x80000000u
#define FIRMWARE_BYTES 0x200000u

enum riscv64_counter { R_SYSCALLS = 2, R_SBI_CALLS, R_SRETS, R_SATP_WRITES, R_SFENCES, R_RDTIME, R_WFI, R_ATOMICS };

static const char *const riscv64_names[] = { "user",    "kernel", "syscalls", "sbi_calls", "srets", "satp_writes",
					     "sfences", "rdtime", "wfi",      "atomics",   NULL };

static int riscv64_in_kernel(uint64_t address, int ring)
{
	(void)ring;
	return address >> 63 || address - FIRMWARE < FIRMWARE_BYTES;
}

static unsigned long riscv64_marker_of(const unsigned char *bytes, size_t n)
{
	uint32_t word = word_of(bytes), kind = word >> 30;

	if (n != 4 || (word & 0xfff) != 0x37 || kind == 0)
		return 0;
	return (MARK_BEGIN + kind - 1) << 16 | (word >> 12 & 0xffff);
}

static unsigned int riscv64_classify(const unsigned char *bytes, int kernel)
{
	uint32_t word = word_of(bytes), csr = word >> 20, form = word >> 12 & 7;

	if ((word & 0x7f) == 0x2f)
		return word >> 27 == 2 ? 0 : CLASS(R_ATOMICS);
	if ((word & 0x7f) != 0x73)
		return 0;
	if (word == 0x00000073)
		return CLASS(kernel ? R_SBI_CALLS : R_SYSCALLS);
	if (word == 0x10200073)
		return CLASS(R_SRETS);
	if (word == 0x10500073)
		return CLASS(R_WFI);
	if ((word & 0xfe007fff) == 0x12000073)
		return CLASS(R_SFENCES);
	if (csr == 0x180 && form == 1)
		return CLASS(R_SATP_WRITES);
	return csr == 0xc01 && form != 0 ? CLASS(R_RDTIME) : 0;
}

static const struct processor processors[] = {
	{ "x86_64", x86_names, marker_of, x86_in_kernel, x86_classify },
	{ "aarch64", aarch64_names, aarch64_marker_of, in_upper_half, aarch64_classify },
	{ "riscv64", riscv64_names, riscv64_marker_of, riscv64_in_kernel, riscv64_classify },
};

/* NULL for another target. */
static inline const struct processor *processor_of(const char *target)
{
	size_t i;

	for (i = 0; i < sizeof processors / sizeof processors[0]; i++)
		if (strcmp(processors[i].target, target) == 0)
			return &processors[i];
	return NULL;
}

#endif
