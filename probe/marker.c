/* marker.c: the instructions that begin and end a timed region and name it: harmless ones that compilers never emit,
 * which an emulator's plugin finds during translation (src/kernometer/guests/plugins/decode.h).
 *
 *   x86      nopl disp32(%rax)   the displacement is 0x4b4d0000 or 0x4b4e0000 and the region
 *   aarch64  movz xzr, #imm16    0x4000 or 0x8000 and the region
 *   riscv64  lui x0, imm20       0x40000 or 0x80000 and the region
 *
 * A third one, 0x4b4f0000, 0xc000 or 0xc0000, says that this program waits (wait.c): the register rax, x0 or a0 then
 * has the address of its room.
 *
 * The number is part of the instruction, so a table has one stub (8 bytes: the instruction and a return) for each
 * region, written as numbers because not every assembler has the mnemonics. */
#include "engine.h"

#if defined(__x86_64__) || defined(__i386__)
#define BEGIN "0x4b4d0000"
#define END "0x4b4e0000"
#define STUB(kind) ".byte 0x0f, 0x1f, 0x80\n.long " kind " + km_region_number\n.byte 0xc3\n"
#define READY "0x4b4f0000"
#if defined(__x86_64__)
#define READY_STUB ".byte 0x48, 0x89, 0xf8\n" STUB(READY) /* mov %rdi, %rax */
#else
#define READY_STUB ".byte 0x8b, 0x44, 0x24, 0x04\n" STUB(READY) /* mov 4(%esp), %eax */
#endif
#elif defined(__aarch64__)
#define BEGIN "0x4000"
#define END "0x8000"
#define STUB(kind) ".long 0xd280001f + ((" kind " + km_region_number) << 5)\n.long 0xd65f03c0\n"
#define READY_STUB STUB("0xc000")
#elif defined(__riscv) && __riscv_xlen == 64
#define BEGIN "0x40000"
#define END "0x80000"
#define STUB(kind) ".long 0x37 + ((" kind " + km_region_number) << 12)\n.long 0x8067\n"
#define READY_STUB STUB("0xc0000")
#endif

#if defined(__x86_64__) || defined(__i386__)
#define RETURN 7 /* where it is in a stub */
#else
#define RETURN 4
#endif

#ifdef STUB
#define FIRST ".set km_region_number, 0\n"
#define NEXT ".set km_region_number, km_region_number + 1\n"
#define STUBS(kind) FIRST ".rept 2048\n" STUB(kind) NEXT ".endr\n"

/* Global: for a local symbol the assembler names the section instead, whose one entry in aarch64's global offset table
 * both would share. Counts by path of fork and exec depend on how the image lies in pages: with this alignment each of
 * its segments begins at the page where it began in 0.1.1. */
__asm__(".text\n.balign 4096\n.globl km_begin_stubs, km_end_stubs\n"
	"km_begin_stubs:\n" STUBS(BEGIN) "km_end_stubs:\n" STUBS(END) FIRST
	".globl km_ready_stub\nkm_ready_stub:\n" READY_STUB);

/* Declared with exactly the names above: on macOS the symbol of a C name begins with an underscore. */
extern const char km_begin_stubs[] __asm__("km_begin_stubs"), km_end_stubs[] __asm__("km_end_stubs");
extern const char km_ready_stub[] __asm__("km_ready_stub");

/* Makes a function pointer from an address: ISO C has no such cast; POSIX's dlsym needs the same. */
union stub {
	uintptr_t address;
	void (*call)(void);
	void (*call_with)(char *);
};

static void call_stub(const char *stubs, unsigned region)
{
	union stub stub;

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

#if KM_TOUCH_CODE
/* Calls the return of a stub in each page, which may not be read: OpenBSD's code is execute-only. */
void touch_markers(void)
{
	const char *at;

	for (at = km_begin_stubs; at < km_ready_stub; at += 4096) {
		union stub stub;

		stub.address = (uintptr_t)at + RETURN;
		stub.call();
	}
	(void)clock_cycles();
}
#endif

int mark_ready(char *room)
{
	union stub stub;

	stub.address = (uintptr_t)km_ready_stub;
	stub.call_with(room);
	return 0;
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

#if KM_TOUCH_CODE
void touch_markers(void)
{
}
#endif

int mark_ready(char *room)
{
	(void)room;
	return -1;
}

#endif
