/* data.c: contents of files on a disk, read and written with the client's grant; and how the disk's file system is
 * mounted, unmounted and synced. */
#include "devices/devices.h"
#include "disk/remote.h"
#include "files/files.h"
#include "fs.h"
#include "names/names.h"

#define ROOT_INODE 1

/* Continues to read behind *done bytes. Returns -errno, -EWAIT, or 0 at the end. */
static int64_t read_on(const struct node *n, uint64_t offset, struct grant to, uint64_t *done)
{
	int64_t result = 1;

	while (result > 0 && *done < to.length) {
		result = fs_read(remote_number(n), remote_inode(n), offset + *done, grant_part(to, *done, to.length));
		*done += result > 0 ? (uint64_t)result : 0;
	}
	return result;
}

/* Earlier runs have read r->done bytes. */
static verdict remote_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	int64_t result = read_on(f->node, *at, to, &r->done);

	if (result == -EWAIT)
		return disk_park(r);
	if (r->done == 0 && result < 0)
		return answer(r, result);
	*at += r->done;
	return answer(r, (int64_t)r->done);
}

static verdict remote_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct node *n = f->node;
	uint64_t length;
	int64_t result = 0;

	/* With O_APPEND the end moves with what earlier runs wrote, so the start of the first run is kept. sendfile,
	 * which writes many times for one request, owns scratch[0] and scratch[1]. */
	if (r->scratch[2] == 0) {
		length = regular_write_begin(r, f, at, from.length);
		if (length == 0)
			return ANSWERED;
		r->scratch[2] = length;
		r->scratch[3] = *at;
	}
	*at = r->scratch[3];
	while (r->done < r->scratch[2]) {
		result = fs_write(remote_number(n), remote_inode(n), *at + r->done,
				  grant_part(from, r->done, r->scratch[2] - r->done));
		if (result == -EWAIT)
			return disk_park(r);
		if (result <= 0)
			break;
		r->done += (uint64_t)result;
		remote_changed(n);
		n->size = MAX(n->size, *at + r->done);
		if (remote_of(n)->object != 0)
			remote_pages_written(remote_of(n), *at + r->done - (uint64_t)result,
					     grant_part(from, r->done - (uint64_t)result, (uint64_t)result));
	}
	r->scratch[2] = 0;
	if (r->done == 0 && result < 0)
		return answer(r, result);
	*at += r->done;
	n->modified = n->changed = vfs_time();
	return answer(r, (int64_t)r->done);
}

static int64_t remote_entries(struct file *f, struct grant to)
{
	uint64_t next = f->position;
	int64_t result = fs_entries(remote_number(f->node), remote_inode(f->node), f->position, to, &next);

	if (result >= 0)
		f->position = next;
	return result;
}

const struct file_operations remote_files = {
	.read = remote_read, .write = remote_write, .by_shares = true, .seek = seek_by_size
};
const struct file_operations remote_directory_files = { .entries = remote_entries, .seek = seek_by_size };

int64_t remote_truncate(struct node *n, uint64_t size)
{
	TRY(fs_truncate(remote_number(n), remote_inode(n), size));
	remote_changed(n);
	n->size = size;
	remote_pages_resize(remote_of(n));
	n->modified = n->changed = vfs_time();
	return 0;
}

int64_t remote_program_read(struct node *n, uint64_t offset, struct grant to)
{
	uint64_t done = 0;

	TRY(read_on(n, offset, to, &done));
	return (int64_t)done;
}

/* The mount -------------------------------------------------------------------------------------------------------- */

/* `source` is the path of a disk's special file. */
static int64_t disk_at(const char *source, uint32_t *endpoint)
{
	HELD struct node *n = NULL;

	TRY(walk(VFS_TASK, AT_FDCWD, source, 0, &n));
	if (!S_ISBLK(n->mode))
		return -ENOTBLK;
	*endpoint = disk_endpoint(n->device);
	return *endpoint == 0 ? -ENXIO : 0;
}

static void changes_free(struct remote_mount *m)
{
	if (m->changes != NULL)
		pages_give(m->changes, pages_for(sizeof *m->changes));
}

static int64_t remote_mount(struct mount *m, const char *source, const char *options)
{
	static struct remote_mount states[MOUNTS];
	struct remote_mount *state = &states[m - vfs.mounts];
	uint32_t endpoint;
	int64_t result;

	if (options[0] != '\0')
		return -EINVAL;
	TRY(disk_at(source, &endpoint));
	TRY(result = fs_mount(endpoint, (m->flags & MS_RDONLY) != 0));
	*state = (struct remote_mount){ .number = (uint32_t)result,
					.changes = pages_take(pages_for(sizeof *state->changes)) };
	list_start(&state->idle);
	m->state = state;
	result = state->changes == NULL ? -ENOMEM : remote_node_new(m, ROOT_INODE, &m->root);
	if (result != 0) {
		changes_free(state);
		fs_unmount(state->number);
	}
	return result;
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
	changes_free(state);
	return 0;
}

static void remote_numbers(struct mount *m, struct linux_statfs *to)
{
	fs_numbers(((struct remote_mount *)m->state)->number, grant_write(to, sizeof *to));
}

/* sync has no way to report lost changes, so they stay noted for fsync. */
static int64_t remote_sync_all(struct mount *m)
{
	struct remote_mount *state = m->state;
	uint32_t starts;

	TRY(fs_sync(state->number, 0, &starts));
	remote_began(starts);
	memset(state->changes->changed, 0, sizeof state->changes->changed);
	return 0;
}

const struct file_system disk_file_system = { .name = "minix",
					      .mount = remote_mount,
					      .unmount = remote_unmount,
					      .numbers = remote_numbers,
					      .sync = remote_sync_all };
