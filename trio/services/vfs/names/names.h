/* names.h: paths, what stands at them, and who may do what with it. */
#ifndef TRIO_VFS_NAMES_H
#define TRIO_VFS_NAMES_H

#include "vfs_internal.h"

/* The node at `path` for `task`, held. `path` may be vfs.path (it usually is); the walk uses vfs.target. flags:
 * AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH (it means `directory` itself; O_PATH files will do). */
int64_t walk(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct node **out);

/* The place of the path's last component. `out` has been none. Two places are known at a time. */
int64_t walk_place(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct place *out);
void place_drop(struct place *p);
/* A place whose nodes are dropped where its scope ends. */
#define HELD_PLACE __attribute__((cleanup(place_drop)))
/* Copies a path into vfs.path. Returns its length or -errno. */
static inline int64_t path_in(struct grant path)
{
	return copy_string(vfs.path, PATH_MAX, path);
}
/* walk() of a path that a request came with. */
static inline int64_t find_node(const struct request *r, int32_t directory, struct grant path, uint32_t flags,
				struct node **out)
{
	TRY(path_in(path));
	return walk(r->task, directory, vfs.path, flags, out);
}
/* walk_place() of such a path, whose last link is not followed. */
static inline int64_t find_place(const struct request *r, int32_t directory, struct grant path, struct place *out)
{
	TRY(path_in(path));
	return walk_place(r->task, directory, vfs.path, AT_SYMLINK_NOFOLLOW, out);
}
/* MAY_* for the task's effective user: 0 or -EACCES; -EROFS to write on a mount that is read-only. */
int64_t permitted(uint32_t task, const struct node *n, unsigned wanted);
bool is_owner(uint32_t task, const struct node *n);
/* Root is in each. */
bool is_in_group(const struct task_files *t, uint32_t group);
/* The node's path from `root`, with NUL; where it is not below that, from the root of all, with `beyond` before it.
 * Returns its length or -errno. */
int64_t path_of(const struct node *root, struct node *n, const char *beyond, char *to, size_t size);

/* Makes a file of `mode` (type and permissions, umask applied) at `path`, with EEXIST and permissions
 * checked: for mknod, and bind of a socket. `out` (held) may be NULL. */
int64_t make_at(uint32_t task, int32_t directory, const char *path, uint32_t mode, uint32_t device, struct node **out);

/* Sets up what all nodes have: mount, inode number, mode, owner, times now; one reference. */
void node_begin(struct node *n, struct mount *m, const struct file_attributes *as);
/* What has `mode` and `device`, and is a link to `target` of `size` bytes or something else, comes to stand where
 * nothing does yet, by the umask, if the task may make it there. */
int64_t create_in(uint32_t task, struct place *p, struct file_attributes *as, const char *target);

void stat_of_node(const struct node *n, struct linux_stat *s);
/* What a path, or with none the descriptor, stands for: held. flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. */
int64_t node_at(const struct request *r, int32_t directory, struct grant path, uint32_t flags, struct node **out);

/* At the service's start. */
int64_t mount_root(void);

#endif
