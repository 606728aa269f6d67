/* Stands in for a BSD's kernel, for test_loader.py: OpenBSD's, which is entered in 32 bits without paging, or with
 * FREEBSD that, entered in 64 bits at its own addresses. It does as tiny.c with TEXT, but ~ is replaced by what it was
 * given, in hexadecimal: the arguments, then the bytes at the addresses among them, as each kernel's own code finds
 * them, and the bytes of its segment `random` and of its bss. */
#define LOADED
#ifndef TEXT
#define TEXT "" /* the test says what it prints */
#endif
#include "tiny.c"

static char told[16384];
static unsigned int used, zeros[2];
extern const unsigned char random[8];

static void tell(const void *from, unsigned int bytes)
{
	const unsigned char *at = from;

	for (; bytes > 0 && used + 3 < sizeof told; at++, bytes--) {
		told[used++] = "0123456789abcdef"[*at >> 4];
		told[used++] = "0123456789abcdef"[*at & 15];
	}
}

static void tell_number(unsigned int number)
{
	tell(&number, sizeof number);
}

__attribute__((used, noreturn)) static void told_all(void)
{
	const struct information given = { .command_line = told };

	kernel_main(&given);
	for (;;)
		;
}

#ifdef FREEBSD
__asm__(".pushsection .text\n\t"
	".globl _start\n"
	"_start:\n\t"
	"movl 4(%rsp), %edi\n\t"
	"movl 8(%rsp), %esi\n\t"
	"movabsq $stack + 8192, %rsp\n\t"
	"call started\n\t"
	".popsection\n\t"
	".lcomm stack, 8192\n\t");

static const unsigned char *mapped(unsigned int address)
{
	return (const unsigned char *)(0xffffffff80000000UL + address);
}

static unsigned int word(unsigned int address)
{
	return *(const unsigned int *)mapped(address);
}

/* Each record is a type, a number of bytes, and these up to a multiple of eight. */
__attribute__((used)) void started(unsigned int metadata, unsigned int end)
{
	unsigned int at = metadata, environment = 0, root = 0, length;

	tell_number(metadata);
	tell_number(end);
	while (word(at) != 0) {
		environment = word(at) == 0x8006 ? word(at + 8) : environment;
		root = word(at) == 3 ? word(at + 8) : root;
		at += 8 + ((word(at + 4) + 7) & ~7u);
	}
	tell(mapped(metadata), at + 8 - metadata);
	for (length = 0; mapped(environment)[length] || mapped(environment)[length + 1];)
		length++;
	tell(mapped(environment), length + 2);
	tell(mapped(root), 8);
	tell(zeros, sizeof zeros);
	told_all();
}
#else
__attribute__((used)) void _start(unsigned int howto, unsigned int device, unsigned int version, unsigned int symbols,
				  unsigned int upper, unsigned int lower, unsigned int bytes,
				  const unsigned char *arguments)
{
	tell_number(howto);
	tell_number(device);
	tell_number(version);
	tell_number(symbols);
	tell_number(upper);
	tell_number(lower);
	tell_number(bytes);
	tell(arguments, bytes);
	tell(random, sizeof random);
	tell(zeros, sizeof zeros);
	told_all();
}
#endif
