/* tmpfs.c: names and nodes in memory. A node lives while it has a name or is held. The number of a folder's links is 2
 * and one for each folder in it. */
#include "files/files.h"
#include "kernel.h"
#include "names/names.h"
#include "tmpfs/tmpfs.h"

#define LINKS_MOST 65000

static const struct node_operations operations;
static const struct file_operations folder_files = { .entries = tmpfs_entries, .seek = seek_by_size };

int64_t tmpfs_make(struct mount *m, const struct file_attributes *as, const char *target, struct node **out)
{
	struct tmpfs_mount *state = m->state;
	struct tmpfs_node *n;

	if (state->nodes_most != 0 && state->nodes >= state->nodes_most)
		return -ENOSPC;
	n = vfs_take(sizeof *n);
	if (n == NULL)
		return -ENOSPC;
	if (target != NULL) {
		n->data.target = vfs_take(as->size);
		if (n->data.target == NULL) {
			vfs_give(n, sizeof *n);
			return -ENOSPC;
		}
		memcpy(n->data.target, target, as->size);
		n->node.size = as->size;
	}
	state->nodes++;
	node_begin(&n->node, m, as);
	n->node.operations = &operations;
	n->node.files = &tmpfs_files;
	if (S_ISDIR(as->mode)) {
		n->node.files = &folder_files;
		n->node.links = 2;
		n->folder.parent = n;
		list_start(&n->folder.entries);
	}
	*out = &n->node;
	return 0;
}

/* Returns what the node has held: the folder above a removed one. */
static struct tmpfs_node *node_end(struct tmpfs_node *n)
{
	struct tmpfs_node *parent = NULL;

	if (S_ISREG(n->node.mode))
		data_drop(n);
	else if (S_ISLNK(n->node.mode))
		vfs_give(n->data.target, n->node.size);
	else if (S_ISDIR(n->node.mode) && n->folder.parent != n)
		parent = n->folder.parent;
	tmpfs_mount_of(n)->nodes--;
	vfs_give(n, sizeof *n);
	return parent;
}

/* Removed folders may hold each other in a long row: not by recursion. */
static void nameless_forget(struct tmpfs_node *n)
{
	while (n != NULL && n->node.links == 0) {
		n = node_end(n);
		if (n != NULL && --n->node.references > 0)
			return;
	}
}

/* Each step of a walk comes here. */
static void tmpfs_forget(struct node *node)
{
	if (node->links == 0)
		nameless_forget(tmpfs_node_of(node));
}

static int64_t tmpfs_lookup(struct node *folder, const char *name, size_t length, struct node **out)
{
	struct entry *e = folder_find(tmpfs_node_of(folder), name, length);

	if (e == NULL)
		return -ENOENT;
	*out = node_hold(&e->node->node);
	return 0;
}

static void touch(struct node *folder)
{
	folder->modified = folder->changed = vfs_time();
}

/* The node has its name once it is made, or goes again. */
static int64_t tmpfs_create(struct place *p, const struct file_attributes *as, const char *target)
{
	struct node *folder = p->folder, *n;
	int64_t result;

	if (S_ISDIR(as->mode) && folder->links >= LINKS_MOST)
		return -EMLINK;
	TRY(tmpfs_make(folder->mount, as, target, &n));
	result = folder_add(p, tmpfs_node_of(n));
	if (result != 0) {
		n->links = 0;
		node_drop(n);
		return result;
	}
	p->node = n;
	if (S_ISDIR(n->mode)) {
		tmpfs_node_of(n)->folder.parent = tmpfs_node_of(folder);
		folder->links++;
	}
	touch(folder);
	return 0;
}

static int64_t tmpfs_link(const struct place *p, struct node *to)
{
	if (to->links >= LINKS_MOST)
		return -EMLINK;
	if (to->links == 0)
		return -ENOENT;
	TRY(folder_add(p, tmpfs_node_of(to)));
	to->links++;
	touch(p->folder);
	to->changed = p->folder->changed;
	return 0;
}

/* `n` has one name fewer; a folder none. */
static void unnamed(struct tmpfs_node *n, struct node *folder)
{
	if (S_ISDIR(n->node.mode)) {
		n->folder.parent = tmpfs_node_of(folder);
		n->node.links = 0;
		node_hold(folder);
		folder->links--;
	} else {
		n->node.links--;
	}
	n->node.changed = folder->changed;
}

static struct entry *entry_at(const struct place *p)
{
	return folder_find(tmpfs_node_of(p->folder), p->name, p->length);
}

static bool is_full_folder(struct node *n)
{
	return S_ISDIR(n->mode) && !list_is_empty(&tmpfs_node_of(n)->folder.entries);
}

int64_t tmpfs_unlink(const struct place *p)
{
	if (is_full_folder(p->node))
		return -ENOTEMPTY;
	/* committed */
	folder_remove(entry_at(p));
	touch(p->folder);
	unnamed(tmpfs_node_of(p->node), p->folder);
	return 0;
}

static bool lies_in(const struct tmpfs_node *inner, const struct tmpfs_node *outer)
{
	while (inner != outer && inner->folder.parent != inner)
		inner = inner->folder.parent;
	return inner == outer;
}

/* The new name's entry comes to stand for the node, or is made; then the old one goes. */
static int64_t tmpfs_rename(const struct place *from, const struct place *to)
{
	struct tmpfs_node *n = tmpfs_node_of(from->node), *old;
	struct entry *e = entry_at(from), *new;

	if (S_ISDIR(n->node.mode) && lies_in(tmpfs_node_of(to->folder), n))
		return -EINVAL;
	if (to->node == NULL)
		TRY(folder_add(to, n));
	else if (is_full_folder(to->node))
		return -ENOTEMPTY;
	/* committed */
	touch(to->folder);
	touch(from->folder);
	new = entry_at(to);
	if (to->node != NULL) {
		old = tmpfs_node_of(to->node);
		if (old->entry == new)
			old->entry = NULL;
		new->node = n;
		unnamed(old, to->folder);
	}
	n->entry = new;
	folder_remove(e);
	if (S_ISDIR(n->node.mode)) {
		n->folder.parent = tmpfs_node_of(to->folder);
		from->folder->links--;
		to->folder->links++;
	}
	n->node.changed = from->folder->changed;
	return 0;
}

static int64_t tmpfs_parent(struct node *folder, struct node **out)
{
	*out = node_hold(&tmpfs_node_of(folder)->folder.parent->node);
	return 0;
}

static int64_t tmpfs_name(struct node *node, char *to, struct node **folder)
{
	struct entry *e = tmpfs_node_of(node)->entry;

	if (e == NULL)
		return -ENOENT;
	memcpy(to, e->name, e->length);
	*folder = node_hold(&e->folder->node);
	return e->length;
}

static int64_t tmpfs_readlink(struct node *link, char *to, size_t size)
{
	size_t length = MIN(size, link->size);

	memcpy(to, tmpfs_node_of(link)->data.target, length);
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
