/* tmpfs.h: a file system in memory: its nodes, and what its parts share. devfs and sysfs are made of it too. */
#ifndef TRIO_VFS_TMPFS_H
#define TRIO_VFS_TMPFS_H

#include "tree.h"
#include "vfs_internal.h"

/* statfs's type, also of /dev (Linux's number). */
#define TMPFS_MAGIC 0x01021994

/* A name in a directory; memory of entry_size() bytes. */
struct entry {
	/* In its directory; the next of its bucket. */
	struct link link;
	struct entry *next;
	struct tmpfs_node *directory, *node;
	/* The place at which getdents shows it. */
	uint64_t position;
	uint8_t length;
	char name[];
};

struct tmpfs_node {
	struct node node;
	/* One of the names it has, NULL: none. */
	struct entry *entry;
	union {
		struct {
			struct link entries;
			/* How many have ever been in it. */
			uint64_t added;
			/* The root's is itself. Once removed (no links), it is held for what `..` still is. */
			struct tmpfs_node *parent;
		} directory;
		struct {
			/* Where this service reads and writes each page that there is. */
			struct tree pages;
			/* The vm object that has them, 0: none yet. */
			uint32_t object;
			/* Others map it: pages may have come that are not in `pages`. */
			bool mapped;
		} data;
	};
	/* A symbolic link's, of the node's size. */
	char target[];
};

/* Of a mount: what it may have, 0: what memory allows. Bytes, nodes. */
struct tmpfs_mount {
	uint64_t pages, pages_most, nodes, nodes_most;
};

static inline struct tmpfs_node *tmpfs_node_of(struct node *n)
{
	return CONTAINER(n, struct tmpfs_node, node);
}
static inline struct tmpfs_mount *tmpfs_mount_of(struct tmpfs_node *n)
{
	return n->node.mount->state;
}

/* tmpfs.c */
/* A node without a name yet, held; `target` of `size` bytes is a link's, or NULL. */
int64_t tmpfs_make(struct mount *m, const struct file_attributes *as, const char *target, struct node **out);
int64_t tmpfs_unlink(const struct place *p);
int64_t tmpfs_root(struct mount *m, uint32_t mode);
/* A device's node, a link or a directory in the root of a mount, at its making. */
int64_t tmpfs_add(struct mount *m, const char *name, uint32_t mode, uint32_t device, const char *target);
int64_t tmpfs_unmount(struct mount *m);
void tmpfs_numbers(struct mount *m, struct linux_statfs *to);

/* directory.c */
struct entry *directory_find(const struct tmpfs_node *directory, const char *name, size_t length);
/* `node` gets one more name, in a directory that has not been removed. */
int64_t directory_add(const struct place *p, struct tmpfs_node *node);
void directory_remove(struct entry *e);
int64_t tmpfs_entries(struct file *file, struct grant to);
/* What stands at the position of a directory's file goes to byte *at of `to`; both move past it. -EINVAL: no room. */
int64_t entry_put(struct file *f, struct grant to, uint64_t *at, uint64_t inode, uint32_t mode, const char *name,
		  size_t length);

/* data.c */
extern const struct file_operations tmpfs_files;
int64_t tmpfs_truncate(struct node *n, uint64_t size);
int64_t tmpfs_allocate(struct node *n, uint64_t from, uint64_t length, bool keep);
int64_t tmpfs_object(struct node *n, uint32_t *object);
/* All of it goes. */
void data_drop(struct tmpfs_node *n);

#endif
