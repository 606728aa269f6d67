/* names.h: path lookup and permissions. */
#ifndef TRIO_VFS_NAMES_H
#define TRIO_VFS_NAMES_H

#include "vfs_internal.h"

/* Finds and holds the node at `path`. `path` may be vfs.path (it usually is); the walk uses vfs.target. flags:
 * AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH (an empty path means `directory`, which may be an O_PATH file). */
int64_t walk(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct node **out);

/* Finds the place of the path's last component. `out` must be empty. Two places may be in use at a time. */
int64_t walk_place(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct place *out);
void place_drop(struct place *p);
/* Declares a place whose nodes are dropped at the end of its scope. */
#define HELD_PLACE __attribute__((cleanup(place_drop)))
/* Copies a path into vfs.path. Returns its length or -errno. */
static inline int64_t path_in(struct grant path)
{
	return copy_string(vfs.path, PATH_MAX, path);
}
/* walk() with a path from a request. */
static inline int64_t find_node(const struct request *r, int32_t directory, struct grant path, uint32_t flags,
				struct node **out)
{
	TRY(path_in(path));
	return walk(r->task, directory, vfs.path, flags, out);
}
/* walk_place() with a path from a request. A link at its end is not followed. */
static inline int64_t find_place(const struct request *r, int32_t directory, struct grant path, struct place *out)
{
	TRY(path_in(path));
	return walk_place(r->task, directory, vfs.path, AT_SYMLINK_NOFOLLOW, out);
}
/* Checks MAY_* for the task's effective user. Returns 0, -EACCES, or -EROFS for writing on a read-only mount. */
int64_t permitted(uint32_t task, const struct node *n, unsigned wanted);
bool is_owner(uint32_t task, const struct node *n);
/* Root is in every group. */
bool is_in_group(const struct task_files *t, uint32_t group);
/* Writes the node's path from `root`, with NUL. If the node is not below `root`, the path starts at the topmost root
 * and `beyond` precedes it. Returns the length or -errno. */
int64_t path_of(const struct node *root, struct node *n, const char *beyond, char *to, size_t size);

/* Makes a file with type and permissions of `mode` (umask applied) at `path`, for mknod and for bind of a socket.
 * Checks EEXIST and permissions. `out` (held) may be NULL. */
int64_t make_at(uint32_t task, int32_t directory, const char *path, uint32_t mode, uint32_t device, struct node **out);

/* Initialises what all nodes have: mount, inode number, mode, owner, times and one reference. */
void node_begin(struct node *n, struct mount *m, const struct file_attributes *as);
/* Creates an entry with the attributes `as` (mode, device, size), or a link to `target`. Applies the umask and checks
 * permissions. */
int64_t create_in(uint32_t task, struct place *p, struct file_attributes *as, const char *target);

void stat_of_node(const struct node *n, struct linux_stat *s);
/* Finds and holds the node at a path or, without a path, of the descriptor. flags as in walk(). */
int64_t node_at(const struct request *r, int32_t directory, struct grant path, uint32_t flags, struct node **out);

/* Called at the service's start. */
int64_t mount_root(void);

#endif
