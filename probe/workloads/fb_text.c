/* fb/text: white characters of 8 x 8 pixels on black, in a font of seven letters; they move by one character a time. */
#include "../km.h"

#define FB_TEXT_SIDE 8
/* The leftmost pixel is the highest bit. */
static const unsigned char fb_text_font[][FB_TEXT_SIDE] = {
	{ 0, 0, 0, 0, 0, 0, 0, 0 },                      /* a space */
	{ 0x82, 0x84, 0x88, 0xf0, 0x88, 0x84, 0x82, 0 }, /* K */
	{ 0xfe, 0x80, 0x80, 0xf8, 0x80, 0x80, 0xfe, 0 }, /* E */
	{ 0xfc, 0x82, 0x82, 0xfc, 0x88, 0x84, 0x82, 0 }, /* R */
	{ 0x82, 0xc2, 0xa2, 0x92, 0x8a, 0x86, 0x82, 0 }, /* N */
	{ 0x7c, 0x82, 0x82, 0x82, 0x82, 0x82, 0x7c, 0 }, /* O */
	{ 0x82, 0xc6, 0xaa, 0x92, 0x82, 0x82, 0x82, 0 }, /* M */
	{ 0xfe, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0 }, /* T */
};

/* KERNOMETER and a space, repeated: the glyph of character number `at`. */
static const unsigned char *fb_text_glyph(uint64_t at)
{
	static const unsigned char text[] = { 1, 2, 3, 4, 5, 6, 2, 7, 2, 3, 0 };

	return fb_text_font[text[at % sizeof text]];
}

static uint32_t fb_text_pixel(const struct km_frame *f, uint64_t k, long x, long y)
{
	uint64_t at = k + (uint64_t)(y / FB_TEXT_SIDE * (f->width / FB_TEXT_SIDE) + x / FB_TEXT_SIDE);
	int set = fb_text_glyph(at)[y % FB_TEXT_SIDE] >> (FB_TEXT_SIDE - 1 - x % FB_TEXT_SIDE) & 1;

	return set ? km_frame_colour(f, 255, 255, 255) : km_frame_colour(f, 0, 0, 0);
}

static void fb_text_make(const struct km_frame *f, uint64_t k, long y, uint32_t *to)
{
	uint32_t ink = km_frame_colour(f, 255, 255, 255), paper = km_frame_colour(f, 0, 0, 0);
	long columns = f->width / FB_TEXT_SIDE, row = y / FB_TEXT_SIDE;

	for (long column = 0; column < columns; column++) {
		unsigned bits = fb_text_glyph(k + (uint64_t)(row * columns + column))[y % FB_TEXT_SIDE];

		for (unsigned mask = 0x80; mask; mask >>= 1)
			*to++ = bits & mask ? ink : paper;
	}
}

static void *fb_text_setup(struct km *km)
{
	return km_frame_new(km, fb_text_make, fb_text_pixel);
}

KM_FRAME_WORKLOADS(fb_text, "fb/text", "text drawn: glyphs of 8 x 8 pixels, each expanded from its bits",
		   "text drawn: glyphs of 8 x 8 pixels, each expanded from its bits, ", "", fb_text_setup);
