/* frame.c: a part of the screen, drawn line by line, by write(2) or in the mapped frame buffer. Both ways run the same
 * code to make the lines, in the process's memory or in the frame buffer, so that only the way differs. */
#include "engine.h"

static size_t offset_of(const struct km_frame *f, long x, long y)
{
	return f->fb.start + (size_t)y * f->fb.pitch + (size_t)x * sizeof(uint32_t);
}

void km_frame_put(struct km_frame *f, long x, long y, const uint32_t *from, long n)
{
	size_t bytes = (size_t)n * sizeof *from, offset = offset_of(f, x, y);
	ssize_t moved;

	if (f->map) {
		memcpy(f->map + offset, from, bytes);
		return;
	}
	moved = km_fb_write(f->fd, from, bytes, offset);
	if (moved != (ssize_t)bytes)
		km_moved(f->km, "pwrite", moved, bytes);
}

static void read_line(struct km_frame *f, long x, long y, uint32_t *to, long n)
{
	size_t bytes = (size_t)n * sizeof *to;
	ssize_t moved = km_fb_read(f->fd, to, bytes, offset_of(f, x, y));

	if (moved != (ssize_t)bytes)
		km_moved(f->km, "pread", moved, bytes);
}

void km_frame_get(struct km_frame *f, long x, long y, uint32_t *to, long n)
{
	if (f->map)
		memcpy(to, f->map + offset_of(f, x, y), (size_t)n * sizeof *to);
	else
		read_line(f, x, y, to, n);
}

int km_frame_device(struct km *km, int how)
{
	int fd = open(KM_FB, how | O_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		km_unsupported(km, KM_FB " may not be opened by this user: members of its group may (often: video)");
	if (fd < 0)
		km_fail_call(km, "open " KM_FB);
	return fd;
}

void km_frame_open(struct km_frame *f, struct km *km, long width, long height)
{
	int mapped = (km->workload->needs & CAP_MMAP) != 0;

	f->km = km;
	f->width = width;
	f->height = height;
	f->fd = km_frame_device(km, O_RDWR);
	if (km_fb_info(f->fd, &f->fb) != 0)
		km_fail_call(km, "ioctl " KM_FB);
	if (f->fb.unusual)
		km_unsupported(km, "the frame buffer is %s: %s", f->fb.driver, f->fb.unusual);
	if ((long)f->fb.width < width || (long)f->fb.height < height)
		km_unsupported(km, "the screen of %u x %u pixels is too small", f->fb.width, f->fb.height);
	km_warn(km, "frame-buffer", "the frame buffer was %s, %u x %u pixels", f->fb.driver, f->fb.width, f->fb.height);
	if (mapped && !(f->map = km_fb_map(f->fd, &f->fb)))
		km_fail_call(km, "mmap " KM_FB);
	f->line = km_alloc(km, (size_t)width * sizeof *f->line);
	f->before = km_alloc(km, (size_t)(width * height) * sizeof *f->before);
	for (long y = 0; y < height; y++)
		read_line(f, 0, y, f->before + y * width, width);
	km->ops = (double)width * (double)height;
	km->claim.syscalls = km->claim.writes = mapped ? 0 : (double)height;
}

struct km_frame *km_frame_new(struct km *km, void (*make)(const struct km_frame *, uint64_t, long, uint32_t *),
			      uint32_t (*pixel)(const struct km_frame *, uint64_t, long, long))
{
	struct km_frame *f = km_alloc(km, sizeof *f);

	f->make = make;
	f->pixel = pixel;
	km_frame_open(f, km, km->arg[0], km->arg[1]);
	return f;
}

uint32_t km_frame_colour(const struct km_frame *f, unsigned red, unsigned green, unsigned blue)
{
	return (uint32_t)(red & 255) << f->fb.shift[0] | (uint32_t)(green & 255) << f->fb.shift[1] |
	       (uint32_t)(blue & 255) << f->fb.shift[2];
}

uint32_t km_frame_picture(const struct km_frame *f, uint64_t k, long x, long y)
{
	unsigned a = (unsigned)x, b = (unsigned)y, invert = k & 1 ? 255 : 0;

	return km_frame_colour(f, (5 * a) ^ invert, (3 * b) ^ invert, (a ^ b) ^ invert);
}

void km_frame_draw(void *state, uint64_t n)
{
	struct km_frame *f = state;

	for (; n > 0; n--, f->drawn++)
		for (long y = 0; y < f->height; y++) {
			if (f->map) { /* a line begins at a multiple of 4 bytes: see unusual() */
				f->make(f, f->drawn, y, (uint32_t *)(void *)(f->map + offset_of(f, 0, y)));
				continue;
			}
			f->make(f, f->drawn, y, f->line);
			km_frame_put(f, 0, y, f->line, f->width);
		}
}

void km_frame_only_make(void *state, uint64_t n)
{
	struct km_frame *f = state;

	for (uint64_t k = 0; k < n; k++)
		for (long y = 0; y < f->height; y++) {
			f->make(f, k, y, f->line);
			KM_KEEP(f->line[0]);
		}
}

void km_frame_settle(void *state, uint64_t n)
{
	struct km_frame *f = state;

	(void)n;
	if (f->drawn == 0)
		return;
	for (long y = 0; y < f->height; y++) {
		read_line(f, 0, y, f->line, f->width);
		for (long x = 0; x < f->width; x++) {
			uint32_t wanted = f->pixel(f, f->drawn - 1, x, y);

			if (f->line[x] != wanted)
				km_fail(f->km, "pixel %ld, %ld is %08" PRIx32 ", not %08" PRIx32, x, y, f->line[x],
					wanted);
		}
	}
	f->checked = f->drawn;
}

void km_frame_verify(void *state, uint64_t n)
{
	struct km_frame *f = state;

	if (f->drawn != n || f->checked != n)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " drawings were made", f->drawn, n);
}

void km_frame_teardown(void *state)
{
	struct km_frame *f = state;

	for (long y = 0; y < f->height; y++)
		km_frame_put(f, 0, y, f->before + y * f->width, f->width);
}

/* By time on any display; by path each row names the driver. */
const struct point km_frame_points[] = { { { 64, 64 }, FULL, 0, ONE_CPU, 0 },
					 { { 320, 200 }, FULL, 0, ONE_CPU, 0 },
					 { { 64, 64 }, FULL, 20, ON_BOCHS_DRM, 0 },
					 { { 320, 200 }, FULL, 8, ON_BOCHS_DRM, 0 },
					 { { 64, 64 }, FULL, 20, ON_VESAFB, 0 },
					 { { 320, 200 }, FULL, 8, ON_VESAFB, 0 },
					 { { 0 }, 0, 0, ONE_CPU, 0 } };
