/* remote_data.c: what is in files of the disk's file system. Reading and writing go there with the client's grant. */
#include "fs.h"
#include "handlers.h"
#include "remote.h"

/* r->done: what earlier runs have done. */
static verdict remote_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	const struct node *n = f->node;
	int64_t result = 0;

	while (r->done < to.length) {
		result = fs_read(remote_number(n), remote_inode(n), *at + r->done,
				 grant_part(to, r->done, to.length - r->done));
		if (result == -EWAIT)
			return disk_park(r);
		if (result <= 0)
			break;
		r->done += (uint64_t)result;
	}
	if (r->done == 0 && result < 0)
		return settle(r, result);
	*at += r->done;
	return answer(r, (int64_t)r->done);
}

static verdict remote_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct node *n = f->node;
	uint64_t length;
	int64_t result = 0;

	/* With O_APPEND the end moves with what earlier runs wrote: where the first one began is kept. scratch[0] is
	 * sendfile's, which writes many times for one request. */
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
		n->size = MAX(n->size, *at + r->done);
		if (remote_of(n)->object != 0)
			remote_pages_written(remote_of(n), *at + r->done - (uint64_t)result,
					     grant_part(from, r->done - (uint64_t)result, (uint64_t)result));
	}
	r->scratch[2] = 0;
	if (r->done == 0 && result < 0)
		return settle(r, result);
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
const struct file_operations remote_folder_files = { .entries = remote_entries, .seek = seek_by_size };

int64_t remote_truncate(struct node *n, uint64_t size)
{
	TRY(fs_truncate(remote_number(n), remote_inode(n), size));
	n->size = size;
	remote_pages_resize(remote_of(n));
	n->modified = n->changed = vfs_time();
	return 0;
}

int64_t remote_program_read(struct node *n, uint64_t offset, struct grant to)
{
	uint64_t done = 0;

	while (done < to.length) {
		int64_t result = fs_read(remote_number(n), remote_inode(n), offset + done,
					 grant_part(to, done, to.length - done));

		if (result < 0)
			return result;
		if (result == 0)
			break;
		done += (uint64_t)result;
	}
	return (int64_t)done;
}
