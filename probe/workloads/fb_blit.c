/* fb/blit: copies a picture from memory to the screen; alternates between a picture and its negative. */
#include "../km.h"

static uint32_t fb_blit_pixel(const struct km_frame *f, uint64_t k, long x, long y)
{
	return km_frame_picture(f, k, x, y);
}

static void fb_blit_make(const struct km_frame *f, uint64_t k, long y, uint32_t *to)
{
	const uint32_t *pictures = f->more;

	memcpy(to, pictures + ((long)(k & 1) * f->height + y) * f->width, (size_t)f->width * sizeof *to);
}

static void *fb_blit_setup(struct km *km)
{
	struct km_frame *f = km_frame_new(km, fb_blit_make, fb_blit_pixel);
	uint32_t *pixel;

	f->more = pixel = km_alloc(km, (size_t)(2 * f->width * f->height) * sizeof *pixel);
	for (uint64_t k = 0; k < 2; k++)
		for (long y = 0; y < f->height; y++)
			for (long x = 0; x < f->width; x++)
				*pixel++ = km_frame_picture(f, k, x, y);
	return f;
}

KM_FRAME_WORKLOADS(fb_blit, "fb/blit", "a picture copied from memory to the screen",
		   "a picture copied from memory to the screen, ", "", fb_blit_setup);
