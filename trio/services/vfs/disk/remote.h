/* remote.h: files of a file system that is a service of its own: what remote.c (names), data.c and pages.c share. */
#ifndef TRIO_VFS_REMOTE_H
#define TRIO_VFS_REMOTE_H

#include "vfs_internal.h"

#define REMOTE_NAME 64

struct remote_node {
	struct node node;
	/* In the mount's table, and among those that nobody holds. */
	struct remote_node *next;
	struct link idle;
	/* Where it was found, held; NULL for the root. Its name there. */
	struct remote_node *parent;
	/* Pages for mappings and programs, read as they are touched: the object, 0 without. `mapped`: it is told of
	 * when nobody holds that any more, and until then the node is held for it. */
	uint32_t object;
	bool mapped;
	/* Its attributes changed on the disk and could not be had then: who finds the node next waits for them. */
	bool stale;
	/* fs has begun anew since the node was held. */
	bool let_go;
	uint8_t length;
	char name[REMOTE_NAME];
};

#define REMOTE_BUCKETS 64

/* A bit an inode, by its number modulo REMOTE_BITS: changed since it was synced; so that the change is lost, which the
 * next fsync says. A bit that two share says it once too often. */
#define REMOTE_BITS 65536UL
struct remote_changes {
	uint64_t changed[REMOTE_BITS / 64], lost[REMOTE_BITS / 64];
};

struct remote_mount {
	/* fs's number. */
	uint32_t number, idle_count;
	struct remote_node *buckets[REMOTE_BUCKETS];
	struct link idle;
	struct remote_changes *changes;
};

static inline struct remote_node *remote_of(struct node *n)
{
	return CONTAINER(n, struct remote_node, node);
}
static inline struct remote_mount *remote_mount_of(const struct node *n)
{
	return n->mount->state;
}
/* As fs knows the node: its mount's number, its own. */
static inline uint32_t remote_number(const struct node *n)
{
	return remote_mount_of(n)->number;
}
static inline uint32_t remote_inode(const struct node *n)
{
	return (uint32_t)n->inode;
}

static inline bool bit_is(const uint64_t *bits, const struct node *n)
{
	return bits[n->inode % REMOTE_BITS / 64] >> n->inode % 64 & 1;
}
static inline void bit_set(uint64_t *bits, const struct node *n, bool on)
{
	uint64_t *word = &bits[n->inode % REMOTE_BITS / 64], bit = 1UL << n->inode % 64;

	*word = on ? *word | bit : *word & ~bit;
}
static inline void remote_changed(const struct node *n)
{
	bit_set(remote_mount_of(n)->changes->changed, n, true);
}

/* remote.c */
/* The node of an inode that has none yet and is held for it, with one reference. */
int64_t remote_node_new(struct mount *m, uint32_t inode, struct node **out);
/* Of those that nobody holds, the one that has been unused for the longest goes. */
void remote_idle_end(struct remote_mount *m);

/* What fs said of how often it was started. If it has begun anew, all changes are lost, and all nodes of all mounts are
 * to be held again, as soon as the disk allows it. */
void remote_began(uint32_t starts);
/* Whether there were any to hold again. */
bool remote_holds_again(void);

/* data.c */
extern const struct file_operations remote_files;
int64_t remote_truncate(struct node *n, uint64_t size);
int64_t remote_program_read(struct node *n, uint64_t offset, struct grant to);

/* pages.c */
int64_t remote_object(struct node *n, uint32_t *object);
/* Makes pages be there. 0, or -errno. */
int64_t remote_bring(struct node *n, uint64_t offset, uint64_t length);
/* Bytes have been written, from `from`'s beginning on: mappings show them. */
void remote_pages_written(struct remote_node *n, uint64_t offset, struct grant from);
/* The file has another size. */
void remote_pages_resize(struct remote_node *n);
void remote_pages_drop(struct remote_node *n);
/* vm has something to do, or may have. */
void remote_pages_wanted(void);

#endif
