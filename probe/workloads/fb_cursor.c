/* fb/cursor: moves a partly transparent cursor: restores what it hid, reads what it will hide, draws it over that. */
#include "../km.h"

#define FB_CURSOR_WIDTH 320 /* of the picture, pixels */
#define FB_CURSOR_HEIGHT 200

/* <linux/fb.h> has the shorter name. */
struct fb_cursor_state {
	struct km_frame frame; /* first: drawn is the number of moves */
	long size;
	uint32_t *hidden; /* what is under the cursor */
};

static long fb_cursor_x(const struct fb_cursor_state *c, uint64_t k)
{
	return (long)(k * 37 % (uint64_t)(FB_CURSOR_WIDTH - c->size));
}

static long fb_cursor_y(const struct fb_cursor_state *c, uint64_t k)
{
	return (long)(k * 23 % (uint64_t)(FB_CURSOR_HEIGHT - c->size));
}

/* An arrow that points up and to the left: half of a square, with a white edge. */
static uint32_t fb_cursor_shape(const struct fb_cursor_state *c, long x, long y)
{
	unsigned shade = x == 0 || x == y || y == c->size - 1 ? 255 : 0;

	return km_frame_colour(&c->frame, shade, shade, shade);
}

static uint32_t fb_cursor_pixel(const struct km_frame *f, uint64_t k, long x, long y)
{
	const struct fb_cursor_state *c = (const struct fb_cursor_state *)(const void *)f;
	long in_x = x - fb_cursor_x(c, k + 1), in_y = y - fb_cursor_y(c, k + 1); /* it began at place 0 */

	return in_x >= 0 && in_y < c->size && in_x <= in_y ? fb_cursor_shape(c, in_x, in_y)
							   : km_frame_picture(f, 0, x, y);
}

static void fb_cursor_hide(struct fb_cursor_state *c, uint64_t k)
{
	long left = fb_cursor_x(c, k), top = fb_cursor_y(c, k);

	for (long y = 0; y < c->size; y++)
		km_frame_put(&c->frame, left, top + y, c->hidden + y * c->size, c->size);
}

static void fb_cursor_show(struct fb_cursor_state *c, uint64_t k)
{
	long left = fb_cursor_x(c, k), top = fb_cursor_y(c, k);

	for (long y = 0; y < c->size; y++) {
		uint32_t *line = c->frame.line, *hidden = c->hidden + y * c->size;

		km_frame_get(&c->frame, left, top + y, hidden, c->size);
		for (long x = 0; x < c->size; x++)
			line[x] = x <= y ? fb_cursor_shape(c, x, y) : hidden[x];
		km_frame_put(&c->frame, left, top + y, line, c->size);
	}
}

static void *fb_cursor_setup(struct km *km)
{
	struct fb_cursor_state *c = km_alloc(km, sizeof *c);
	struct km_frame *f = &c->frame;

	c->size = km->arg[0];
	f->pixel = fb_cursor_pixel;
	km_frame_open(f, km, FB_CURSOR_WIDTH, FB_CURSOR_HEIGHT);
	c->hidden = km_alloc(km, (size_t)(c->size * c->size) * sizeof *c->hidden);
	for (long y = 0; y < f->height; y++) {
		for (long x = 0; x < f->width; x++)
			f->line[x] = km_frame_picture(f, 0, x, y);
		km_frame_put(f, 0, y, f->line, f->width);
	}
	fb_cursor_show(c, 0);
	km->ops = (double)c->size * (double)c->size;
	km->claim.writes = f->map ? 0 : 2 * (double)c->size;
	km->claim.reads = f->map ? 0 : (double)c->size;
	km->claim.syscalls = km->claim.writes + km->claim.reads;
	return c;
}

static void fb_cursor_run(void *state, uint64_t n)
{
	struct fb_cursor_state *c = state;

	while (n--) {
		fb_cursor_hide(c, c->frame.drawn++);
		fb_cursor_show(c, c->frame.drawn);
	}
}

static const struct point fb_cursor_points[] = {
	{ { 16 }, FULL, 0, ONE_CPU, 0 },      { { 64 }, FULL, 0, ONE_CPU, 0 },   { { 16 }, FULL, 8, ON_BOCHS_DRM, 0 },
	{ { 64 }, FULL, 8, ON_BOCHS_DRM, 0 }, { { 16 }, FULL, 8, ON_VESAFB, 0 }, { { 64 }, FULL, 8, ON_VESAFB, 0 },
	{ { 0 }, 0, 0, ONE_CPU, 0 },
};

#define FB_CURSOR_ROW                                                                                               \
	.per = "pixel", .unit = UNIT_PER_S, .source = "L part I", .params = { "size" }, .points = fb_cursor_points, \
	.run = fb_cursor_run, .settle = km_frame_settle, .verify = km_frame_verify, .teardown = km_frame_teardown

const struct workload fb_cursor = {
	.name = "fb/cursor",
	FB_CURSOR_ROW,
	.what = "a square cursor moved over a picture; a pixel is one of the cursor's, moved",
	.inside = "per cursor line a pwrite of what it hid, a pread of what it hides next, drawing both, a pwrite",
	.needs = CAP_FRAME_BUFFER,
	.setup = fb_cursor_setup,
};

const struct workload fb_cursor_mmap = {
	.name = "fb/cursor-mmap",
	FB_CURSOR_ROW,
	.what = "the same in the mapped frame buffer",
	.inside = "the same copies between memory and the mapped frame buffer; page faults as in fb/fill-mmap",
	.needs = CAP_FRAME_BUFFER | CAP_MMAP,
	.setup = fb_cursor_setup,
};
