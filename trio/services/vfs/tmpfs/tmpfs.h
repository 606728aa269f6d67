/* tmpfs.h: a file system in memory: its nodes, and what its parts share. devfs and sysfs use it too. */
#ifndef TRIO_VFS_TMPFS_H
#define TRIO_VFS_TMPFS_H

#include "tree.h"
#include "vfs_internal.h"

/* statfs's type, also for /dev (Linux's number). */
#define TMPFS_MAGIC 0x01021994

/* A name in a directory; entry_size() bytes. */
struct entry {
	/* The links in its directory's list and in its bucket. */
	struct link link;
	struct entry *next;
	struct tmpfs_node *directory, *node;
	/* Its position for getdents. */
	uint64_t position;
	uint8_t length;
	char name[];
};

struct tmpfs_node {
	struct node node;
	/* One of its names; NULL: none. */
	struct entry *entry;
	union {
		struct {
			struct link entries;
			/* How many entries were ever added. */
			uint64_t added;
			/* The root is its own parent. A removed directory (without links) holds its parent for `..`. */
			struct tmpfs_node *parent;
		} directory;
		struct {
			/* The addresses of existing pages in this service. */
			struct tree pages;
			/* The vm object with the pages; 0: none yet. */
			uint32_t object;
			/* Others map the object, so it may have pages that are not in `pages`. */
			bool mapped;
		} data;
	};
	/* The target of a symbolic link, of the node's size. */
	char target[];
};

/* What a mount uses and may use, in pages and nodes; 0: as much as memory allows. */
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
/* Makes a node without a name, held; `target` of `size` bytes is for a link, or NULL. */
int64_t tmpfs_make(struct mount *m, const struct file_attributes *as, const char *target, struct node **out);
int64_t tmpfs_unlink(const struct place *p);
int64_t tmpfs_root(struct mount *m, uint32_t mode);
/* Adds a device, a link or a directory to the root of a new mount. */
int64_t tmpfs_add(struct mount *m, const char *name, uint32_t mode, uint32_t device, const char *target);
int64_t tmpfs_unmount(struct mount *m);
void tmpfs_numbers(struct mount *m, struct linux_statfs *to);

/* directory.c */
struct entry *directory_find(const struct tmpfs_node *directory, const char *name, size_t length);
/* Gives `node` one more name in a directory that has not been removed. */
int64_t directory_add(const struct place *p, struct tmpfs_node *node);
void directory_remove(struct entry *e);
int64_t tmpfs_entries(struct file *file, struct grant to);
/* Writes an entry for f->position to byte *at of `to` and advances both. Returns -EINVAL if there is no room. */
int64_t entry_put(struct file *f, struct grant to, uint64_t *at, uint64_t inode, uint32_t mode, const char *name,
		  size_t length);

/* data.c */
extern const struct file_operations tmpfs_files;
int64_t tmpfs_truncate(struct node *n, uint64_t size);
int64_t tmpfs_allocate(struct node *n, uint64_t from, uint64_t length, bool keep);
int64_t tmpfs_object(struct node *n, uint32_t *object);
/* Drops all pages. */
void data_drop(struct tmpfs_node *n);

#endif
