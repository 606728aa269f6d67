/* files.h: descriptors, what they have in common to read and write, and locks. */
#ifndef TRIO_VFS_FILES_H
#define TRIO_VFS_FILES_H

#include "vfs_internal.h"

/* The open file at `fd`, not held; NULL: EBADF. */
static inline struct file *file_of(uint32_t task, int32_t fd)
{
	struct descriptors *d = vfs.tasks[task].descriptors;

	return (uint32_t)fd < d->size ? d->files[fd] : NULL;
}

/* The lowest free descriptor from `least` on; the caller's reference goes to it. Returns it, or -EMFILE, -ENOMEM (the
 * reference stays the caller's). flags: O_CLOEXEC. */
int64_t descriptor_place(uint32_t task, struct file *f, uint32_t least, uint32_t flags);
/* Undoes it, and drops the file; -EBADF. */
int64_t descriptor_close(uint32_t task, int32_t fd);

/* A new file of that state at a descriptor, or -errno; then the state is still the caller's. */
int64_t place_one(uint32_t task, const struct file_operations *operations, void *state, uint32_t flags,
		  uint32_t descriptor_flags);
/* The same of two, whose descriptors are in `fds` then, and at `to`. 0 or -errno. */
int64_t place_two(uint32_t task, const struct file_operations *operations, void *const state[2],
		  const uint32_t flags[2], uint32_t descriptor_flags, int32_t fds[2], struct grant to);

struct descriptors *descriptors_make(uint32_t size);
struct descriptors *descriptors_copy(const struct descriptors *from);
/* Of both: a share; true: all is done. */
bool descriptors_drop(uint32_t task);
bool descriptors_close_marked(uint32_t task);
/* To be closed on execve. */
bool descriptor_is_marked(const struct descriptors *d, uint32_t fd);
void descriptor_mark(struct descriptors *d, uint32_t fd, bool on);

/* What fstat tells of a pipe or a socket, whose state begins with it. */
struct unnamed {
	uint64_t inode;
	/* Nanoseconds since 1970. */
	int64_t made;
	uint32_t mode, owner, group;
};
/* The task's, from now on. */
struct unnamed unnamed_by(uint32_t task, uint32_t mode);
void unnamed_stat(struct file *f, struct linux_stat *to);

/* Before a write to a regular file: the position with O_APPEND, the bytes that limits allow of `length`. 0: none, and
 * then r->result has the reason, or 0. */
uint64_t regular_write_begin(struct request *r, struct file *f, uint64_t *at, uint64_t length);
/* After a copy of `n` bytes has met a fault: how many of them can be copied, and are. */
size_t copied(void *own, struct grant other, uint64_t offset, size_t n, bool in);
/* All whences, of a file of that size, whose holes are not told of; of one whose node knows its size. */
int64_t seek_within(struct file *f, uint64_t size, int64_t offset, uint32_t whence);
int64_t seek_by_size(struct file *f, int64_t offset, uint32_t whence);

/* All of a process's record locks, or of a file's flock: one of both is given. */
void locks_drop(struct node *n, uint32_t process, const struct file *f);

#endif
