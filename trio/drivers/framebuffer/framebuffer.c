/* framebuffer.c: the display as one linear piece of memory, in the terms of Linux's /dev/fb0. There is one mode, set
 * once: what the screen likes best. Twice its height is there where the memory suffices, so that a program may draw one
 * half and show the other. */
#include "abi/fb.h"
#include "bochs.h"
#include "framebuffer_serve.h"
#include "kernel.h"

#define PIXEL 4U
#define WIDTH_USUAL 1024
#define HEIGHT_USUAL 768

struct framebuffer {
	/* NULL: there is no display. */
	uint8_t *memory;
	struct bochs display;
	uint32_t width, height, height_virtual, line;
};

static uint64_t length_of(const struct framebuffer *f)
{
	return (uint64_t)f->width * PIXEL * f->height_virtual;
}

static void framebuffer_start(struct framebuffer *f)
{
	struct bochs *b = &f->display;
	uint64_t at;

	if (!bochs_find(b))
		return;
	f->width = b->width;
	f->height = b->height;
	if (!f->width || !f->height || (uint64_t)f->width * f->height * PIXEL > b->length) {
		f->width = WIDTH_USUAL;
		f->height = HEIGHT_USUAL;
	}
	f->height_virtual = 2 * f->height;
	if (length_of(f) > b->length)
		f->height_virtual = f->height;
	if (length_of(f) > b->length || kernel_device_map(b->memory, length_of(f), &at) != 0)
		return;
	f->memory = (uint8_t *)at;
	bochs_mode(b, f->width, f->height);
}

static void framebuffer_notified(struct framebuffer *f, uint64_t bits)
{
	(void)f, (void)bits;
}

static void describe(const struct framebuffer *f, struct fb_var_screeninfo *v)
{
	*v = (struct fb_var_screeninfo){
		.width = f->width,
		.height = f->height,
		.width_virtual = f->width,
		.height_virtual = f->height_virtual,
		.y_offset = f->line,
		.bits_per_pixel = 8 * PIXEL,
		.red = { .offset = 16, .length = 8 },
		.green = { .offset = 8, .length = 8 },
		.blue = { .offset = 0, .length = 8 },
		.height_mm = UINT32_MAX,
		.width_mm = UINT32_MAX,
	};
}

static int64_t framebuffer_information(struct framebuffer *f, struct grant to)
{
	struct {
		struct fb_fix_screeninfo fix;
		struct fb_var_screeninfo var;
	} told = { .fix = { .id = "bochs-display",
			    .memory_start = f->display.memory,
			    .memory_length = (uint32_t)length_of(f),
			    .type = FB_TYPE_PACKED_PIXELS,
			    .visual = FB_VISUAL_TRUECOLOR,
			    .y_pan_step = 1,
			    .line_length = f->width * PIXEL } };

	if (!f->memory)
		return -ENODEV;
	describe(f, &told.var);
	return copy_out(to, 0, &told, sizeof told);
}

/* The mode as it is, and where the screen begins. A wish for rotation is taken, and does nothing, as with Linux's. */
static int64_t framebuffer_set(struct framebuffer *f, struct grant screen)
{
	struct fb_var_screeninfo v;
	bool test;

	if (!f->memory)
		return -ENODEV;
	if (copy_in(&v, screen, 0, sizeof v))
		return -EFAULT;
	if (v.width != f->width || v.height != f->height || v.bits_per_pixel != 8 * PIXEL ||
	    v.width_virtual > f->width || v.height_virtual > f->height_virtual || v.x_offset ||
	    v.y_offset > f->height_virtual - f->height)
		return -EINVAL;
	test = (v.activate & FB_ACTIVATE_MASK) == FB_ACTIVATE_TEST;
	if (!test && v.y_offset != f->line) {
		f->line = v.y_offset;
		bochs_pan(&f->display, f->line);
	}
	describe(f, &v);
	return copy_out(screen, 0, &v, sizeof v);
}

static int64_t framebuffer_read(struct framebuffer *f, uint64_t offset, struct grant to)
{
	uint64_t n;

	if (!f->memory)
		return -ENODEV;
	if (offset >= length_of(f))
		return 0;
	n = MIN(to.length, length_of(f) - offset);
	return copy_out(to, 0, f->memory + offset, n) ? -EFAULT : (int64_t)n;
}

/* EFBIG where it begins beyond the end or is longer than all there is, ENOSPC where no byte is left. */
static int64_t framebuffer_write(struct framebuffer *f, uint64_t offset, struct grant from)
{
	uint64_t n;

	if (!f->memory)
		return -ENODEV;
	if (offset > length_of(f))
		return -EFBIG;
	n = MIN(from.length, length_of(f) - offset);
	if (n == 0 && from.length > 0)
		return from.length > length_of(f) ? -EFBIG : -ENOSPC;
	return copy_in(f->memory + offset, from, 0, n) ? -EFAULT : (int64_t)n;
}

static int64_t framebuffer_frames(struct framebuffer *f, uint64_t *out_frame, uint64_t *out_count)
{
	if (!f->memory)
		return -ENODEV;
	*out_frame = f->display.memory;
	*out_count = (length_of(f) + PAGE - 1) / PAGE;
	return 0;
}

static struct framebuffer framebuffer;

const struct framebuffer_service framebuffer_service = {
	.self = &framebuffer,
	.start = framebuffer_start,
	.notified = framebuffer_notified,
	.information = framebuffer_information,
	.set = framebuffer_set,
	.read = framebuffer_read,
	.write = framebuffer_write,
	.frames = framebuffer_frames,
};
