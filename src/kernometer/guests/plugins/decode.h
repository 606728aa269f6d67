/* decode.h: what the plugins know of an x86-64 instruction's bytes: its prefixes, and whether it is a region's marker
 * (docs/architecture.md, "Region markers"). */
#ifndef KM_DECODE_H
#define KM_DECODE_H

#include <stddef.h>

#define MARK_BEGIN 0x4B4Du
#define MARK_END 0x4B4Eu
#define MARK_READY 0x4B4Fu
#define REGIONS 0x10000u
#define MAX_INSN 15

/* Prefixes of an instruction (of REX the last), and what follows. */
struct decoded {
	int rep, lock, operand16;
	unsigned char rex;
	const unsigned char *op; /* up to three bytes; missing ones are 0 */
};

static inline struct decoded skip_prefixes(const unsigned char *bytes)
{
	struct decoded d = { 0, 0, 0, 0, bytes };

	for (;; d.op++) {
		unsigned char b = *d.op;

		if (b == 0xf2 || b == 0xf3)
			d.rep = 1;
		else if (b == 0xf0)
			d.lock = 1;
		else if (b == 0x66)
			d.operand16 = 1;
		else if ((b & 0xf0) == 0x40)
			d.rex = b;
		else if (b != 0x67 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 && b != 0x64 && b != 0x65)
			return d;
	}
}

/* A string instruction with a `rep` prefix, each iteration of which is executed as an instruction. */
static inline int is_repeated(const struct decoded *d)
{
	unsigned char op = d->op[0];

	return d->rep && ((op >= 0x6c && op <= 0x6f) || (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf));
}

/* A reading of the processor's clock: rdtsc, rdtscp. */
static inline int reads_clock(const struct decoded *d)
{
	return d->op[0] == 0x0f && (d->op[1] == 0x31 || (d->op[1] == 0x01 && d->op[2] == 0xf9));
}

/* The displacement of `nopl disp32(%rax)`, or 0. */
static inline unsigned long marker_of(const unsigned char *b, size_t n)
{
	if (n != 7 || b[0] != 0x0f || b[1] != 0x1f || b[2] != 0x80)
		return 0;
	return (unsigned long)b[3] | (unsigned long)b[4] << 8 | (unsigned long)b[5] << 16 | (unsigned long)b[6] << 24;
}

#endif
