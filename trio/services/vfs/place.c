/* place.c: new files at new descriptors, one or two at a time. */
#include "io.h"

/* A file without its operations: dropping it leaves the state alone. */
static const struct file_operations none;

int64_t place_one(uint32_t task, const struct file_operations *operations, void *state, uint32_t flags,
		  uint32_t descriptor_flags)
{
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

int64_t place_two(uint32_t task, const struct file_operations *operations, void *const state[2],
		  const uint32_t flags[2], uint32_t descriptor_flags, int32_t fds[2], struct grant to)
{
	unsigned placed = 0;
	int64_t result = 0;

	while (result >= 0 && placed < 2) {
		result = place_one(task, operations, state[placed], flags[placed], descriptor_flags);
		if (result >= 0)
			fds[placed++] = (int32_t)result;
	}
	if (result >= 0)
		result = copy_out(to, 0, fds, 2 * sizeof fds[0]);
	while (result < 0 && placed > 0) {
		file_of(task, fds[--placed])->operations = &none;
		descriptor_close(task, fds[placed]);
	}
	return result;
}
