/* loader.c: starts the kernels of OpenBSD and FreeBSD for amd64, which have no multiboot header, as boot(8) and
 * loader(8) do. QEMU loads it as a multiboot kernel; its first module is the kernel's ELF file, a second one FreeBSD's
 * root in memory (mfs_root).
 *
 * A kernel goes where it is linked less 0xffffffff80000000, below this program; what it is told follows it there.
 * Sources besides those of loader_blocks.h: OpenBSD 7.8, run_loadfile() of sys/arch/amd64/stand/libsa/exec_i386.c and
 * start of sys/arch/amd64/amd64/locore0.S; FreeBSD 13, stand/i386/libi386/elf64_freebsd.c, amd64_tramp.S, and btext of
 * sys/amd64/amd64/locore.S. */
#include "loader_blocks.h"

/* As programs.py links it: below are the kernel and what it gets, above the modules, as QEMU places them. */
#define BASE 0x10000000u
#define PAGE 4096u

enum { PT_LOAD = 1, EI_OSABI = 7, ELFOSABI_FREEBSD = 9 };

struct elf {
	uint8_t ident[16];
	uint32_t type, version;
	uint64_t entry, headers, sections;
	uint32_t flags;
	uint16_t size, header_size, header_count;
};
struct header {
	uint32_t kind, flags;
	uint64_t offset, address, physical, file_bytes, memory_bytes, align;
};

/* Multiboot Specification 0.6.96, 3.3. */
struct information {
	uint32_t flags, lower_kib, upper_kib, device, command_line, count, modules, symbols[4], map_bytes, map;
};
struct module {
	uint32_t start, end, words, reserved;
};
#define MAGIC 0x1badb002u
#define FLAGS 3u /* modules at pages, and a memory map */
__attribute__((used, aligned(4))) static const uint32_t multiboot[] = { MAGIC, FLAGS, -(MAGIC + FLAGS) };

/* tables[0] maps by tables[1], which maps by tables[2]: every GiB is the first one. */
static uint64_t tables[3][PAGE / 8] __attribute__((aligned(PAGE), used));

/* The kernel finds the first two arguments on the stack, where they stay; the entry is in the uppermost 2 GiB. */
void enter_freebsd(uint32_t metadata, uint32_t end, uint32_t entry) __attribute__((noreturn));

__asm__(".pushsection .text\n\t"
	".globl _start\n"
	"_start:\n\t"
	"movl $stack_end, %esp\n\t"
	"pushl %ebx\n\t"
	"call load\n"
	"enter_freebsd:\n\t"
	"movl %cr4, %eax\n\t"
	"orl $0x20, %eax\n\t" /* CR4.PAE */
	"movl %eax, %cr4\n\t"
	"movl $tables, %eax\n\t"
	"movl %eax, %cr3\n\t"
	"movl $0xc0000080, %ecx\n\t" /* EFER */
	"rdmsr\n\t"
	"orl $0x100, %eax\n\t" /* LME */
	"wrmsr\n\t"
	"movl %cr0, %eax\n\t"
	"orl $0x80000000, %eax\n\t" /* CR0.PG */
	"movl %eax, %cr0\n\t"
	"lgdt gdt_place\n\t"
	"ljmp $8, $1f\n\t"
	".code64\n"
	"1:\n\t"
	"movl %esp, %esp\n\t"
	"movslq 12(%rsp), %rax\n\t"
	"jmp *%rax\n\t"
	".code32\n"
	"gdt: .quad 0, 0x00209a0000000000\n" /* code of 64 bits */
	"gdt_place: .word 15\n\t"
	".long gdt\n\t"
	".popsection\n\t"
	".lcomm stack, 8192\n\t"
	".set stack_end, stack + 8192\n\t");

/* On the serial line, which needs no waiting in an emulator. */
static __attribute__((noreturn)) void panic(const char *why)
{
	for (; *why; why++)
		__asm__ volatile("outb %0, %1" : : "a"(*why), "Nd"((uint16_t)PORT));
	for (;;)
		__asm__ volatile("cli; hlt");
}

/* Of which the compiler knows nothing: it takes a constant address for a mistake. */
static void *at_address(uint32_t address)
{
	__asm__("" : "+r"(address));
	return (void *)(uintptr_t)address;
}

static uint32_t address_of(const void *place)
{
	return (uint32_t)(uintptr_t)place;
}

static uint32_t page_after(uint32_t address)
{
	return (address + PAGE - 1) & -PAGE;
}

/* Bytes from a file, and zeros after them, to where only the kernel and what it gets may be. */
static void place(uint32_t to, const void *from, uint32_t bytes, uint32_t zeros)
{
	if (to < 0x100000 || to > BASE || bytes > BASE - to || zeros > BASE - to - bytes)
		panic("panic: the kernel and what it gets do not fit below 256 MiB\n");
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(zeros) : "a"(0) : "memory");
}

/* Copies the segments; the kernel as a file in memory. */
static struct file placed(const uint8_t *start, const struct elf *elf)
{
	struct file kernel = { "kernel", "elf kernel", BASE, 0 };
	uint32_t end = 0;

	for (uint32_t i = 0; i < elf->header_count; i++) {
		const struct header *each = (const void *)(start + elf->headers + i * elf->header_size);
		uint32_t to = (uint32_t)each->address & 0x7fffffff, bytes = (uint32_t)each->memory_bytes;

		if (each->kind != PT_LOAD)
			continue;
		place(to, start + each->offset, (uint32_t)each->file_bytes, bytes - (uint32_t)each->file_bytes);
		kernel.address = to < kernel.address ? to : kernel.address;
		end = to + bytes > end ? to + bytes : end;
	}
	kernel.bytes = end - kernel.address;
	return kernel;
}

typedef void openbsd_start(uint32_t howto, uint32_t device, uint32_t version, uint32_t symbols, uint32_t upper_kib,
			   uint32_t lower_kib, uint32_t bytes, const uint8_t *arguments);

/* Without symbols for its debugger. The device is wd0a, for a kernel whose root is not compiled in. */
static void start_openbsd(uint32_t entry, const struct information *given, struct map map)
{
	enum { WD0A = 0xa0000000, VECTOR_AND_BYTES = 2 | 8 };
	static uint8_t room[PAGE];
	openbsd_start *start = (openbsd_start *)at_address(entry & 0x7fffffff);

	start(0, WD0A, VECTOR_AND_BYTES, 0, given->upper_kib, given->lower_kib,
	      (uint32_t)(openbsd_arguments(room, map) - room), room);
}

static void start_freebsd(uint32_t entry, struct file kernel, const struct information *given, struct map map)
{
	enum { RB_SERIAL = 0x1000 };
	const struct module *root = (const struct module *)at_address(given->modules) + 1;
	uint32_t at = page_after(kernel.address + kernel.bytes), count = given->count > 1 ? 2 : 1;
	struct file files[2] = { kernel, { "root", "mfs_root", at, count > 1 ? root->end - root->start : 0 } };
	struct told told = { RB_SERIAL, 0, 0, 0 };

	if (count > 1)
		place(at, at_address(root->start), files[1].bytes, 0);
	at = page_after(at + files[1].bytes);
	place(at, at_address(at), 0, 16 * PAGE); /* room for what it is told */
	told.environment = at;
	told.metadata = page_after(address_of(freebsd_environment(at_address(at), at_address(given->command_line))));
	for (int i = 0; i < 2; i++) /* the second time its own end is known */
		told.end = page_after(address_of(freebsd_metadata(at_address(told.metadata), files, count, told, map)));
	for (uint32_t i = 0; i < PAGE / 8; i++) { /* writable, present; the last ones of 2 MiB */
		tables[0][i] = address_of(tables[1]) | 3u;
		tables[1][i] = address_of(tables[2]) | 3u;
		tables[2][i] = i << 21 | 0x83u;
	}
	enter_freebsd(told.metadata, told.end, entry);
}

__attribute__((used)) static void load(const struct information *given)
{
	const struct module *first = at_address(given->modules);
	const struct elf *elf = at_address(first->start);
	struct map map = { at_address(given->map), given->map_bytes };
	struct file kernel = placed(at_address(first->start), elf);

	if (elf->ident[EI_OSABI] == ELFOSABI_FREEBSD)
		start_freebsd((uint32_t)elf->entry, kernel, given, map);
	else
		start_openbsd((uint32_t)elf->entry, given, map);
	panic("panic: the kernel returned\n");
}
