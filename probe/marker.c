/* marker.c: the long NOPs that begin and end a timed region and name it by their displacement.
 *
 * `0F 1F 80 disp32` is nopl disp32(%rax): one harmless instruction on any x86 kernel, which an emulator's plugin finds
 * during translation. The displacement is part of the instruction, so a table has one stub (8 bytes: the NOP and a
 * return) for each region, written as bytes because not every assembler has the mnemonic. */
#include "engine.h"

#if defined(__x86_64__) || defined(__i386__)

__asm__(".text\n"
	".balign 16\n"
	"km_begin_stubs:\n"
	".set km_region_number, 0\n"
	".rept 2048\n"
	".byte 0x0f, 0x1f, 0x80\n"
	".long 0x4b4d0000 + km_region_number\n"
	".byte 0xc3\n"
	".set km_region_number, km_region_number + 1\n"
	".endr\n"
	"km_end_stubs:\n"
	".set km_region_number, 0\n"
	".rept 2048\n"
	".byte 0x0f, 0x1f, 0x80\n"
	".long 0x4b4e0000 + km_region_number\n"
	".byte 0xc3\n"
	".set km_region_number, km_region_number + 1\n"
	".endr\n");

/* By exactly the names above: on macOS the symbol of a C name has an underscore before it. */
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
