/* fb/rotate: turns a picture in software by a quarter, to the right and to the left in turn. Linux's frame buffers
 * accept a request for rotation, but most drivers ignore it. */
#include "../km.h"

/* Takes the source picture's pixel for this place; x and y are the turned picture's. */
static uint32_t fb_rotate_pixel(const struct km_frame *f, uint64_t k, long x, long y)
{
	return k & 1 ? km_frame_picture(f, 0, f->height - 1 - y, x) : km_frame_picture(f, 0, y, f->width - 1 - x);
}

/* A line of the turned picture is a column of the other: from the bottom up, or from the top in a turn to the left. */
static void fb_rotate_make(const struct km_frame *f, uint64_t k, long y, uint32_t *to)
{
	long step = k & 1 ? f->height : -f->height; /* the height is now the picture's former width */
	const uint32_t *from = f->more;

	from += k & 1 ? f->height - 1 - y : y + (f->width - 1) * f->height;
	for (long x = 0; x < f->width; x++)
		to[x] = from[x * step];
}

static void *fb_rotate_setup(struct km *km)
{
	struct km_frame *f = km_alloc(km, sizeof *f);
	long width = km->arg[0], height = km->arg[1];
	uint32_t *pixel;

	f->make = fb_rotate_make;
	f->pixel = fb_rotate_pixel;
	km_frame_open(f, km, height, width);
	f->more = pixel = km_alloc(km, (size_t)(width * height) * sizeof *pixel);
	for (long y = 0; y < height; y++)
		for (long x = 0; x < width; x++)
			*pixel++ = km_frame_picture(f, 0, x, y);
	return f;
}

KM_FRAME_WORKLOADS(fb_rotate, "fb/rotate",
		   "a picture turned by a quarter and drawn, to the right and to the left in turn",
		   "a picture turned by a quarter, to the right and left in turn, and drawn ",
		   "the turning in software; ", fb_rotate_setup);
