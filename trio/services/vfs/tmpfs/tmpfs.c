/* tmpfs.c: names and nodes in memory. A node lives while it has a name or is held. A directory has 2 links and one for
 * each directory in it. */
#include "files/files.h"
#include "kernel.h"
#include "names/names.h"
#include "tmpfs/tmpfs.h"

#define LINKS_MOST 65000

static const struct node_operations operations;
static const struct file_operations directory_files = { .entries = tmpfs_entries, .seek = seek_by_size };

static size_t node_bytes(uint32_t mode, uint64_t size)
{
	return sizeof(struct tmpfs_node) + (S_ISLNK(mode) ? size : 0);
}

int64_t tmpfs_make(struct mount *m, const struct file_attributes *as, const char *target, struct node **out)
{
	struct tmpfs_mount *state = m->state;
	struct tmpfs_node *n;

	if (state->nodes_most != 0 && state->nodes >= state->nodes_most)
		return -ENOSPC;
	n = heap_allocate(node_bytes(as->mode, as->size));
	if (n == NULL)
		return -ENOSPC;
	if (target != NULL) {
		memcpy(n->target, target, as->size);
		n->node.size = as->size;
	}
	state->nodes++;
	node_begin(&n->node, m, as);
	n->node.operations = &operations;
	n->node.files = &tmpfs_files;
	if (S_ISDIR(as->mode)) {
		n->node.files = &directory_files;
		n->node.links = 2;
		n->directory.parent = n;
		list_start(&n->directory.entries);
	}
	*out = &n->node;
	return 0;
}

/* Frees the node. Returns the parent that a removed directory has held. */
static struct tmpfs_node *node_end(struct tmpfs_node *n)
{
	struct tmpfs_node *parent = NULL;

	if (S_ISREG(n->node.mode))
		data_drop(n);
	else if (S_ISDIR(n->node.mode) && n->directory.parent != n)
		parent = n->directory.parent;
	tmpfs_mount_of(n)->nodes--;
	heap_free(n, node_bytes(n->node.mode, n->node.size));
	return parent;
}

/* Each step of a walk calls this. Removed directories may hold each other in a long chain, so it does not recurse. */
static void tmpfs_forget(struct node *node)
{
	struct tmpfs_node *n = tmpfs_node_of(node);

	while (n->node.links == 0) {
		n = node_end(n);
		if (n == NULL || --n->node.references > 0)
			return;
	}
}

static int64_t tmpfs_lookup(struct node *directory, const char *name, size_t length, struct node **out)
{
	struct entry *e = directory_find(tmpfs_node_of(directory), name, length);

	if (e == NULL)
		return -ENOENT;
	*out = node_hold(&e->node->node);
	return 0;
}

static void touch(struct node *directory)
{
	directory->modified = directory->changed = vfs_time();
}

/* Undoes the making of the node if it cannot get its name. */
static int64_t tmpfs_create(struct place *p, const struct file_attributes *as, const char *target)
{
	struct node *directory = p->directory, *n;
	int64_t result;

	if (S_ISDIR(as->mode) && directory->links >= LINKS_MOST)
		return -EMLINK;
	TRY(tmpfs_make(directory->mount, as, target, &n));
	result = directory_add(p, tmpfs_node_of(n));
	if (result != 0) {
		n->links = 0;
		node_drop(n);
		return result;
	}
	p->node = n;
	if (S_ISDIR(n->mode)) {
		tmpfs_node_of(n)->directory.parent = tmpfs_node_of(directory);
		directory->links++;
	}
	touch(directory);
	return 0;
}

static int64_t tmpfs_link(const struct place *p, struct node *to)
{
	if (to->links >= LINKS_MOST)
		return -EMLINK;
	if (to->links == 0)
		return -ENOENT;
	TRY(directory_add(p, tmpfs_node_of(to)));
	to->links++;
	touch(p->directory);
	to->changed = p->directory->changed;
	return 0;
}

/* Counts one name less. A directory has no name then. */
static void unnamed(struct tmpfs_node *n, struct node *directory)
{
	if (S_ISDIR(n->node.mode)) {
		n->directory.parent = tmpfs_node_of(directory);
		n->node.links = 0;
		node_hold(directory);
		directory->links--;
	} else {
		n->node.links--;
	}
	n->node.changed = directory->changed;
}

static struct entry *entry_at(const struct place *p)
{
	return directory_find(tmpfs_node_of(p->directory), p->name, p->length);
}

static bool is_full_directory(struct node *n)
{
	return S_ISDIR(n->mode) && !list_is_empty(&tmpfs_node_of(n)->directory.entries);
}

int64_t tmpfs_unlink(const struct place *p)
{
	if (is_full_directory(p->node))
		return -ENOTEMPTY;
	/* committed */
	directory_remove(entry_at(p));
	touch(p->directory);
	unnamed(tmpfs_node_of(p->node), p->directory);
	return 0;
}

static bool lies_in(const struct tmpfs_node *inner, const struct tmpfs_node *outer)
{
	while (inner != outer && inner->directory.parent != inner)
		inner = inner->directory.parent;
	return inner == outer;
}

/* The new name's entry is changed or made, then the old entry is removed. */
static int64_t tmpfs_rename(const struct place *from, const struct place *to)
{
	struct tmpfs_node *n = tmpfs_node_of(from->node), *old;
	struct entry *e = entry_at(from), *new;

	if (S_ISDIR(n->node.mode) && lies_in(tmpfs_node_of(to->directory), n))
		return -EINVAL;
	if (to->node == NULL)
		TRY(directory_add(to, n));
	else if (is_full_directory(to->node))
		return -ENOTEMPTY;
	/* committed */
	touch(to->directory);
	touch(from->directory);
	new = entry_at(to);
	if (to->node != NULL) {
		old = tmpfs_node_of(to->node);
		if (old->entry == new)
			old->entry = NULL;
		new->node = n;
		unnamed(old, to->directory);
	}
	n->entry = new;
	directory_remove(e);
	if (S_ISDIR(n->node.mode)) {
		n->directory.parent = tmpfs_node_of(to->directory);
		from->directory->links--;
		to->directory->links++;
	}
	n->node.changed = from->directory->changed;
	return 0;
}

static int64_t tmpfs_parent(struct node *directory, struct node **out)
{
	*out = node_hold(&tmpfs_node_of(directory)->directory.parent->node);
	return 0;
}

static int64_t tmpfs_name(struct node *node, char *to, struct node **directory)
{
	struct entry *e = tmpfs_node_of(node)->entry;

	if (e == NULL)
		return -ENOENT;
	memcpy(to, e->name, e->length);
	*directory = node_hold(&e->directory->node);
	return e->length;
}

static int64_t tmpfs_readlink(struct node *link, char *to, size_t size)
{
	size_t length = MIN(size, link->size);

	memcpy(to, tmpfs_node_of(link)->target, length);
	return (int64_t)length;
}

static const struct node_operations operations = { .lookup = tmpfs_lookup,
						   .create = tmpfs_create,
						   .link = tmpfs_link,
						   .unlink = tmpfs_unlink,
						   .rename = tmpfs_rename,
						   .parent = tmpfs_parent,
						   .name = tmpfs_name,
						   .readlink = tmpfs_readlink,
						   .truncate = tmpfs_truncate,
						   .allocate = tmpfs_allocate,
						   .object = tmpfs_object,
						   .forget = tmpfs_forget };
