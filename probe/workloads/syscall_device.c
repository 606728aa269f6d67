/* syscall/write-null, read-zero: one byte to and from a device that does no work. */
#include "../km.h"

struct syscall_device {
	struct km *km;
	int fd;
	uint64_t moved; /* bytes that arrived right */
};

static struct syscall_device *syscall_device_open(struct km *km, const char *path, int how)
{
	struct syscall_device *s = km_state(km, sizeof *s);

	s->fd = open(path, how);
	if (s->fd < 0 && errno == ENOENT)
		km_unsupported(km, "there is no %s", path);
	if (s->fd < 0)
		km_fail_call(km, path);
	km->claim = (struct claim){ .syscalls = 1, .faults = km->point->cold ? NO_CLAIM : 0 };
	return s;
}

static void *syscall_write_null_setup(struct km *km)
{
	struct syscall_device *s = syscall_device_open(km, "/dev/null", O_WRONLY);

	km->claim.writes = 1;
	return s;
}

static void *syscall_read_zero_setup(struct km *km)
{
	struct syscall_device *s = syscall_device_open(km, "/dev/zero", O_RDONLY);

	km->claim.reads = 1;
	return s;
}

static void syscall_write_null_run(void *state, uint64_t n)
{
	struct syscall_device *s = state;
	char byte = 1;

	while (n--) {
		if (km_sys_write(s->fd, &byte, 1) != 1)
			km_fail_call(s->km, "write");
		s->moved++;
	}
}

static void syscall_read_zero_run(void *state, uint64_t n)
{
	struct syscall_device *s = state;

	while (n--) {
		volatile char byte = 1; /* detects a read that does not write it */

		if (km_sys_read(s->fd, (char *)&byte, 1) != 1)
			km_fail_call(s->km, "read");
		s->moved += byte == 0;
	}
}

const struct workload syscall_write_null = {
	.name = "syscall/write-null",
	.per = "call",
	.source = "K table 3, lmbench",
	.what = "write of 1 byte to /dev/null",
	.inside = "libc's syscall(2) where there is one, the call, a comparison of its result",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = QUICK, .path_n = 10, .cold = 1 }),
	.setup = syscall_write_null_setup,
	.run = syscall_write_null_run,
	.counted = { offsetof(struct syscall_device, moved), "bytes were moved correctly" },
};

const struct workload syscall_read_zero = {
	.name = "syscall/read-zero",
	.per = "call",
	.source = "G, lmbench",
	.what = "read of 1 byte from /dev/zero",
	.inside = "libc's syscall(2) where there is one, the call, comparisons of its result and of the byte read",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = FULL, .path_n = 10, .cold = 1 }),
	.setup = syscall_read_zero_setup,
	.run = syscall_read_zero_run,
	.counted = { offsetof(struct syscall_device, moved), "bytes were moved correctly" },
};
