/* marker.c: the instructions that begin and end a timed region and name it: harmless ones that compilers never emit,
 * which an emulator's plugin finds during translation (src/kernometer/guests/plugins/decode.h).
 *
 *   x86      nopl disp32(%rax)   the displacement is 0x4b4d0000 or 0x4b4e0000 and the region
 *   aarch64  movz xzr, #imm16    0x4000 or 0x8000 and the region
 *   riscv64  lui x0, imm20       0x40000 or 0x80000 and the region
 *
 * The number is part of the instruction, so a table has one stub (8 bytes: the instruction and a return) for each
 * region, written as numbers because not every assembler has the mnemonics. */
#include "engine.h"

#if defined(__x86_64__) || defined(__i386__)
#define BEGIN "0x4b4d0000"
#define END "0x4b4e0000"
#define STUB(kind) ".byte 0x0f, 0x1f, 0x80\n.long " kind " + km_region_number\n.byte 0xc3\n"
#elif defined(__aarch64__)
#define BEGIN "0x4000"
#define END "0x8000"
#define STUB(kind) ".long 0xd280001f + ((" kind " + km_region_number) << 5)\n.long 0xd65f03c0\n"
#elif defined(__riscv) && __riscv_xlen == 64
#define BEGIN "0x40000"
#define END "0x80000"
#define STUB(kind) ".long 0x37 + ((" kind " + km_region_number) << 12)\n.long 0x8067\n"
#endif

#ifdef STUB
#define FIRST ".set km_region_number, 0\n"
#define NEXT ".set km_region_number, km_region_number + 1\n"
#define STUBS(kind) FIRST ".rept 2048\n" STUB(kind) NEXT ".endr\n"

/* Global: for a local symbol the assembler names the section instead, whose one entry in aarch64's global offset table
 * both would share. Counts by path of fork and exec depend on how the image lies in pages: with this alignment each of
 * its segments begins at the page where it began in 0.1.1. */
__asm__(".text\n.balign 2048\n.globl km_begin_stubs, km_end_stubs\n"
	"km_begin_stubs:\n" STUBS(BEGIN) "km_end_stubs:\n" STUBS(END));

/* Declared with exactly the names above: on macOS the symbol of a C name begins with an underscore. */
extern const char km_begin_stubs[] __asm__("km_begin_stubs"), km_end_stubs[] __asm__("km_end_stubs");

/* Makes a function pointer from an address: ISO C has no such cast; POSIX's dlsym needs the same. */
static void call_stub(const char *stubs, unsigned region)
{
	union {
		uintptr_t address;
		void (*call)(void);
	} stub;

	stub.address = (uintptr_t)stubs + 8 * (uintptr_t)(region < MAX_REGIONS ? region : 0);
	stub.call();
}

void mark_begin(unsigned region)
{
	call_stub(km_begin_stubs, region);
}

void mark_end(unsigned region)
{
	call_stub(km_end_stubs, region);
}

#else /* this processor has no marker: a plugin sees no regions */

void mark_begin(unsigned region)
{
	(void)region;
}

void mark_end(unsigned region)
{
	(void)region;
}

#endif
