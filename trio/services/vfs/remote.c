/* remote.c: names and nodes of a file system that is a service of its own (fs.idl). Every node here stands for an inode
 * that is held there; some that nobody uses are kept, since they are likely to be looked up again. A call that has to
 * wait says -EWAIT and changes nothing. */
#include "fs.h"
#include "handlers.h"
#include "remote.h"

#define IDLE_MOST 64

extern const struct file_operations remote_folder_files;
static const struct node_operations folder_operations, plain_operations;

static struct grant name_grant(const char *name, size_t length)
{
	return grant_read(name, length);
}

static uint32_t number_of(const struct node *n)
{
	return remote_mount_of(n)->number;
}

static uint32_t inode_of(const struct node *n)
{
	return (uint32_t)n->inode;
}

static struct remote_node **place_of(struct remote_mount *m, uint32_t inode)
{
	struct remote_node **at = &m->buckets[inode % REMOTE_BUCKETS];

	while (*at != NULL && (*at)->node.inode != inode)
		at = &(*at)->next;
	return at;
}

static void idle_leave(struct remote_mount *m, struct remote_node *n)
{
	list_remove(&n->idle);
	m->idle_count--;
}

static void take_over(struct node *n, const struct file_attributes *a)
{
	n->mode = a->mode;
	n->owner = a->owner;
	n->group = a->group;
	n->links = a->links;
	n->size = a->size;
	n->blocks = a->blocks;
	n->device = a->device;
	n->accessed = a->accessed;
	n->modified = a->modified;
	n->changed = a->changed;
}

int64_t remote_refresh(struct node *n)
{
	struct file_attributes a;
	int64_t result = fs_attributes(number_of(n), inode_of(n), grant_write(&a, sizeof a));

	if (result < 0)
		return result;
	take_over(n, &a);
	remote_of(n)->stale = false;
	return 0;
}

/* After a change, which must not begin anew: what has to be waited for is had when the node is found again. */
static void refresh_or_later(struct node *n)
{
	remote_of(n)->stale = remote_refresh(n) != 0;
}

int64_t remote_node_new(struct mount *m, uint32_t inode, struct remote_node **out)
{
	struct remote_mount *state = m->state;
	struct file_attributes a;
	struct remote_node *n;
	int64_t result = fs_attributes(state->number, inode, grant_write(&a, sizeof a));

	if (result < 0)
		return result;
	n = vfs_take(sizeof *n);
	if (n == NULL)
		return -ENOMEM;
	node_begin(&n->node, m, &a);
	n->node.inode = inode;
	take_over(&n->node, &a);
	n->node.operations = S_ISDIR(a.mode) ? &folder_operations : &plain_operations;
	n->node.files = S_ISDIR(a.mode) ? &remote_folder_files : &remote_files;
	*place_of(state, inode) = n;
	*out = n;
	return 0;
}

/* The node of an inode that fs has just held for us: that hold is the node's, or goes. */
static int64_t node_get(struct mount *m, uint32_t inode, struct remote_node **out)
{
	struct remote_mount *state = m->state;
	struct remote_node *n = *place_of(state, inode);
	int64_t result;

	if (n == NULL) {
		result = remote_node_new(m, inode, out);
		if (result != 0)
			fs_release(state->number, inode);
		return result;
	}
	result = n->stale ? remote_refresh(&n->node) : 0;
	fs_release(state->number, inode);
	if (result != 0)
		return result;
	if (n->node.references++ == 0)
		idle_leave(state, n);
	*out = n;
	return 0;
}

static void found_as(struct remote_node *n, struct node *folder, const char *name, size_t length)
{
	struct remote_node *old = n->parent;

	if (&n->node == n->node.mount->root)
		return;
	n->parent = remote_of(node_hold(folder));
	n->length = (uint8_t)MIN(length, REMOTE_NAME);
	memcpy(n->name, name, n->length);
	if (old != NULL)
		node_drop(&old->node);
}

static int64_t remote_lookup(struct node *folder, const char *name, size_t length, struct node **out)
{
	struct remote_node *n;
	uint32_t inode;
	int64_t result = fs_lookup(number_of(folder), inode_of(folder), name_grant(name, length), &inode);

	if (result < 0)
		return result;
	result = node_get(folder->mount, inode, &n);
	if (result != 0)
		return result;
	if (n->parent != remote_of(folder) || n->length != length || memcmp(n->name, name, length) != 0)
		found_as(n, folder, name, length);
	*out = &n->node;
	return 0;
}

static int64_t remote_create(struct node *folder, const char *name, size_t length, const struct file_attributes *as,
			     struct node **out)
{
	struct remote_node *n;
	uint32_t inode;
	int64_t result = fs_create(number_of(folder), inode_of(folder), as->mode, as->owner, as->group, as->device,
				   name_grant(name, length), &inode);

	if (result < 0)
		return result;
	result = node_get(folder->mount, inode, &n);
	if (result != 0)
		return result;
	found_as(n, folder, name, length);
	refresh_or_later(folder);
	*out = &n->node;
	return 0;
}

static int64_t remote_symlink(struct node *folder, const char *name, size_t length, const struct file_attributes *as,
			      const char *target, size_t target_length)
{
	int64_t result = fs_symlink(number_of(folder), inode_of(folder), as->owner, as->group, name_grant(name, length),
				    grant_read(target, target_length));

	if (result >= 0)
		refresh_or_later(folder);
	return result;
}

static int64_t remote_link(struct node *folder, const char *name, size_t length, struct node *to)
{
	int64_t result = fs_link(number_of(folder), inode_of(folder), inode_of(to), name_grant(name, length));

	if (result >= 0)
		refresh_or_later(to);
	return result;
}

static void name_gone(struct remote_node *n)
{
	struct remote_node *parent = n->parent;

	n->parent = NULL;
	n->length = 0;
	if (n->node.links > 0)
		n->node.links = S_ISDIR(n->node.mode) ? 0 : n->node.links - 1;
	if (parent != NULL)
		node_drop(&parent->node);
}

static int64_t remote_unlink(struct node *folder, const char *name, size_t length, struct node *node)
{
	int64_t result = fs_unlink(number_of(folder), inode_of(folder), S_ISDIR(node->mode), name_grant(name, length));

	if (result < 0)
		return result;
	name_gone(remote_of(node));
	refresh_or_later(folder);
	return 0;
}

static int64_t remote_rename(struct node *folder, const char *name, size_t length, struct node *node, struct node *to,
			     const char *new_name, size_t new_length, struct node *replaced)
{
	int64_t result = fs_rename(number_of(folder), inode_of(folder), name_grant(name, length), inode_of(to),
				   name_grant(new_name, new_length));

	if (result < 0)
		return result;
	if (replaced != NULL)
		name_gone(remote_of(replaced));
	found_as(remote_of(node), to, new_name, new_length);
	refresh_or_later(folder);
	refresh_or_later(to);
	return 0;
}

static int64_t remote_parent(struct node *folder, struct node **out)
{
	struct remote_node *n;
	uint32_t inode;
	int64_t result = fs_lookup(number_of(folder), inode_of(folder), name_grant("..", 2), &inode);

	if (result < 0)
		return result;
	result = node_get(folder->mount, inode, &n);
	if (result == 0)
		*out = &n->node;
	return result;
}

static int64_t remote_name(struct node *node, char *to, struct node **folder)
{
	struct remote_node *n = remote_of(node);

	if (n->parent == NULL || n->length == 0)
		return -ENOENT;
	memcpy(to, n->name, n->length);
	*folder = node_hold(&n->parent->node);
	return n->length;
}

static int64_t remote_readlink(struct node *link, char *to, size_t size)
{
	return fs_readlink(number_of(link), inode_of(link), grant_write(to, size));
}

static int64_t remote_set(struct node *n, unsigned which, const struct file_attributes *to)
{
	int64_t result;

	result = fs_set_attributes(number_of(n), inode_of(n), which, grant_read(to, sizeof *to));
	return result < 0 ? result : 0;
}

static int64_t remote_sync(struct node *n)
{
	return fs_sync(number_of(n), inode_of(n));
}

/* Gives it back. Returns its parent where nobody holds that any more. */
static struct remote_node *node_end(struct remote_node *n)
{
	struct remote_mount *m = remote_mount_of(&n->node);
	struct remote_node *parent = n->parent;

	*place_of(m, inode_of(&n->node)) = n->next;
	if (&n->node != n->node.mount->root)
		fs_release(m->number, inode_of(&n->node));
	vfs_give(n, sizeof *n);
	return parent != NULL && --parent->node.references == 0 ? parent : NULL;
}

static struct remote_node *idle_oldest_end(struct remote_mount *m)
{
	struct remote_node *n = CONTAINER(m->idle.previous, struct remote_node, idle);

	idle_leave(m, n);
	return node_end(n);
}

/* Nobody holds `n`, nor then perhaps its parent, and so on, as deep as folders lie in one another. */
static void nodes_forget(struct remote_mount *m, struct remote_node *n)
{
	while (n != NULL) {
		remote_pages_drop(n);
		if (n->node.links == 0 || &n->node == n->node.mount->root) {
			n = node_end(n);
			continue;
		}
		list_add(m->idle.next, &n->idle);
		n = ++m->idle_count > IDLE_MOST ? idle_oldest_end(m) : NULL;
	}
}

void remote_idle_end(struct remote_mount *m)
{
	nodes_forget(m, idle_oldest_end(m));
}

static void remote_forget(struct node *node)
{
	nodes_forget(remote_mount_of(node), remote_of(node));
}

static const struct node_operations folder_operations = { .lookup = remote_lookup,
							  .create = remote_create,
							  .symlink = remote_symlink,
							  .link = remote_link,
							  .unlink = remote_unlink,
							  .rename = remote_rename,
							  .parent = remote_parent,
							  .name = remote_name,
							  .refresh = remote_refresh,
							  .set = remote_set,
							  .sync = remote_sync,
							  .forget = remote_forget };
static const struct node_operations plain_operations = { .name = remote_name,
							 .readlink = remote_readlink,
							 .refresh = remote_refresh,
							 .set = remote_set,
							 .truncate = remote_truncate,
							 .object = remote_object,
							 .bring = remote_bring,
							 .copies = true,
							 .read = remote_program_read,
							 .sync = remote_sync,
							 .forget = remote_forget };
