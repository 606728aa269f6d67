/* fb/info: the questions of a program to a frame buffer before it draws: its size and its pixels' layout. */
#include "../km.h"

/* <linux/fb.h> has the shorter name. */
struct fb_info_state {
	struct km *km;
	int fd;
	struct km_fb first;
	uint64_t same; /* answers equal to the first one */
};

static void *fb_info_setup(struct km *km)
{
	struct fb_info_state *f = km_state(km, sizeof *f);

	f->fd = km_frame_device(km, O_RDONLY);
	if (km_fb_info(f->fd, &f->first) != 0)
		km_fail_call(km, "ioctl " KM_FB);
	km_warn(km, "frame-buffer", "the frame buffer was %s, %u x %u pixels", f->first.driver, f->first.width,
		f->first.height);
	km->claim = (struct claim){ .syscalls = 2 };
	return f;
}

static void fb_info_run(void *state, uint64_t n)
{
	struct fb_info_state *f = state;

	while (n--) {
		struct km_fb now = { .pitch = 0 };

		if (km_fb_info(f->fd, &now) != 0)
			km_fail_call(f->km, "ioctl " KM_FB);
		f->same += now.width == f->first.width && now.height == f->first.height &&
			   now.pitch == f->first.pitch && now.bytes == f->first.bytes;
	}
}

static void fb_info_verify(void *state, uint64_t n)
{
	struct fb_info_state *f = state;

	if (f->same != n || f->first.width == 0 || f->first.pitch * f->first.height > f->first.bytes)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " answers were right", f->same, n);
}

const struct workload fb_info = {
	.name = "fb/info",
	.per = "query",
	.source = "L part I",
	.what = "a frame buffer's size and layout, read by its two ioctls (variable and fixed screen information)",
	.inside = "two calls, the copying of their answers, comparisons",
	.needs = CAP_FRAME_BUFFER,
	.points = KM_POINTS({ .profile = FULL }, { .profile = FULL, .path_n = 500, .place = ON_BOCHS_DRM },
			    { .profile = FULL, .path_n = 500, .place = ON_VESAFB }),
	.setup = fb_info_setup,
	.run = fb_info_run,
	.verify = fb_info_verify,
};
