/* remote_data.c: what is in files of the disk's file system. Reading and writing go there with the client's grant.
 * For a mapping pages are copied into an object: what is written later does not show in it, and it cannot be
 * written through. */
#include "fs.h"
#include "handlers.h"
#include "remote.h"
#include "vm.h"

static uint32_t fs_mount_of(const struct node *n)
{
	return remote_mount_of(n)->number;
}

/* r->done: what earlier runs have done. */
static verdict remote_read(struct vfs *v, struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	const struct node *n = f->node;
	int64_t result = 0;

	while (r->done < to.length) {
		result = fs_read(fs_mount_of(n), (uint32_t)n->inode, *at + r->done,
				 grant_part(to, r->done, to.length - r->done));
		if (result == -EWAIT)
			return park_hard(&v->disk_waiters, r);
		if (result <= 0)
			break;
		r->done += (uint64_t)result;
	}
	if (r->done == 0 && result < 0)
		return settle(r, result);
	*at += r->done;
	return answer(r, (int64_t)r->done);
}

static verdict remote_write(struct vfs *v, struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct node *n = f->node;
	uint64_t length;
	int64_t result = 0;

	/* With O_APPEND the end moves with what earlier runs wrote: where the first one began is kept. scratch[0] is
	 * sendfile's, which writes many times for one request. */
	if (r->scratch[2] == 0) {
		length = regular_write_begin(v, r, f, at, from.length);
		if (length == 0)
			return ANSWERED;
		r->scratch[2] = length;
		r->scratch[3] = *at;
		remote_pages_drop(v, remote_of(n));
	}
	*at = r->scratch[3];
	while (r->done < r->scratch[2]) {
		result = fs_write(fs_mount_of(n), (uint32_t)n->inode, *at + r->done,
				  grant_part(from, r->done, r->scratch[2] - r->done));
		if (result == -EWAIT)
			return park_hard(&v->disk_waiters, r);
		if (result <= 0)
			break;
		r->done += (uint64_t)result;
		n->size = MAX(n->size, *at + r->done);
	}
	r->scratch[2] = 0;
	if (r->done == 0 && result < 0)
		return settle(r, result);
	*at += r->done;
	n->modified = n->changed = vfs_time(v);
	return answer(r, (int64_t)r->done);
}

static int64_t remote_entries(struct vfs *v, struct file *f, struct grant to)
{
	uint64_t next = f->position;
	int64_t result = fs_entries(fs_mount_of(f->node), (uint32_t)f->node->inode, f->position, to, &next);

	(void)v;
	if (result >= 0)
		f->position = next;
	return result;
}

const struct file_operations remote_files = { .read = remote_read, .write = remote_write, .seek = seek_by_size };
const struct file_operations remote_folder_files = { .entries = remote_entries, .seek = seek_by_size };

int64_t remote_truncate(struct vfs *v, struct node *n, uint64_t size)
{
	int64_t result = fs_truncate(fs_mount_of(n), (uint32_t)n->inode, size);

	if (result < 0)
		return result;
	remote_pages_drop(v, remote_of(n));
	n->size = size;
	n->modified = n->changed = vfs_time(v);
	return 0;
}

int64_t remote_program_read(struct vfs *v, struct node *n, uint64_t offset, struct grant to)
{
	uint64_t done = 0;

	(void)v;
	while (done < to.length) {
		int64_t result = fs_read(fs_mount_of(n), (uint32_t)n->inode, offset + done,
					 grant_part(to, done, to.length - done));

		if (result < 0)
			return result;
		if (result == 0)
			break;
		done += (uint64_t)result;
	}
	return (int64_t)done;
}

void remote_pages_drop(struct vfs *v, struct remote_node *n)
{
	uint64_t index = 0;

	while (radix_next(&n->pages, &index) != NULL)
		radix_remove(v, &n->pages, index);
	if (n->object != 0)
		vm_object_drop(n->object);
	n->object = 0;
}

/* One page is in the object and in the table. */
static int64_t page_load(struct vfs *v, struct remote_node *n, uint64_t index)
{
	uint64_t address = 0;
	int64_t result;

	if (radix_get(&n->pages, index) != NULL || index * PAGE >= n->node.size)
		return 0;
	if (vm_object_page(n->object, index, 1, ENDPOINT_VFS, &address) < 0 || address == 0)
		return -ENOMEM;
	result = remote_program_read(v, &n->node, index * PAGE, grant_write((void *)address, PAGE));
	return result < 0 ? result : radix_put(v, &n->pages, index, (void *)address);
}

int64_t remote_object(struct vfs *v, struct node *node, uint64_t offset, uint64_t length, uint32_t *object,
		      uint64_t *at)
{
	struct remote_node *n = remote_of(node);

	if (n->object == 0) {
		if (vm_object_create(&n->object) < 0)
			return -ENOMEM;
		vm_object_resize(n->object, node->size);
	}
	/* After EWAIT this begins anew, and finds in the table what has been read. */
	for (uint64_t index = offset / PAGE; index * PAGE < offset + length && index * PAGE < node->size; index++) {
		int64_t result = page_load(v, n, index);

		if (result != 0)
			return result;
	}
	vm_object_hold(n->object);
	*object = n->object;
	*at = offset;
	return 0;
}
