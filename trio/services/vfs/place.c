/* place.c: new files at new descriptors, one or two at a time. */
#include "io.h"

int64_t place_one(uint32_t task, const struct file_operations *operations, void *state, uint32_t flags,
		  uint32_t descriptor_flags)
{
	/* Without its operations until it cannot fail any more: dropping it leaves the state alone. */
	static const struct file_operations none;
	struct file *f;
	int64_t fd = file_make(&none, state, flags, NULL, &f);

	if (fd != 0)
		return fd;
	fd = descriptor_place(task, f, 0, descriptor_flags);
	if (fd < 0)
		file_drop(f);
	else
		f->operations = operations;
	return fd;
}

int64_t place_two(uint32_t task, struct file *const file[2], uint32_t flags, struct grant to)
{
	int32_t fds[2];
	int64_t first = descriptor_place(task, file[0], 0, flags);
	int64_t second, error;

	if (first < 0) {
		file_drop(file[0]);
		file_drop(file[1]);
		return first;
	}
	second = descriptor_place(task, file[1], 0, flags);
	if (second < 0) {
		descriptor_close(task, (int32_t)first);
		file_drop(file[1]);
		return second;
	}
	fds[0] = (int32_t)first;
	fds[1] = (int32_t)second;
	error = copy_out(to, 0, fds, sizeof fds);
	if (error != 0) {
		descriptor_close(task, fds[0]);
		descriptor_close(task, fds[1]);
	}
	return error;
}
