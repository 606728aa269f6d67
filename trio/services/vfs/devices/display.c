/* display.c: /dev/fb0, if there is a display. */
#include "abi/fb.h"
#include "devices/devices.h"
#include "files/files.h"
#include "framebuffer.h"
#include "vm.h"

struct display {
	struct fb_fix_screeninfo fixed;
	struct fb_var_screeninfo variable;
};

static int64_t ask(struct display *d)
{
	return framebuffer_information(grant_write(d, sizeof *d));
}

int64_t display_open(uint32_t task, struct file *f)
{
	struct display d;

	return ask(&d);
}

static verdict moved(struct request *r, int64_t n, uint64_t *at)
{
	*at += (uint64_t)MAX(n, 0);
	return answer(r, n);
}

static verdict display_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	return moved(r, framebuffer_read(*at, to), at);
}

static verdict display_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	return moved(r, framebuffer_write(*at, from), at);
}

static int64_t display_seek(struct file *f, int64_t offset, uint32_t whence)
{
	struct display d;

	return ask(&d) != 0 ? -ENODEV : seek_within(f, d.fixed.memory_length, offset, whence);
}

static verdict display_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at)
{
	struct display d;

	TRY_OR_WAIT(r, ask(&d));
	switch (command) {
	case FBIOGET_FSCREENINFO:
		return answer(r, copy_out(at, 0, &d.fixed, sizeof d.fixed));
	case FBIOGET_VSCREENINFO:
		return answer(r, copy_out(at, 0, &d.variable, sizeof d.variable));
	case FBIOPAN_DISPLAY:
	case FBIOPUT_VSCREENINFO:
		TRY_OR_WAIT(r, copy_in(&d.variable, at, 0, sizeof d.variable));
		TRY_OR_WAIT(r, framebuffer_set(grant_write(&d.variable, sizeof d.variable)));
		return answer(r, copy_out(at, 0, &d.variable, sizeof d.variable));
	case FBIOBLANK:
		return answer(r, 0);
	}
	return refuse(r, ENOTTY);
}

static int64_t display_object(struct file *f, uint64_t offset, uint64_t length, uint32_t *object)
{
	uint64_t frame, count;

	if (framebuffer_frames(&frame, &count) < 0)
		return -ENODEV;
	if (offset / PAGE > count || (length + PAGE - 1) / PAGE > count - offset / PAGE)
		return -EINVAL;
	return vm_object_device(frame, count, object) < 0 ? -ENOMEM : 0;
}

const struct file_operations display_files = { .read = display_read,
					       .write = display_write,
					       .seek = display_seek,
					       .ioctl = display_ioctl,
					       .object = display_object };
