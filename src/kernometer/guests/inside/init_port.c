/* init_port.c: the emulator's device that takes init's output byte by byte. A driver of the kernel's has interrupts,
 * which would continue in the timed regions of the next row. */
#include "init.h"

#if defined(__x86_64__) || defined(__i386__)

#include <sys/io.h>

#define BULK_PORT 0xe9 /* isa-debugcon */

int open_output(void)
{
	return ioperm(BULK_PORT, 1, 1) == 0;
}

void put_output(const char *text, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(text), "+c"(n) : "d"(BULK_PORT) : "memory");
}

#else /* the serial line, by /dev/mem: no ports */

#include <sys/mman.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#if defined(__aarch64__) /* QEMU's machine `virt`: a PL011, which is never full here */
#define SERIAL 0x09000000
typedef uint32_t serial_register;
#elif defined(__riscv) /* the same; a 16550 */
#define SERIAL 0x10000000
typedef uint8_t serial_register;
#else
#error "init_port.c knows no device of this architecture"
#endif
#define PAGE 4096

static volatile serial_register *serial;

int open_output(void)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, SERIAL);

	if (fd >= 0)
		close(fd);
	serial = mapped == MAP_FAILED ? NULL : mapped;
	return serial != NULL;
}

void put_output(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*serial = (unsigned char)text[i];
}

#endif
