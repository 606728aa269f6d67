/* files.h: descriptors, helpers for reading and writing, and locks. */
#ifndef TRIO_VFS_FILES_H
#define TRIO_VFS_FILES_H

#include "vfs_internal.h"

/* The open file at `fd`, not held; NULL means EBADF. */
static inline struct file *file_of(uint32_t task, int32_t fd)
{
	struct descriptors *d = vfs.tasks[task].descriptors;

	return (uint32_t)fd < d->size ? d->files[fd] : NULL;
}

/* Places the file at the lowest free descriptor from `least` on and takes the caller's reference. Returns the
 * descriptor, or -EMFILE or -ENOMEM, and then the caller keeps the reference. flags: O_CLOEXEC. */
int64_t descriptor_place(uint32_t task, struct file *f, uint32_t least, uint32_t flags);
/* Frees the descriptor and drops its file. Returns 0 or -EBADF. */
int64_t descriptor_close(uint32_t task, int32_t fd);

/* Makes a file with this state at a descriptor. On an error (-errno) the caller keeps the state. */
int64_t place_one(uint32_t task, const struct file_operations *operations, void *state, uint32_t flags,
		  uint32_t descriptor_flags);
/* Does so for two files, and writes their descriptors to `fds` and `to`. Returns 0 or -errno. */
int64_t place_two(uint32_t task, const struct file_operations *operations, void *const state[2],
		  const uint32_t flags[2], uint32_t descriptor_flags, int32_t fds[2], struct grant to);

struct descriptors *descriptors_make(uint32_t size);
struct descriptors *descriptors_copy(const struct descriptors *from);
/* Both do one share of the work and return true when all is done. */
bool descriptors_drop(uint32_t task);
bool descriptors_close_marked(uint32_t task);
/* The close-on-exec mark. */
bool descriptor_is_marked(const struct descriptors *d, uint32_t fd);
void descriptor_mark(struct descriptors *d, uint32_t fd, bool on);

/* What fstat reports of a pipe or a socket; their states begin with it. */
struct unnamed {
	uint64_t inode;
	/* Nanoseconds since 1970. */
	int64_t made;
	uint32_t mode, owner, group;
};
/* Makes one that the task owns. */
struct unnamed unnamed_by(uint32_t task, uint32_t mode);
void unnamed_stat(struct file *f, struct linux_stat *to);

/* To be called before a write to a regular file: moves `at` to the end with O_APPEND and returns how many of `length`
 * bytes the limits allow. If the result is 0, r->result has an errno or 0. */
uint64_t regular_write_begin(struct request *r, struct file *f, uint64_t *at, uint64_t length);
/* To be called when a copy of `n` bytes met a fault: copies as many as possible and returns their number. */
size_t copied(void *own, struct grant other, uint64_t offset, size_t n, bool in);
/* Serves all whences for a file of that size, or of its node's size. Holes are not reported. */
int64_t seek_within(struct file *f, uint64_t size, int64_t offset, uint32_t whence);
int64_t seek_by_size(struct file *f, int64_t offset, uint32_t whence);

/* Drops all record locks of `process`, or the flock of `f`; the other argument is 0 or NULL. */
void locks_drop(struct node *n, uint32_t process, const struct file *f);

#endif
