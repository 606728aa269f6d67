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

const struct workload fb_fill = {
	.name = "fb/fill",
	KM_FRAME_ROW,
	.what = "a rectangle filled with one colour, by write",
	.inside = "a line made in memory and a pwrite for it, for each line",
	.needs = CAP_FRAME_BUFFER,
	.setup = fb_fill_setup,
};

const struct workload fb_fill_mmap = {
	.name = "fb/fill-mmap",
	KM_FRAME_ROW,
	.what = "a rectangle filled with one colour, in the mapped frame buffer",
	.inside = "for each line, its pixels made in the mapped frame buffer; page faults of the first touch and of a "
		  "driver that watches for changes",
	.needs = CAP_FRAME_BUFFER | CAP_MMAP,
	.setup = fb_fill_setup,
};
