/* fb/fill: fills a rectangle of the screen with one colour, another one each time. */
#include "../km.h"

static uint32_t fb_fill_pixel(const struct km_frame *f, uint64_t k, long x, long y)
{
	(void)x, (void)y;
	return k & 1 ? km_frame_colour(f, 200, 100, 50) : km_frame_colour(f, 10, 60, 120);
}

static void fb_fill_make(const struct km_frame *f, uint64_t k, long y, uint32_t *to)
{
	uint32_t colour = fb_fill_pixel(f, k, 0, y);

	for (long x = 0; x < f->width; x++)
		to[x] = colour;
}

static void *fb_fill_setup(struct km *km)
{
	return km_frame_new(km, fb_fill_make, fb_fill_pixel);
}

KM_FRAME_WORKLOADS(fb_fill, "fb/fill", "a rectangle filled with one colour", "a rectangle filled with one colour, ", "",
		   fb_fill_setup);
