/* mount.c: mounting and unmounting a tmpfs; devfs and sysfs start as one too. */
#include "kernel.h"
#include "tmpfs/tmpfs.h"

int64_t tmpfs_root(struct mount *m, uint32_t mode)
{
	static struct tmpfs_mount states[MOUNTS];
	struct file_attributes as = { .mode = S_IFDIR | mode };

	m->state = memset(&states[m - vfs.mounts], 0, sizeof states[0]);
	return tmpfs_make(m, &as, NULL, &m->root) != 0 ? -ENOMEM : 0;
}

int64_t tmpfs_add(struct mount *m, const char *name, uint32_t mode, uint32_t device, const char *target)
{
	struct file_attributes as = { .mode = mode, .device = device, .size = target == NULL ? 0 : strlen(target) };
	struct place p = { .directory = m->root, .name = name, .length = (uint32_t)strlen(name) };

	TRY(m->root->operations->create(&p, &as, target));
	node_leave(&p.node);
	return 0;
}

/* Removes the deepest entries until only the root is left. */
static void empty(struct tmpfs_node *root)
{
	struct tmpfs_node *n = root;

	while (n != root || !list_is_empty(&n->directory.entries)) {
		struct entry *e = CONTAINER(n->directory.entries.next, struct entry, link);
		struct place p = { .directory = &n->node, .name = e->name, .length = e->length };

		if (list_is_empty(&n->directory.entries)) {
			n = n->directory.parent;
			continue;
		}
		p.node = node_hold(&e->node->node);
		if (tmpfs_unlink(&p) != 0)
			n = e->node;
		node_drop(p.node);
	}
}

int64_t tmpfs_unmount(struct mount *m)
{
	empty(tmpfs_node_of(m->root));
	m->root->links = 0;
	node_drop(m->root);
	return 0;
}

void tmpfs_numbers(struct mount *m, struct linux_statfs *to)
{
	struct tmpfs_mount *state = m->state;
	uint64_t left = 0, total = 0;

	kernel_memory_free(&left, &total);
	to->type = TMPFS_MAGIC;
	to->block_size = PAGE;
	to->blocks = state->pages_most != 0 ? state->pages_most : total;
	to->blocks_free = state->pages_most != 0 ? MIN(left, state->pages_most - state->pages) : left;
	to->files = state->nodes_most != 0 ? state->nodes_most : total;
	to->files_free = to->files > state->nodes ? to->files - state->nodes : 0;
	to->name_length = NAME_MAX;
}

/* Parses digits in `base` and moves *text past them. Returns false if there are none. */
static bool number(const char **text, uint32_t base, uint64_t *to)
{
	const char *start = *text;

	*to = 0;
	while (**text >= '0' && **text < (char)('0' + base))
		*to = *to * base + (uint64_t)(*(*text)++ - '0');
	return *text != start;
}

/* Converts bytes with a suffix k, m or g, or % of all memory, to pages. */
static uint64_t pages_of(const char **text, uint64_t n)
{
	uint64_t left, total = 0;

	if (**text == '%') {
		++*text;
		kernel_memory_free(&left, &total);
		return total * n / 100;
	}
	for (unsigned i = 0; i < 3; i++)
		if ((**text | 0x20) == "kmg"[i]) {
			++*text;
			n <<= 10 * (i + 1);
			break;
		}
	return (n + PAGE - 1) / PAGE;
}

enum { SIZE, PAGES, NODES, MODE, OWNER, GROUP, OPTIONS };
static const char *const names[OPTIONS] = { "size=", "nr_blocks=", "nr_inodes=", "mode=", "uid=", "gid=" };

/* Parses the option at *text into its value and moves *text past it. Returns false if it is none. */
static bool one_option(const char **text, uint64_t values[OPTIONS])
{
	for (unsigned i = 0; i < OPTIONS; i++) {
		size_t length = strlen(names[i]);

		if (strncmp(*text, names[i], length) != 0)
			continue;
		*text += length;
		if (!number(text, i == MODE ? 8 : 10, &values[i]))
			return false;
		if (i == SIZE)
			values[PAGES] = pages_of(text, values[SIZE]);
		if (**text == '\0')
			return true;
		return *(*text)++ == ',';
	}
	return false;
}

static int64_t tmpfs_mount_with(struct mount *m, const char *source, const char *options)
{
	uint64_t values[OPTIONS] = { [MODE] = 01777 }, left, total = 0;
	struct tmpfs_mount *state;

	kernel_memory_free(&left, &total);
	values[PAGES] = total / 2;
	while (*options != '\0')
		if (!one_option(&options, values))
			return -EINVAL;
	TRY(tmpfs_root(m, values[MODE] & 07777));
	state = m->state;
	state->pages_most = values[PAGES];
	state->nodes_most = values[NODES];
	m->root->owner = (uint32_t)values[OWNER];
	m->root->group = (uint32_t)values[GROUP];
	return 0;
}

static int64_t mount_empty(struct mount *m, const char *source, const char *options)
{
	return tmpfs_root(m, 0555);
}

const struct file_system tmpfs = {
	.name = "tmpfs", .mount = tmpfs_mount_with, .unmount = tmpfs_unmount, .numbers = tmpfs_numbers
};
const struct file_system empty_file_system = {
	.name = "sysfs", .mount = mount_empty, .unmount = tmpfs_unmount, .numbers = tmpfs_numbers
};
