/* screen.c: loaded into a probe (LD_PRELOAD), it makes /dev/fb0 the file SCREEN, with a driver named SCREEN_DRIVER and
 * SCREEN_BITS bits a pixel, SCREEN_WIDTH pixels wide. What is shown does not begin where the memory does, and its lines
 * are longer than what they show. SCREEN_ACCIDENT: "ENOENT", "EACCES" (opening fails), "wrong" (a bit of each write is
 * lost), "short" (half of it is written), "private" (a mapping is not the screen's). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PITCH = 2048, LINES = 400, DOWN = 3, RIGHT = 8 };

static int screen = -1;

static const char *given(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static int accident(const char *name)
{
	const char *wanted = getenv("SCREEN_ACCIDENT");

	return wanted && strcmp(wanted, name) == 0;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	int mode, fd;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	if (strcmp(path, "/dev/fb0") != 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (accident("ENOENT") || accident("EACCES")) {
		errno = accident("ENOENT") ? ENOENT : EACCES;
		return -1;
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("SCREEN"), flags, 0);
	return screen = fd;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	void *to;

	va_start(more, request);
	to = va_arg(more, void *);
	va_end(more);
	if (fd == screen && request == FBIOGET_VSCREENINFO) {
		struct fb_var_screeninfo var = { .yres = 330, .xoffset = RIGHT, .yoffset = DOWN };

		var.xres = (unsigned)atoi(given("SCREEN_WIDTH"));
		var.bits_per_pixel = (unsigned)atoi(given("SCREEN_BITS"));
		var.red = (struct fb_bitfield){ .offset = 16, .length = 8 };
		var.green = (struct fb_bitfield){ .offset = 8, .length = 8 };
		var.blue = (struct fb_bitfield){ .offset = 0, .length = 8 };
		memcpy(to, &var, sizeof var);
		return 0;
	}
	if (fd == screen && request == FBIOGET_FSCREENINFO) {
		struct fb_fix_screeninfo fix = { .type = FB_TYPE_PACKED_PIXELS, .visual = FB_VISUAL_TRUECOLOR };

		strncpy(fix.id, given("SCREEN_DRIVER"), sizeof fix.id);
		fix.line_length = PITCH;
		fix.smem_len = PITCH * LINES;
		memcpy(to, &fix, sizeof fix);
		return 0;
	}
	return (int)syscall(SYS_ioctl, fd, request, to);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	if (fd == screen && accident("wrong") && n > 0) {
		char *copy = malloc(n);
		ssize_t moved;

		memcpy(copy, from, n);
		copy[n / 2] ^= 1;
		moved = syscall(SYS_pwrite64, fd, copy, n, at);
		free(copy);
		return moved;
	}
	return syscall(SYS_pwrite64, fd, from, fd == screen && accident("short") ? n / 2 : n, at);
}

void *mmap(void *where, size_t n, int protection, int flags, int fd, off_t at)
{
	if (fd >= 0 && fd == screen && accident("private"))
		flags = (flags & ~MAP_SHARED) | MAP_PRIVATE;
	return (void *)syscall(SYS_mmap, where, n, protection, flags, fd, at);
}

int open64(const char *, int, ...) __attribute__((alias("open")));
ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
