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

static struct {
	/* NULL: there is no display. */
	uint8_t *memory;
	struct bochs display;
	uint32_t width, height, height_virtual, line;
} framebuffer;

static uint64_t length_of(void)
{
	return (uint64_t)framebuffer.width * PIXEL * framebuffer.height_virtual;
}

void framebuffer_start(void)
{
	struct bochs *b = &framebuffer.display;
	uint64_t at;

	if (!bochs_find(b))
		return;
	framebuffer.width = b->width;
	framebuffer.height = b->height;
	if (!framebuffer.width || !framebuffer.height ||
	    (uint64_t)framebuffer.width * framebuffer.height * PIXEL > b->length) {
		framebuffer.width = WIDTH_USUAL;
		framebuffer.height = HEIGHT_USUAL;
	}
	framebuffer.height_virtual = 2 * framebuffer.height;
	if (length_of() > b->length)
		framebuffer.height_virtual = framebuffer.height;
	if (length_of() > b->length || kernel_device_map(b->memory, length_of(), &at) != 0)
		return;
	framebuffer.memory = (uint8_t *)at;
	bochs_mode(b, framebuffer.width, framebuffer.height);
}

void framebuffer_notified(uint64_t bits)
{
}

static void describe(struct fb_var_screeninfo *v)
{
	*v = (struct fb_var_screeninfo){
		.width = framebuffer.width,
		.height = framebuffer.height,
		.width_virtual = framebuffer.width,
		.height_virtual = framebuffer.height_virtual,
		.y_offset = framebuffer.line,
		.bits_per_pixel = 8 * PIXEL,
		.red = { .offset = 16, .length = 8 },
		.green = { .offset = 8, .length = 8 },
		.blue = { .offset = 0, .length = 8 },
		.height_mm = UINT32_MAX,
		.width_mm = UINT32_MAX,
	};
}

int64_t framebuffer_information(struct grant to)
{
	struct {
		struct fb_fix_screeninfo fix;
		struct fb_var_screeninfo var;
	} told = { .fix = { .id = "bochs-display",
			    .memory_start = framebuffer.display.memory,
			    .memory_length = (uint32_t)length_of(),
			    .type = FB_TYPE_PACKED_PIXELS,
			    .visual = FB_VISUAL_TRUECOLOR,
			    .y_pan_step = 1,
			    .line_length = framebuffer.width * PIXEL } };

	if (!framebuffer.memory)
		return -ENODEV;
	describe(&told.var);
	return copy_out(to, 0, &told, sizeof told);
}

/* The mode as it is, and where the screen begins. A wish for rotation is taken, and does nothing, as with Linux's. */
int64_t framebuffer_set(struct grant screen)
{
	struct fb_var_screeninfo v;
	bool test;

	if (!framebuffer.memory)
		return -ENODEV;
	if (copy_in(&v, screen, 0, sizeof v))
		return -EFAULT;
	if (v.width != framebuffer.width || v.height != framebuffer.height || v.bits_per_pixel != 8 * PIXEL ||
	    v.width_virtual > framebuffer.width || v.height_virtual > framebuffer.height_virtual || v.x_offset ||
	    v.y_offset > framebuffer.height_virtual - framebuffer.height)
		return -EINVAL;
	test = (v.activate & FB_ACTIVATE_MASK) == FB_ACTIVATE_TEST;
	if (!test && v.y_offset != framebuffer.line) {
		framebuffer.line = v.y_offset;
		bochs_pan(&framebuffer.display, framebuffer.line);
	}
	describe(&v);
	return copy_out(screen, 0, &v, sizeof v);
}

int64_t framebuffer_read(uint64_t offset, struct grant to)
{
	uint64_t n;

	if (!framebuffer.memory)
		return -ENODEV;
	if (offset >= length_of())
		return 0;
	n = MIN(to.length, length_of() - offset);
	return copy_out(to, 0, framebuffer.memory + offset, n) ? -EFAULT : (int64_t)n;
}

/* EFBIG where it begins beyond the end or is longer than all there is, ENOSPC where no byte is left. */
int64_t framebuffer_write(uint64_t offset, struct grant from)
{
	uint64_t n;

	if (!framebuffer.memory)
		return -ENODEV;
	if (offset > length_of())
		return -EFBIG;
	n = MIN(from.length, length_of() - offset);
	if (n == 0 && from.length > 0)
		return from.length > length_of() ? -EFBIG : -ENOSPC;
	return copy_in(framebuffer.memory + offset, from, 0, n) ? -EFAULT : (int64_t)n;
}

int64_t framebuffer_frames(uint64_t *out_frame, uint64_t *out_count)
{
	if (!framebuffer.memory)
		return -ENODEV;
	*out_frame = framebuffer.display.memory;
	*out_count = (length_of() + PAGE - 1) / PAGE;
	return 0;
}

const struct framebuffer_service framebuffer_service = FRAMEBUFFER_HANDLERS;
