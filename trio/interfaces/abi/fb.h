/* fb.h: Linux's frame buffers: requests of ioctl, and the structures, as on x86-64. */
#ifndef TRIO_ABI_FB_H
#define TRIO_ABI_FB_H

#include <stdint.h>

#define FBIOGET_VSCREENINFO 0x4600
#define FBIOPUT_VSCREENINFO 0x4601
#define FBIOGET_FSCREENINFO 0x4602
#define FBIOPAN_DISPLAY 0x4606
#define FBIOBLANK 0x4611

#define FB_TYPE_PACKED_PIXELS 0
#define FB_VISUAL_TRUECOLOR 2
/* When a change takes effect, in `activate`. */
#define FB_ACTIVATE_MASK 15
#define FB_ACTIVATE_NOW 0
#define FB_ACTIVATE_TEST 2

/* What does not change with the mode. Lengths in bytes. */
struct fb_fix_screeninfo {
	char id[16];
	uint64_t memory_start;
	uint32_t memory_length, type, type_aux, visual;
	/* 0: it cannot be panned in this direction. */
	uint16_t x_pan_step, y_pan_step, y_wrap_step, pad;
	uint32_t line_length, pad_2;
	uint64_t registers_start;
	uint32_t registers_length, accelerator;
	uint16_t capabilities, reserved[2], pad_3;
};
_Static_assert(sizeof(struct fb_fix_screeninfo) == 80, "struct fb_fix_screeninfo");

/* Where a colour is in a pixel, in bits. */
struct fb_bitfield {
	uint32_t offset, length, msb_right;
};

struct fb_var_screeninfo {
	/* In pixels: the part that is shown, the whole, and where the shown part begins. */
	uint32_t width, height, width_virtual, height_virtual, x_offset, y_offset;
	uint32_t bits_per_pixel, grayscale;
	struct fb_bitfield red, green, blue, transparency;
	uint32_t nonstandard, activate;
	/* In millimetres; UINT32_MAX: unknown. */
	uint32_t height_mm, width_mm;
	/* Timing of a tube's rays; nothing here uses it. */
	uint32_t acceleration_flags, pixel_clock, left_margin, right_margin, upper_margin, lower_margin;
	uint32_t horizontal_sync, vertical_sync, sync, mode, rotate, colorspace, reserved[4];
};
_Static_assert(sizeof(struct fb_var_screeninfo) == 160, "struct fb_var_screeninfo");

#endif
