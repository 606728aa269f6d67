/* remote.h: files of a file system that is another service; shared by remote.c (names), data.c and pages.c. */
#ifndef TRIO_VFS_REMOTE_H
#define TRIO_VFS_REMOTE_H

#include "vfs_internal.h"

#define REMOTE_NAME 64

struct remote_node {
	struct node node;
	/* Links in the mount's hash table, and in the list of unused nodes. */
	struct remote_node *next;
	struct link idle;
	/* The directory it was found in (held; NULL for the root) and its name there. */
	struct remote_node *parent;
	/* The vm object of the file's pages; 0: none. `mapped`: others hold the object, so the node is held too until
	 * vm reports that they do not. */
	uint32_t object;
	bool mapped;
	/* The attributes have changed on the disk and could not be read. The next lookup reads them. */
	bool stale;
	/* fs was restarted and does not hold the inode. */
	bool let_go;
	uint8_t length;
	char name[REMOTE_NAME];
};

#define REMOTE_BUCKETS 64

/* A bit for each inode, by its number modulo REMOTE_BITS. `changed`: since the last sync. `lost`: such a change was
 * lost and the next fsync reports it; if two files share a bit, one too many. */
#define REMOTE_BITS 65536UL
struct remote_changes {
	uint64_t changed[REMOTE_BITS / 64], lost[REMOTE_BITS / 64];
};

struct remote_mount {
	/* The number that fs gave the mount. */
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
/* fs's numbers of the node's mount and of its inode. */
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

/* remote.c: makes the node of an inode that fs holds for us and that has no node yet. It has one reference. */
int64_t remote_node_new(struct mount *m, uint32_t inode, struct node **out);
/* Ends the node that has been unused for the longest time. */
void remote_idle_end(struct remote_mount *m);

/* Takes fs's count of its starts. If it has grown, all unsynced changes are lost, and all nodes of all mounts must be
 * held again as soon as the disk allows. */
void remote_began(uint32_t starts);
/* Returns whether there were nodes to hold again. */
bool remote_holds_again(void);

/* data.c */
extern const struct file_operations remote_files;
int64_t remote_truncate(struct node *n, uint64_t size);
int64_t remote_program_read(struct node *n, uint64_t offset, struct grant to);

/* pages.c */
int64_t remote_object(struct node *n, uint32_t *object);
/* Reads pages into memory. Returns 0 or -errno. */
int64_t remote_bring(struct node *n, uint64_t offset, uint64_t length);
/* Mappings show the bytes written at `offset`, which `from` has. */
void remote_pages_written(struct remote_node *n, uint64_t offset, struct grant from);
/* To be called when the file has another size. */
void remote_pages_resize(struct remote_node *n);
void remote_pages_drop(struct remote_node *n);
/* To be called when vm may have something to do. */
void remote_pages_wanted(void);

#endif
