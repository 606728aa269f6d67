/* display.c: tells whether there is a frame buffer for the rows that need one, and whether its driver is the named one.
 *
 * A row that names a driver is by path alone: an emulated machine always has the display, and the count is the driver's
 * work. "bochs-drm" is the kernel's driver for the display that Linux's driver of that name drives: so one row compares
 * two kernels on one machine. The driver's own name is compared with the row's before anything runs. */
#include "engine.h"

static const struct {
	const char *name, *says[2]; /* beginnings of the drivers' own names: Linux's, Trio's */
} displays[] = { { "bochs-drm", { "bochs-drm", "bochs-display" } }, { "vesafb", { "VESA VGA", NULL } } };

static unsigned number_of(const struct row *row)
{
	return row->point->place - ON_BOCHS_DRM;
}

const char *display_needed(const struct row *row)
{
	return row->point->place >= ON_BOCHS_DRM ? displays[number_of(row)].name : NULL;
}

static int is_driver(const struct row *row, const char *says)
{
	for (int i = 0; i < 2; i++) {
		const char *wanted = displays[number_of(row)].says[i];

		if (wanted && strncmp(says, wanted, strlen(wanted)) == 0)
			return 1;
	}
	return 0;
}

const char *display_missing(const struct row *row)
{
	static char why[256];
	const char *wanted = display_needed(row);
	struct km_fb fb;
	int fd, failed;

	if (!(row->workload->needs & CAP_FRAME_BUFFER))
		return NULL;
	fd = open(KM_FB, O_RDONLY | O_CLOEXEC);
	failed = fd < 0 ? errno : km_fb_info(fd, &fb) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (failed == ENOENT || failed == ENODEV || failed == ENXIO || (failed && wanted)) {
		snprintf(why, sizeof why,
			 "there is no frame buffer here (" KM_FB
			 ": %s): measure it in a guest with a display, such as linux-6.1+machine=pc+display=%s",
			 errno_name(failed), wanted ? wanted : displays[0].name);
		return why;
	}
	if (!wanted || is_driver(row, fb.driver))
		return NULL;
	snprintf(why, sizeof why, "the frame buffer here is %s: for this row add display=%s to the guest's name",
		 fb.driver, wanted);
	return why;
}
