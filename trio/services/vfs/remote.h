/* remote.h: files of a file system that is a service of its own: what remote.c (names) and remote_data.c share. */
#ifndef TRIO_VFS_REMOTE_H
#define TRIO_VFS_REMOTE_H

#include "radix.h"
#include "vfs_internal.h"

#define REMOTE_NAME 64
#define ROOT_INODE 1

struct remote_node {
	struct node node;
	/* In the mount's table, and among those that nobody holds. */
	struct remote_node *next;
	struct link idle;
	/* Where it was found, held; NULL for the root. Its name there. */
	struct remote_node *parent;
	/* Pages copied for mappings and programs: the object, 0 without, and where its pages lie. Gone at the next
	 * write. */
	uint32_t object;
	struct radix pages;
	uint8_t length;
	char name[REMOTE_NAME];
};

#define REMOTE_BUCKETS 64

struct remote_mount {
	/* fs's number. */
	uint32_t number, idle_count;
	struct remote_node *buckets[REMOTE_BUCKETS];
	struct link idle;
};

static inline struct remote_node *remote_of(struct node *n)
{
	return CONTAINER(n, struct remote_node, node);
}
static inline struct remote_mount *remote_mount_of(const struct node *n)
{
	return n->mount->state;
}

/* remote.c */
int64_t remote_refresh(struct vfs *v, struct node *n);
/* The node of an inode that has none yet and is held for it, with one reference. */
int64_t remote_node_new(struct vfs *v, struct mount *m, uint32_t inode, struct remote_node **out);
/* Of those that nobody holds, the one that has been unused for the longest goes. */
void remote_idle_end(struct vfs *v, struct remote_mount *m);

/* remote_data.c */
extern const struct file_operations remote_files;
int64_t remote_truncate(struct vfs *v, struct node *n, uint64_t size);
int64_t remote_object(struct vfs *v, struct node *n, uint64_t offset, uint64_t length, uint32_t *object, uint64_t *at);
int64_t remote_program_read(struct vfs *v, struct node *n, uint64_t offset, struct grant to);
void remote_pages_drop(struct vfs *v, struct remote_node *n);

#endif
