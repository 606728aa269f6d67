/* tmpfs.c: names and nodes in memory. A node lives while it has a name or is held. The number of a folder's links is 2
 * and one for each folder in it. */
#include "files/files.h"
#include "kernel.h"
#include "names/names.h"
#include "tmpfs/tmpfs.h"

#define LINKS_MOST 65000

static const struct node_operations folder_operations, plain_operations;
static const struct file_operations folder_files = { .entries = tmpfs_entries, .seek = seek_by_size };

int64_t tmpfs_make(struct mount *m, const struct file_attributes *as, struct node **out)
{
	struct tmpfs_mount *state = m->state;
	struct tmpfs_node *n;

	if (state->nodes_most != 0 && state->nodes >= state->nodes_most)
		return -ENOSPC;
	n = vfs_take(sizeof *n);
	if (n == NULL)
		return -ENOSPC;
	state->nodes++;
	node_begin(&n->node, m, as);
	n->node.operations = &plain_operations;
	n->node.files = &tmpfs_files;
	if (S_ISDIR(as->mode)) {
		n->node.operations = &folder_operations;
		n->node.files = &folder_files;
		n->node.links = 2;
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

/* A node that has just been made gets its name, or goes again. Keeps the caller's reference only if it has. */
static int64_t name_new(struct node *folder, const char *name, size_t length, struct node *n)
{
	/* A folder that has been removed takes no more names. */
	int64_t result =
		folder->links == 0 ? -ENOENT : folder_add(tmpfs_node_of(folder), name, length, tmpfs_node_of(n));

	if (result != 0) {
		n->links = 0;
		node_drop(n);
		return result == -ENOMEM ? -ENOSPC : result;
	}
	if (S_ISDIR(n->mode)) {
		tmpfs_node_of(n)->folder.parent = tmpfs_node_of(folder);
		folder->links++;
	}
	touch(folder);
	return 0;
}

static int64_t tmpfs_create(struct node *folder, const char *name, size_t length, const struct file_attributes *as,
			    struct node **out)
{
	int64_t result =
		S_ISDIR(as->mode) && folder->links >= LINKS_MOST ? -EMLINK : tmpfs_make(folder->mount, as, out);

	return result == 0 ? name_new(folder, name, length, *out) : result;
}

static int64_t tmpfs_symlink(struct node *folder, const char *name, size_t length, const struct file_attributes *as,
			     const char *target, size_t target_length)
{
	char *copy = vfs_take(target_length);
	struct node *n;
	int64_t result = copy == NULL ? -ENOSPC : tmpfs_make(folder->mount, as, &n);

	if (result != 0) {
		if (copy != NULL)
			vfs_give(copy, target_length);
		return result;
	}
	tmpfs_node_of(n)->data.target = memcpy(copy, target, target_length);
	n->size = target_length;
	result = name_new(folder, name, length, n);
	if (result == 0)
		node_drop(n);
	return result;
}

static int64_t tmpfs_link(struct node *folder, const char *name, size_t length, struct node *to)
{
	if (to->links >= LINKS_MOST)
		return -EMLINK;
	if (folder->links == 0 || to->links == 0)
		return -ENOENT;
	if (folder_add(tmpfs_node_of(folder), name, length, tmpfs_node_of(to)) != 0)
		return -ENOSPC;
	to->links++;
	touch(folder);
	to->changed = folder->changed;
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

static int64_t tmpfs_unlink(struct node *folder, const char *name, size_t length, struct node *node)
{
	struct entry *e = folder_find(tmpfs_node_of(folder), name, length);

	if (S_ISDIR(node->mode) && !list_is_empty(&tmpfs_node_of(node)->folder.entries))
		return -ENOTEMPTY;
	/* committed */
	folder_remove(e);
	touch(folder);
	unnamed(tmpfs_node_of(node), folder);
	return 0;
}

static bool lies_in(const struct tmpfs_node *inner, const struct tmpfs_node *outer)
{
	while (inner != outer && inner->folder.parent != inner)
		inner = inner->folder.parent;
	return inner == outer;
}

/* The new name's entry comes to stand for the node, or is made; then the old one goes. */
static int64_t tmpfs_rename(struct node *folder, const char *name, size_t length, struct node *node, struct node *to,
			    const char *new_name, size_t new_length, struct node *replaced)
{
	struct tmpfs_node *from_folder = tmpfs_node_of(folder), *to_folder = tmpfs_node_of(to);
	struct tmpfs_node *n = tmpfs_node_of(node), *old = replaced != NULL ? tmpfs_node_of(replaced) : NULL;
	struct entry *e = folder_find(from_folder, name, length), *new;

	if (S_ISDIR(node->mode) && lies_in(to_folder, n))
		return -EINVAL;
	if (to->links == 0)
		return -ENOENT;
	if (old != NULL && S_ISDIR(replaced->mode) && !list_is_empty(&old->folder.entries))
		return -ENOTEMPTY;
	if (old == NULL && folder_add(to_folder, new_name, new_length, n) != 0)
		return -ENOSPC;
	/* committed */
	touch(to);
	touch(folder);
	new = folder_find(to_folder, new_name, new_length);
	if (old != NULL) {
		if (old->entry == new)
			old->entry = NULL;
		new->node = n;
		unnamed(old, to);
	}
	n->entry = new;
	folder_remove(e);
	if (S_ISDIR(node->mode)) {
		n->folder.parent = to_folder;
		folder->links--;
		to->links++;
	}
	node->changed = folder->changed;
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

static int64_t tmpfs_sync(struct node *node)
{
	return 0;
}

static const struct node_operations folder_operations = { .lookup = tmpfs_lookup,
							  .create = tmpfs_create,
							  .symlink = tmpfs_symlink,
							  .link = tmpfs_link,
							  .unlink = tmpfs_unlink,
							  .rename = tmpfs_rename,
							  .parent = tmpfs_parent,
							  .name = tmpfs_name,
							  .sync = tmpfs_sync,
							  .forget = tmpfs_forget };
static const struct node_operations plain_operations = { .name = tmpfs_name,
							 .readlink = tmpfs_readlink,
							 .truncate = tmpfs_truncate,
							 .allocate = tmpfs_allocate,
							 .object = tmpfs_object,
							 .sync = tmpfs_sync,
							 .forget = tmpfs_forget };
