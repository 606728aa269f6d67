/* remote.c: names and nodes of a file system that is another service (fs.idl). Each node here stands for an inode that
 * fs holds. Some unused nodes are kept, because they are likely to be looked up again. A call that has to wait returns
 * -EWAIT and changes nothing. */
#include "disk/remote.h"
#include "fs.h"
#include "names/names.h"

#define IDLE_MOST 64
/* The inode number of a file that was not on the disk when fs started again. All calls for it return ESTALE. */
#define NO_INODE 0

extern const struct file_operations remote_directory_files;
static const struct node_operations operations;

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

static int64_t remote_refresh(struct node *n)
{
	struct file_attributes a;

	TRY(fs_attributes(remote_number(n), remote_inode(n), grant_write(&a, sizeof a)));
	take_over(n, &a);
	remote_of(n)->stale = false;
	return 0;
}

/* Used after a change, which must not be repeated: if this has to wait, the next lookup of the node refreshes it. */
static void refresh_or_later(struct node *n)
{
	remote_of(n)->stale = remote_refresh(n) != 0;
}

int64_t remote_node_new(struct mount *m, uint32_t inode, struct node **out)
{
	struct remote_mount *state = m->state;
	struct file_attributes a;
	struct remote_node *n;

	TRY(fs_attributes(state->number, inode, grant_write(&a, sizeof a)));
	n = heap_allocate(sizeof *n);
	if (n == NULL)
		return -ENOMEM;
	node_begin(&n->node, m, &a);
	n->node.inode = inode;
	take_over(&n->node, &a);
	n->node.operations = &operations;
	n->node.files = S_ISDIR(a.mode) ? &remote_directory_files : &remote_files;
	*place_of(state, inode) = n;
	*out = &n->node;
	return 0;
}

static void found_as(struct remote_node *n, struct node *directory, const char *name, size_t length)
{
	struct remote_node *old = n->parent;

	if (&n->node == n->node.mount->root)
		return;
	n->parent = remote_of(node_hold(directory));
	n->length = (uint8_t)MIN(length, REMOTE_NAME);
	memcpy(n->name, name, n->length);
	if (old != NULL)
		node_drop(&old->node);
}

/* Returns the node of an inode that fs has just held for us under that name. Only a new node keeps that hold. */
static int64_t node_found(struct node *directory, uint32_t inode, const char *name, size_t length, struct node **out)
{
	struct remote_mount *m = remote_mount_of(directory);
	struct remote_node *n = *place_of(m, inode);
	int64_t result = 0;

	if (n == NULL)
		result = remote_node_new(directory->mount, inode, out);
	else if (n->stale)
		result = remote_refresh(&n->node);
	if (n != NULL || result != 0)
		fs_release(m->number, inode);
	if (result != 0)
		return result;
	if (n == NULL)
		n = remote_of(*out);
	else if (n->node.references++ == 0)
		idle_leave(m, n);
	if (n->parent != remote_of(directory) || n->length != length || memcmp(n->name, name, length) != 0)
		found_as(n, directory, name, length);
	*out = &n->node;
	return 0;
}

static int64_t remote_lookup(struct node *directory, const char *name, size_t length, struct node **out)
{
	uint32_t inode;

	TRY(fs_lookup(remote_number(directory), remote_inode(directory), grant_read(name, length), &inode));
	return node_found(directory, inode, name, length, out);
}

static int64_t remote_create(struct place *p, const struct file_attributes *as, const char *target)
{
	const struct node *f = p->directory;
	struct grant name = grant_read(p->name, p->length);
	uint32_t inode;

	if (target != NULL) {
		TRY(fs_symlink(remote_number(f), remote_inode(f), as->owner, as->group, name,
			       grant_read(target, as->size)));
	} else {
		TRY(fs_create(remote_number(f), remote_inode(f), as->mode, as->owner, as->group, as->device, name,
			      &inode));
		TRY(node_found(p->directory, inode, p->name, p->length, &p->node));
		/* A loss of the inode's previous file must not be reported for the new one. */
		bit_set(remote_mount_of(f)->changes->lost, p->node, false);
		remote_changed(p->node);
	}
	remote_changed(p->directory);
	refresh_or_later(p->directory);
	return 0;
}

static int64_t remote_link(const struct place *p, struct node *to)
{
	TRY(fs_link(remote_number(to), remote_inode(p->directory), remote_inode(to), grant_read(p->name, p->length)));
	remote_changed(p->directory);
	remote_changed(to);
	refresh_or_later(to);
	return 0;
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

static int64_t remote_unlink(const struct place *p)
{
	TRY(fs_unlink(remote_number(p->directory), remote_inode(p->directory), S_ISDIR(p->node->mode),
		      grant_read(p->name, p->length)));
	name_gone(remote_of(p->node));
	remote_changed(p->directory);
	refresh_or_later(p->directory);
	return 0;
}

static int64_t remote_rename(const struct place *from, const struct place *to)
{
	TRY(fs_rename(remote_number(from->directory), remote_inode(from->directory),
		      grant_read(from->name, from->length), remote_inode(to->directory),
		      grant_read(to->name, to->length)));
	if (to->node != NULL)
		name_gone(remote_of(to->node));
	found_as(remote_of(from->node), to->directory, to->name, to->length);
	remote_changed(from->directory);
	remote_changed(to->directory);
	remote_changed(from->node);
	refresh_or_later(from->directory);
	refresh_or_later(to->directory);
	return 0;
}

static int64_t remote_parent(struct node *directory, struct node **out)
{
	struct remote_node *parent = remote_of(directory)->parent;

	if (parent == NULL)
		return -ENOENT;
	*out = node_hold(&parent->node);
	return 0;
}

static int64_t remote_name(struct node *node, char *to, struct node **directory)
{
	struct remote_node *n = remote_of(node);

	if (n->parent == NULL || n->length == 0)
		return -ENOENT;
	memcpy(to, n->name, n->length);
	*directory = node_hold(&n->parent->node);
	return n->length;
}

static int64_t remote_readlink(struct node *link, char *to, size_t size)
{
	return fs_readlink(remote_number(link), remote_inode(link), grant_write(to, size));
}

static int64_t remote_set(struct node *n, unsigned which, const struct file_attributes *to)
{
	remote_changed(n);
	return fs_set_attributes(remote_number(n), remote_inode(n), which, grant_read(to, sizeof *to));
}

/* A lost change is reported once. */
static int64_t remote_sync(struct node *n)
{
	struct remote_changes *c = remote_mount_of(n)->changes;
	uint32_t starts;

	if (remote_inode(n) == NO_INODE)
		return -ESTALE;
	TRY(fs_sync(remote_number(n), remote_inode(n), &starts));
	remote_began(starts);
	bit_set(c->changed, n, false);
	if (!bit_is(c->lost, n))
		return 0;
	bit_set(c->lost, n, false);
	return -EIO;
}

/* Frees the node. Returns its parent if nobody else holds that. */
static struct remote_node *node_end(struct remote_node *n)
{
	struct remote_mount *m = remote_mount_of(&n->node);
	struct remote_node *parent = n->parent;

	if (remote_inode(&n->node) != NO_INODE)
		*place_of(m, remote_inode(&n->node)) = n->next;
	if (&n->node != n->node.mount->root && !n->let_go)
		fs_release(m->number, remote_inode(&n->node));
	heap_free(n, sizeof *n);
	return parent != NULL && --parent->node.references == 0 ? parent : NULL;
}

static struct remote_node *idle_oldest_end(struct remote_mount *m)
{
	struct remote_node *n = CONTAINER(m->idle.previous, struct remote_node, idle);

	idle_leave(m, n);
	return node_end(n);
}

/* Ends or keeps `n`, which nobody holds; then its parent if nobody holds that any more, and so on. */
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

static struct remote_mount *remote_mounted(unsigned which)
{
	const struct mount *m = &vfs.mounts[which];

	return m->root != NULL && m->type == &disk_file_system ? m->state : NULL;
}

/* How often fs was started, as last reported; and whether nodes must still be held again after its last start. */
static uint32_t known_starts = 1;
static bool has_let_go;

void remote_began(uint32_t starts)
{
	if (starts == known_starts)
		return;
	known_starts = starts;
	has_let_go = true;
	for (unsigned i = 0; i < MOUNTS; i++) {
		struct remote_mount *m = remote_mounted(i);

		for (unsigned w = 0; m != NULL && w < COUNT_OF(m->changes->lost); w++) {
			m->changes->lost[w] |= m->changes->changed[w];
			m->changes->changed[w] = 0;
		}
		for (unsigned b = 0; m != NULL && b < REMOTE_BUCKETS; b++)
			for (struct remote_node *n = m->buckets[b]; n != NULL; n = n->next) {
				n->stale = true;
				/* fs holds the root itself. */
				n->let_go = &n->node != n->node.mount->root;
			}
	}
}

/* Holds the node's inode again in a restarted fs. A file that had no name, or has none on the disk, is lost, because
 * its number may become another file's. Returns whether *at still is this node. */
static bool hold_again(struct remote_mount *m, struct remote_node **at)
{
	struct remote_node *n = *at;
	uint16_t kind = n->node.mode & S_IFMT;
	int64_t result = n->node.links == 0 ? -ESTALE : fs_hold(m->number, remote_inode(&n->node));

	if (result == -EWAIT || result == -ENOMEM)
		return true;
	n->let_go = result != 0;
	if (result == 0 && remote_refresh(&n->node) == 0 && (n->node.mode & S_IFMT) != kind) {
		fs_release(m->number, remote_inode(&n->node));
		n->let_go = true;
		result = -ESTALE;
	}
	if (result == 0)
		return true;
	*at = n->next;
	n->node.inode = NO_INODE;
	return false;
}

bool remote_holds_again(void)
{
	if (!has_let_go)
		return false;
	has_let_go = false;
	for (unsigned i = 0; i < MOUNTS; i++) {
		struct remote_mount *m = remote_mounted(i);

		for (unsigned b = 0; m != NULL && b < REMOTE_BUCKETS; b++)
			for (struct remote_node **at = &m->buckets[b]; *at != NULL;)
				if (!(*at)->let_go || hold_again(m, at)) {
					has_let_go |= (*at)->let_go;
					at = &(*at)->next;
				}
	}
	return true;
}

void remote_idle_end(struct remote_mount *m)
{
	nodes_forget(m, idle_oldest_end(m));
}

static void remote_forget(struct node *node)
{
	nodes_forget(remote_mount_of(node), remote_of(node));
}

static const struct node_operations operations = { .lookup = remote_lookup,
						   .create = remote_create,
						   .link = remote_link,
						   .unlink = remote_unlink,
						   .rename = remote_rename,
						   .parent = remote_parent,
						   .name = remote_name,
						   .readlink = remote_readlink,
						   .refresh = remote_refresh,
						   .set = remote_set,
						   .truncate = remote_truncate,
						   .object = remote_object,
						   .bring = remote_bring,
						   .read = remote_program_read,
						   .sync = remote_sync,
						   .forget = remote_forget };
