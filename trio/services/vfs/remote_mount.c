/* remote_mount.c: a disk's file system as a whole, and which disk it is on. */
#include "devices.h"
#include "fs.h"
#include "remote.h"

#define ROOT_INODE 1

/* `source` names a disk's special file. */
static int64_t disk_at(const char *source, uint32_t *endpoint)
{
	struct node *n;
	int64_t result;

	TRY(walk(VFS_TASK, AT_FDCWD, source, 0, &n));
	*endpoint = S_ISBLK(n->mode) ? disk_endpoint(n->device) : 0;
	result = !S_ISBLK(n->mode) ? -ENOTBLK : *endpoint == 0 ? -ENXIO : 0;
	node_drop(n);
	return result;
}

static int64_t remote_mount(struct mount *m, const char *source, const char *options)
{
	struct remote_mount *state;
	uint32_t endpoint;
	int64_t result = disk_at(source, &endpoint);

	if (options[0] != '\0')
		return -EINVAL;
	if (result == 0)
		result = fs_mount(endpoint, (m->flags & MS_RDONLY) != 0);
	if (result < 0)
		return result;
	state = vfs_take(sizeof *state);
	if (state == NULL) {
		fs_unmount((uint32_t)result);
		return -ENOMEM;
	}
	state->number = (uint32_t)result;
	list_start(&state->idle);
	m->state = state;
	result = remote_node_new(m, ROOT_INODE, &m->root);
	if (result != 0) {
		fs_unmount(state->number);
		vfs_give(state, sizeof *state);
		return result;
	}
	return 0;
}

static int64_t remote_unmount(struct mount *m)
{
	struct remote_mount *state = m->state;

	while (state->idle_count > 0)
		remote_idle_end(state);
	if (m->root->references > 1)
		return -EBUSY;
	TRY(fs_unmount(state->number));
	/* committed */
	node_drop(m->root);
	vfs_give(state, sizeof *state);
	return 0;
}

static void remote_numbers(struct mount *m, struct file_system_numbers *to)
{
	fs_numbers(((struct remote_mount *)m->state)->number, grant_write(to, sizeof *to));
}

static int64_t remote_sync_all(struct mount *m)
{
	return fs_sync(((struct remote_mount *)m->state)->number, 0);
}

const struct file_system disk_file_system = { .name = "minix",
					      .mount = remote_mount,
					      .unmount = remote_unmount,
					      .numbers = remote_numbers,
					      .sync = remote_sync_all };
