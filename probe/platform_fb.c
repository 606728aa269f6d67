/* platform_fb.c: the first frame buffer, by Linux's interface: /dev/fb0. Elsewhere each call fails with ENOSYS. */
#include "engine.h"

#if HAVE_FRAME_BUFFER
#include <sys/ioctl.h>
#include <linux/fb.h>

static const char *unusual(const struct fb_var_screeninfo *var, const struct fb_fix_screeninfo *fix)
{
	if (fix->type != FB_TYPE_PACKED_PIXELS || fix->visual != FB_VISUAL_TRUECOLOR)
		return "its pixels are not true colours one after another";
	if (var->bits_per_pixel != 32 || fix->line_length % 4)
		return "its pixels are not of 32 bits";
	if (var->red.length != 8 || var->green.length != 8 || var->blue.length != 8)
		return "its colours are not of 8 bits each";
	return NULL;
}

int km_fb_info(int fd, struct km_fb *fb)
{
	struct fb_var_screeninfo var;
	struct fb_fix_screeninfo fix;

	if (ioctl(fd, FBIOGET_VSCREENINFO, &var) != 0 || ioctl(fd, FBIOGET_FSCREENINFO, &fix) != 0)
		return -1;
	memcpy(fb->driver, fix.id, sizeof fix.id); /* need not end with a NUL */
	fb->driver[sizeof fix.id] = '\0';
	fb->width = var.xres;
	fb->height = var.yres;
	fb->bits = var.bits_per_pixel;
	fb->shift[0] = var.red.offset;
	fb->shift[1] = var.green.offset;
	fb->shift[2] = var.blue.offset;
	fb->pitch = fix.line_length;
	fb->bytes = fix.smem_len;
	/* The visible part may begin within the memory: the screen is panned. */
	fb->start = (size_t)var.yoffset * fix.line_length + (size_t)var.xoffset * (var.bits_per_pixel / 8);
	fb->unusual = unusual(&var, &fix);
	return 0;
}

#if HAVE_MMAP
void *km_fb_map(int fd, const struct km_fb *fb)
{
	void *map = mmap(NULL, fb->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}
#else
KM_LACKS(void *, km_fb_map, (int fd KM_UNUSED, const struct km_fb *fb KM_UNUSED), NULL)
#endif

ssize_t km_fb_read(int fd, void *to, size_t n, size_t offset)
{
	return pread(fd, to, n, (off_t)offset);
}

ssize_t km_fb_write(int fd, const void *from, size_t n, size_t offset)
{
	return pwrite(fd, from, n, (off_t)offset);
}
#else
KM_LACKS(int, km_fb_info, (int fd KM_UNUSED, struct km_fb *fb KM_UNUSED), -1)
KM_LACKS(void *, km_fb_map, (int fd KM_UNUSED, const struct km_fb *fb KM_UNUSED), NULL)
KM_LACKS(ssize_t, km_fb_read, (int fd KM_UNUSED, void *to KM_UNUSED, size_t n KM_UNUSED, size_t offset KM_UNUSED), -1)
KM_LACKS(ssize_t, km_fb_write,
	 (int fd KM_UNUSED, const void *from KM_UNUSED, size_t n KM_UNUSED, size_t offset KM_UNUSED), -1)
#endif
