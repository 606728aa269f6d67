/* loader_blocks.h: the arguments that boot(8) and loader(8) give their kernels, as bytes; a test on the host compares
 * them. Each function returns the place after what it wrote.
 *
 * Sources: OpenBSD 7.8, sys/stand/boot/bootarg.h (bootarg32_t), sys/arch/amd64/include/biosvar.h (BOOTARG_*,
 * bios_memmap_t, bios_consdev_t), getbootinfo() of sys/arch/amd64/amd64/machdep.c; FreeBSD 13, sys/sys/linker.h and
 * sys/x86/include/metadata.h (MODINFO_*, MODINFOMD_*), bi_load64() of stand/i386/libi386/bootinfo64.c. */
#include <stddef.h>
#include <stdint.h>

enum { BOOTARG_MEMMAP = 0, BOOTARG_CONSDEV = 5, BOOTARG_END = -1 };
enum { COM0 = 8 << 8, SPEED = 115200, PORT = 0x3f8 };
enum { MODINFO_END, MODINFO_NAME, MODINFO_TYPE, MODINFO_ADDR, MODINFO_SIZE };
enum {
	MODINFOMD_ENVP = 0x8006,
	MODINFOMD_HOWTO,
	MODINFOMD_KERNEND,
	MODINFOMD_SMAP = 0x9001,
	MODINFOMD_MODULEP = 0x9006
};

/* The firmware's memory map as multiboot has it (Multiboot Specification 0.6.96, 3.3): entries of a size that does not
 * count itself, a base, bytes, and a type. */
struct map {
	const uint8_t *first;
	uint32_t bytes;
};

/* A file where its kernel wants it, at a physical address. */
struct file {
	const char *name, *kind;
	uint32_t address, bytes;
};

/* What FreeBSD's kernel is told besides its files. */
struct told {
	uint32_t howto, environment, metadata, end;
};

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		*to++ = (uint8_t)(value >> 8 * i);
	return to;
}

/* The entries as both systems have them, without their sizes. */
static uint8_t *put_map(uint8_t *to, struct map map)
{
	for (uint32_t at = 0; at < map.bytes; at += 4u + map.first[at])
		for (uint32_t i = 4; i < 24; i++)
			*to++ = map.first[at + i];
	return to;
}

static uint8_t *put_argument(uint8_t *to, int type, uint32_t bytes)
{
	return put(put(put(to, (uint32_t)type, 4), 12 + bytes, 4), 0, 4);
}

/* The memory map, which an entry of type 0 ends, and the serial line as the console. */
static uint8_t *openbsd_arguments(uint8_t *to, struct map map)
{
	uint8_t *at = put(put(put(put_map(to + 12, map), 0, 8), 0, 8), 0, 4);

	put_argument(to, BOOTARG_MEMMAP, (uint32_t)(at - to) - 12);
	at = put_argument(at, BOOTARG_CONSDEV, 32);
	at = put(put(put(put(put(at, COM0, 4), SPEED, 4), PORT, 8), 0, 8), 0, 8);
	return put(put_argument(at, BOOTARG_END, 4), 0, 4);
}

/* A record's end: its head, and zeros up to a multiple of eight bytes. */
static uint8_t *put_record(uint8_t *to, uint32_t type, const uint8_t *end)
{
	uint32_t bytes = (uint32_t)(end - to) - 8;

	put(put(to, type, 4), bytes, 4);
	return put(to + 8 + bytes, 0, (int)(-bytes & 7));
}

static uint8_t *put_text(uint8_t *to, uint32_t type, const char *text)
{
	uint8_t *at = to + 8;

	do
		*at++ = (uint8_t)*text;
	while (*text++);
	return put_record(to, type, at);
}

static uint8_t *put_number(uint8_t *to, uint32_t type, uint32_t value, int bytes)
{
	return put_record(to, type, put(to + 8, value, bytes));
}

/* The first file is the kernel. */
static uint8_t *freebsd_metadata(uint8_t *to, const struct file *files, uint32_t count, struct told told,
				 struct map map)
{
	for (uint32_t i = 0; i < count; i++) {
		to = put_text(put_text(to, MODINFO_NAME, files[i].name), MODINFO_TYPE, files[i].kind);
		to = put_number(put_number(to, MODINFO_ADDR, files[i].address, 8), MODINFO_SIZE, files[i].bytes, 8);
		if (i > 0)
			continue;
		to = put_number(to, MODINFOMD_HOWTO, told.howto, 4);
		to = put_number(to, MODINFOMD_ENVP, told.environment, 8);
		to = put_number(to, MODINFOMD_KERNEND, told.end, 8);
		to = put_number(to, MODINFOMD_MODULEP, told.metadata, 8);
		to = put_record(to, MODINFOMD_SMAP, put_map(to + 8, map));
	}
	return put(to, MODINFO_END, 8);
}

/* Each word NAME=VALUE of a command line, with a NUL after it and one at the end. */
static uint8_t *freebsd_environment(uint8_t *to, const char *words)
{
	uint8_t *begin = to;

	for (int assigns = 0;; words++) {
		assigns |= *words == '=';
		if (*words && *words != ' ') {
			*to++ = (uint8_t)*words;
			continue;
		}
		to = assigns ? put(to, 0, 1) : begin;
		begin = to;
		assigns = 0;
		if (!*words)
			return put(to, 0, 1);
	}
}
