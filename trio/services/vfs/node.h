/* node.h: nodes (inodes in memory) and files (open file descriptions), and the operations by which a file system, a
 * device, a pipe or a socket gives them their meaning. */
#ifndef TRIO_VFS_NODE_H
#define TRIO_VFS_NODE_H

#include "port.h"
#include "abi/files.h"

struct vfs;
struct node;
struct file;
struct mount;

/* Nodes ------------------------------------------------------------------------------------------------------------ */

/* Where a name is to be made or removed: the directory (held), the last component of a path, not NUL-terminated and at
 * most NAME_MAX long, and what stands there (held; NULL: nothing). Zeros are none. */
struct place {
	struct node *directory, *node;
	const char *name;
	uint32_t length;
	/* The path ended in a slash; in `.`, `..` or nothing at all. */
	bool slash, special;
};

/* Permissions have been checked. Results: 0 or more, or -errno (-EWAIT: ask again when the disk has answered). A node
 * that comes back in `out` is held for the caller. NULL: what stands with each; a directory without `create` changes by
 * none of the calls that change one. */
struct node_operations {
	int64_t (*lookup)(struct node *directory, const char *name, size_t length, struct node **out);
	/* Of any type; `device` for special files, `target` of `size` bytes for a link. It stands at the place then,
	 * where it is not a link. */
	int64_t (*create)(struct place *p, const struct file_attributes *as, const char *target);
	int64_t (*link)(const struct place *p, struct node *to);
	/* Of an empty directory, or anything else. */
	int64_t (*unlink)(const struct place *p);
	/* What stands at `to` goes. Types have been checked. */
	int64_t (*rename)(const struct place *from, const struct place *to);
	/* Of a directory that is not its mount's root. NULL: the root. */
	int64_t (*parent)(struct node *directory, struct node **out);
	/* One name under which the node stands, without NUL (NAME_MAX + 1 bytes), and the directory. Returns its
	 * length; -ENOENT: it stands under none. */
	int64_t (*name)(struct node *node, char *to, struct node **directory);
	/* A link's target, without NUL. Returns its length. */
	int64_t (*readlink)(struct node *link, char *to, size_t size);
	/* For a link that stands for a node and not for a path (/proc/PID/fd/N). NULL: by readlink. */
	int64_t (*follow)(struct node *link, struct node **out);
	/* Brings mode, owner, size and so on of the node up to date. NULL: they always are. */
	int64_t (*refresh)(struct node *node);
	/* SET_* of `to` take effect, and the change time is now. NULL: in memory alone. */
	int64_t (*set)(struct node *node, unsigned which, const struct file_attributes *to);
	/* NULL: -EINVAL. */
	int64_t (*truncate)(struct node *node, uint64_t size);
	/* Room from `from` for `length` bytes; `keep`: the size stays. NULL: -EOPNOTSUPP. */
	int64_t (*allocate)(struct node *node, uint64_t from, uint64_t length, bool keep);
	/* Before a file on the node is made: sets file->state, and a fifo's file->operations. NULL: always possible. A
	 * link's, socket's or device's is not asked. */
	int64_t (*open)(struct node *node, struct file *file);
	/* The vm object of the file's pages, for mmap and execve, held for the caller. NULL: -ENODEV. */
	int64_t (*object)(struct node *node, uint32_t *object);
	/* Reads the pages of such an object, which else is done when they are touched. They are copies, so that a
	 * shared mapping cannot be written through. NULL: they always are there, and the file's own. */
	int64_t (*bring)(struct node *node, uint64_t offset, uint64_t length);
	/* Bytes for execve, where the files' read may park. Returns how many. NULL: by the files' read. */
	int64_t (*read)(struct node *node, uint64_t offset, struct grant to);
	/* NULL: there is nothing to be done. */
	int64_t (*sync)(struct node *node);
	/* Nobody holds it any more: frees its memory, and the file where it has no link. */
	void (*forget)(struct node *node);
};

/* A file system's own node begins with this. */
struct node {
	const struct node_operations *operations;
	/* What a regular file or a directory does when it is open. */
	const struct file_operations *files;
	struct mount *mount;
	/* What is mounted on it. */
	struct mount *covered_by;
	uint64_t inode, size, blocks;
	/* Nanoseconds since 1970. */
	int64_t accessed, modified, changed;
	uint32_t mode, owner, group, links;
	uint32_t references;
	/* Files open for writing on it; programs that run from it count as -1 each. */
	int32_t writers;
	/* Of a special file: its number. */
	uint32_t device;
	/* A fifo's pipe, the socket bound here: who stands there. NULL without. A fifo's is dropped by fifo_forget. */
	void *special;
	/* Record locks and flocks. files/locks.c */
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

/* A variable whose node is dropped where its scope ends; NULL: there is none. */
#define HELD __attribute__((cleanup(node_leave)))
static inline void node_leave(struct node *const *n)
{
	if (*n != NULL)
		node_drop(*n);
}

/* Files: open file descriptions ------------------------------------------------------------------------------------ */

/* Bits of readiness: Linux's POLLIN and so on, which abi/poll.h has too. */
#define READY_IN 0x001
#define READY_OUT 0x004
#define READY_ERROR 0x008
#define READY_HANG_UP 0x010

/* `at`: the file's position or pread's; to be advanced by what was done. NULL: -EINVAL for read and write, and what
 * stands with each. The file is open for what is asked. r->result is the answer. */
struct file_operations {
	verdict (*read)(struct request *r, struct file *f, struct grant to, uint64_t *at);
	verdict (*write)(struct request *r, struct file *f, struct grant from, uint64_t *at);
	/* Both are given SHARE_BYTES at a time at most, and may use the request's done, scratch[2] and scratch[3]. */
	bool by_shares;
	/* Returns the new position. NULL: -ESPIPE, and pread too. */
	int64_t (*seek)(struct file *f, int64_t offset, uint32_t whence);
	/* Readiness now. NULL: always to read and to write. It calls watch() with what tells of a change. */
	uint32_t (*poll)(struct file *f);
	/* FIONREAD, where the file is not a regular one. NULL: -ENOTTY. */
	int64_t (*readable)(struct file *f);
	/* `argument`: as given, and as a grant of what it points to (a page). NULL: -ENOTTY. */
	verdict (*ioctl)(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at);
	/* Entries of a directory from f->position on, as struct linux_dirent64. Returns bytes. NULL: -ENOTDIR. */
	int64_t (*entries)(struct file *f, struct grant to);
	/* The same where it is not the node's: with pages from `offset` on. NULL: the node's. */
	int64_t (*object)(struct file *f, uint64_t offset, uint64_t length, uint32_t *object);
	/* For fstat, where the file has no node. Fills mode, inode, owner and so on. NULL: mode 0600, one link. */
	void (*stat)(struct file *f, struct linux_stat *to);
	/* F_SETPIPE_SZ, F_GETPIPE_SZ. NULL: -EBADF. */
	int64_t (*control)(struct file *f, uint32_t command, uint64_t argument);
	/* The text of /proc/PID/fd/N where there is no node, with "%lu" for the inode that `stat` tells, if it does. */
	const char *kind;
	/* The last descriptor is gone. Requests that are parked in its queues must be unparked before memory is
	 * given. */
	void (*release)(struct file *f);
};

/* A file's before it has its own: dropping it leaves its state alone. */
extern const struct file_operations nothing;

/* In a file's flags beside Linux's: it counts in its node's `writers`. */
#define FILE_COUNTS_AS_WRITER (1U << 31)

struct file {
	const struct file_operations *operations;
	uint64_t position;
	/* O_ACCMODE, O_APPEND, O_NONBLOCK, O_DIRECT, O_PATH …; O_CLOEXEC is the descriptor's. */
	uint32_t flags;
	uint32_t references;
	/* NULL for a pipe, a socket and the like that was not opened by name. */
	struct node *node;
	/* The owner's of `operations`. */
	void *state;
	/* Of F_SETOWN. */
	int32_t owner;
	/* How often epolls name it, and, if it is a socket's, packets. Those are no references: file_stays(). */
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

/* A file with one reference, which takes `node` (held once more; NULL without). 0, -ENOMEM, -ENFILE. */
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
