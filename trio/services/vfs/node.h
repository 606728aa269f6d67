/* node.h: nodes (inodes in memory) and files (open file descriptions), and the operations by which file systems,
 * devices, pipes and sockets implement them. */
#ifndef TRIO_VFS_NODE_H
#define TRIO_VFS_NODE_H

#include "port.h"
#include "abi/files.h"

struct vfs;
struct node;
struct file;
struct mount;

/* Nodes ------------------------------------------------------------------------------------------------------------ */

/* Where a name is to be made or removed: the directory (held), the path's last component (without NUL, at most NAME_MAX
 * bytes), and the node of that name (held; NULL: none). A zeroed place is empty. */
struct place {
	struct node *directory, *node;
	const char *name;
	uint32_t length;
	/* The path ended in a slash; the path ended in `.` or `..` or was only `/`. */
	bool slash, special;
};

/* Permissions have been checked. Results are 0 or more, or -errno; -EWAIT means to call again when the disk has
 * answered. A node in `out` is held for the caller. What a NULL means is said with each; without `create` none of the
 * calls that change a directory is made. */
struct node_operations {
	int64_t (*lookup)(struct node *directory, const char *name, size_t length, struct node **out);
	/* Makes a node of any type at the place; `device` is for special files, `target` of `size` bytes for links.
	 * Sets p->node, except for a link. */
	int64_t (*create)(struct place *p, const struct file_attributes *as, const char *target);
	int64_t (*link)(const struct place *p, struct node *to);
	/* Removes an empty directory or another file. */
	int64_t (*unlink)(const struct place *p);
	/* Replaces what is at `to`. Types have been checked. */
	int64_t (*rename)(const struct place *from, const struct place *to);
	/* The parent of a directory that is not its mount's root. NULL: the root. */
	int64_t (*parent)(struct node *directory, struct node **out);
	/* Writes one name of the node, without NUL (NAME_MAX + 1 bytes), and sets its directory. Returns the length, or
	 * -ENOENT if it has no name. */
	int64_t (*name)(struct node *node, char *to, struct node **directory);
	/* Writes a link's target, without NUL. Returns its length. */
	int64_t (*readlink)(struct node *link, char *to, size_t size);
	/* Follows a link that stands for a node and not for a path (/proc/PID/fd/N). NULL: readlink is used. */
	int64_t (*follow)(struct node *link, struct node **out);
	/* Updates the node's attributes. NULL: they are always current. */
	int64_t (*refresh)(struct node *node);
	/* Sets the attributes of `which` and the change time. NULL: they are only in memory. */
	int64_t (*set)(struct node *node, unsigned which, const struct file_attributes *to);
	/* NULL: -EINVAL. */
	int64_t (*truncate)(struct node *node, uint64_t size);
	/* Allocates `length` bytes from `from` on; `keep`: the size does not change. NULL: -EOPNOTSUPP. */
	int64_t (*allocate)(struct node *node, uint64_t from, uint64_t length, bool keep);
	/* Called before a file on the node is opened; sets file->state and, for a fifo, file->operations. Not called
	 * for links, sockets and devices. NULL: opening always succeeds. */
	int64_t (*open)(struct node *node, struct file *file);
	/* Returns the vm object of the file's pages, for mmap and execve, held for the caller. NULL: -ENODEV. */
	int64_t (*object)(struct node *node, uint32_t *object);
	/* Reads pages of that object now instead of when they are touched. They are copies, so shared mappings are
	 * read-only. NULL: the object's pages are the file itself. */
	int64_t (*bring)(struct node *node, uint64_t offset, uint64_t length);
	/* Reads bytes for execve without parking. Returns their number. NULL: the read of `files` does not park. */
	int64_t (*read)(struct node *node, uint64_t offset, struct grant to);
	/* NULL: there is nothing to write back. */
	int64_t (*sync)(struct node *node);
	/* Called when nobody holds the node: frees its memory, and the file if it has no link. */
	void (*forget)(struct node *node);
};

/* Each file system's own node begins with this. */
struct node {
	const struct node_operations *operations;
	/* The operations of an open regular file or directory. */
	const struct file_operations *files;
	struct mount *mount;
	/* The mount on top of it. */
	struct mount *covered_by;
	uint64_t inode, size, blocks;
	/* Nanoseconds since 1970. */
	int64_t accessed, modified, changed;
	uint32_t mode, owner, group, links;
	uint32_t references;
	/* Counts files open for writing; each running program counts -1. */
	int32_t writers;
	/* The number of a special file. */
	uint32_t device;
	/* A fifo's pipe (freed by fifo_forget), or the socket bound to this node; NULL: none. */
	void *special;
	/* Record locks and flocks, see files/locks.c. */
	struct lock *locks;
};

static inline struct node *node_hold(struct node *n)
{
	n->references++;
	return n;
}
void node_forgotten(struct node *n);
static inline void node_drop(struct node *n)
{
	if (--n->references == 0)
		node_forgotten(n);
}

/* Declares a variable whose node, if not NULL, is dropped at the end of its scope. */
#define HELD __attribute__((cleanup(node_leave)))
static inline void node_leave(struct node *const *n)
{
	if (*n != NULL)
		node_drop(*n);
}

/* Files: open file descriptions ------------------------------------------------------------------------------------ */

/* Bits of readiness, with the values of Linux's poll events (abi/poll.h). */
#define READY_IN 0x001
#define READY_OUT 0x004
#define READY_ERROR 0x008
#define READY_HANG_UP 0x010

/* `at` is the file's position or pread's and is advanced by the transfer. NULL means -EINVAL for read and write; for
 * the others it is said with each. The access mode has been checked. The answer is in r->result. */
struct file_operations {
	verdict (*read)(struct request *r, struct file *f, struct grant to, uint64_t *at);
	verdict (*write)(struct request *r, struct file *f, struct grant from, uint64_t *at);
	/* Both are called with at most SHARE_BYTES and may use the request's done, scratch[2] and scratch[3]. */
	bool by_shares;
	/* Returns the new position. NULL: seek and pread return -ESPIPE. */
	int64_t (*seek)(struct file *f, int64_t offset, uint32_t whence);
	/* Returns readiness, and calls watch() for what announces a change. NULL: always readable and writable. */
	uint32_t (*poll)(struct file *f);
	/* FIONREAD of files that are not regular. NULL: -ENOTTY. */
	int64_t (*readable)(struct file *f);
	/* `argument` is passed as a value, and as the grant `at` of the page that it points to. NULL: -ENOTTY. */
	verdict (*ioctl)(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at);
	/* Writes directory entries from f->position on as struct linux_dirent64. Returns bytes. NULL: -ENOTDIR. */
	int64_t (*entries)(struct file *f, struct grant to);
	/* Overrides the node's `object`; pages start at `offset`. NULL: the node's is used. */
	int64_t (*object)(struct file *f, uint64_t offset, uint64_t length, uint32_t *object);
	/* Fills in fstat's results of a file without a node. NULL: mode 0600, one link. */
	void (*stat)(struct file *f, struct linux_stat *to);
	/* F_SETPIPE_SZ, F_GETPIPE_SZ. NULL: -EBADF. */
	int64_t (*control)(struct file *f, uint32_t command, uint64_t argument);
	/* The text of /proc/PID/fd/N without a node; "%lu" stands for the inode of `stat`. */
	const char *kind;
	/* Called when the last descriptor is gone. It must unpark requests in its queues before it frees them. */
	void (*release)(struct file *f);
};

/* The operations of a file that has none of its own yet: dropping such a file leaves its state alone. */
extern const struct file_operations nothing;

/* A flag of our own: the file counts in its node's `writers`. */
#define FILE_COUNTS_AS_WRITER (1U << 31)

struct file {
	const struct file_operations *operations;
	uint64_t position;
	/* O_ACCMODE, O_APPEND, O_NONBLOCK, O_DIRECT, O_PATH and so on; O_CLOEXEC belongs to the descriptor. */
	uint32_t flags;
	uint32_t references;
	/* NULL for pipes, sockets and the like that were not opened by name. */
	struct node *node;
	/* Belongs to `operations`. */
	void *state;
	/* Set by F_SETOWN. */
	int32_t owner;
	/* How many epolls and, for a socket, packets name the file. These are no references, see file_stays(). */
	uint32_t named;
};

static inline bool file_reads(const struct file *f)
{
	return (f->flags & (O_WRONLY | O_PATH)) == 0;
}
static inline bool file_writes(const struct file *f)
{
	return (f->flags & (O_WRONLY | O_RDWR)) != 0 && (f->flags & O_PATH) == 0;
}

/* Makes a file with one reference, which also holds `node` (may be NULL). Returns 0, -ENOMEM or -ENFILE. */
int64_t file_make(const struct file_operations *operations, void *state, uint32_t flags, struct node *node,
		  struct file **out);
static inline struct file *file_hold(struct file *f)
{
	f->references++;
	return f;
}
void file_released(struct file *f);
static inline void file_drop(struct file *f)
{
	if (--f->references == 0)
		file_released(f);
}

#endif
