/* init_port.c: the emulator's devices that init itself uses, by architecture: one that takes the output byte by byte,
 * and the one that holds its command (QEMU, docs/specs/fw_cfg.rst). A process of the kernel's would need a driver for
 * them, whose interrupts would continue in the timed regions of the next row. */
#include "init.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#include <sys/io.h>

#define BULK_PORT 0xe9 /* isa-debugcon */
#define SELECTOR 0x510
#define DATA 0x511

int open_output(void)
{
	return ioperm(BULK_PORT, 1, 1) == 0;
}

void put_output(const char *text, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(text), "+c"(n) : "d"(BULK_PORT) : "memory");
}

int open_files(void)
{
	return ioperm(SELECTOR, 2, 1) == 0 ? 0 : errno;
}

void select_file(unsigned int key)
{
	outw((uint16_t)key, SELECTOR);
}

void take_file(void *to, size_t n)
{
	__asm__ volatile("rep insb" : "+D"(to), "+c"(n) : "d"(DATA) : "memory");
}

#else /* devices in memory, by /dev/mem: no ports */

#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

#if defined(__aarch64__) /* QEMU's machine `virt`; the serial line is a PL011, which is never full here */
#define SERIAL 0x09000000
#define FILES 0x09020000
typedef uint32_t serial_register;
#elif defined(__riscv) /* the same; a 16550; before QEMU 8 it has no fw_cfg that takes files */
#define SERIAL 0x10000000
typedef uint8_t serial_register;
#else
#error "init_port.c knows no devices of this architecture"
#endif
#define PAGE 4096

static volatile serial_register *serial;

static volatile void *device(off_t at)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	if (fd >= 0)
		close(fd);
	return mapped == MAP_FAILED ? NULL : mapped;
}

int open_output(void)
{
	serial = device(SERIAL);
	return serial != NULL;
}

void put_output(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*serial = (unsigned char)text[i];
}

#ifdef FILES

static volatile uint8_t *files;

int open_files(void)
{
	files = device(FILES);
	return files != NULL ? 0 : errno;
}

void select_file(unsigned int key) /* big-endian, 8 bytes after the data */
{
	*(volatile uint16_t *)(files + 8) = __builtin_bswap16((uint16_t)key);
}

void take_file(void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = *files;
}

#else

int open_files(void)
{
	return ENOENT;
}

void select_file(unsigned int key)
{
	(void)key;
}

void take_file(void *to, size_t n)
{
	memset(to, 0, n);
}

#endif
#endif
