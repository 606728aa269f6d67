/* descriptors.c: descriptor tables and open file descriptions. The tasks of a process share a table; descriptors made
 * by dup and fork share a file. No descriptor below `lowest` is free. */
#include "files/files.h"
#include "sockets/socket.h"

#define FILES_MOST 65536

struct descriptors *descriptors_make(uint32_t size)
{
	struct descriptors *d = heap_allocate(sizeof *d);

	if (d == NULL)
		return NULL;
	d->files = heap_allocate(size * sizeof(void *));
	if (d->files == NULL) {
		heap_free(d, sizeof *d);
		return NULL;
	}
	d->size = size;
	d->references = 1;
	return d;
}

/* A function of its own, so that descriptor_place does not pay for its frame. */
static __attribute__((noinline)) int64_t descriptors_grow(struct descriptors *d, uint32_t wanted)
{
	uint32_t size = wanted < 512 ? 512 : DESCRIPTORS_MOST;
	struct file **files = heap_allocate(size * sizeof(void *));

	if (files == NULL)
		return -ENOMEM;
	memcpy(files, d->files, d->size * sizeof(void *));
	heap_free(d->files, d->size * sizeof(void *));
	d->files = files;
	d->size = size;
	return 0;
}

struct descriptors *descriptors_copy(const struct descriptors *from)
{
	struct descriptors *d = descriptors_make(from->size);

	if (d == NULL)
		return NULL;
	for (uint32_t fd = 0, left = from->used; left > 0; fd++)
		if (from->files[fd] != NULL) {
			d->files[fd] = file_hold(from->files[fd]);
			left--;
		}
	memcpy(d->close_on_exec, from->close_on_exec, sizeof d->close_on_exec);
	d->lowest = from->lowest;
	d->used = from->used;
	return d;
}

/* The most files that one run closes: each may be the last to hold much. */
#define SHARE_FILES 64U

bool descriptors_drop(uint32_t task)
{
	struct descriptors *d = vfs.tasks[task].descriptors;

	if (d->references > 1) {
		d->references--;
		vfs.tasks[task].descriptors = NULL;
		return true;
	}
	for (uint32_t fd = 0, left = SHARE_FILES; d->used > 0; fd++) {
		if (d->files[fd] == NULL)
			continue;
		if (left-- == 0)
			return false;
		descriptor_close(task, (int32_t)fd);
	}
	vfs.tasks[task].descriptors = NULL;
	heap_free(d->files, d->size * sizeof(void *));
	heap_free(d, sizeof *d);
	return true;
}

void descriptor_mark(struct descriptors *d, uint32_t fd, bool on)
{
	uint64_t bit = 1UL << (fd % 64);

	if (on)
		d->close_on_exec[fd / 64] |= bit;
	else
		d->close_on_exec[fd / 64] &= ~bit;
}

bool descriptor_is_marked(const struct descriptors *d, uint32_t fd)
{
	return (d->close_on_exec[fd / 64] >> (fd % 64) & 1) != 0;
}

/* Makes sure that `fd` is in the table. Returns 0, -EMFILE or -ENOMEM. */
static int64_t room_for(uint32_t task, uint32_t fd)
{
	struct descriptors *d = vfs.tasks[task].descriptors;

	if (fd >= vfs.tasks[task].files_most)
		return -EMFILE;
	return fd < d->size ? 0 : descriptors_grow(d, fd);
}

int64_t descriptor_place(uint32_t task, struct file *f, uint32_t least, uint32_t flags)
{
	struct descriptors *d = vfs.tasks[task].descriptors;
	uint32_t fd = MAX(least, d->lowest);

	while (fd < d->size && d->files[fd] != NULL)
		fd++;
	TRY(room_for(task, fd));
	d->files[fd] = f;
	d->used++;
	descriptor_mark(d, fd, (flags & O_CLOEXEC) != 0);
	if (least <= d->lowest)
		d->lowest = fd + 1;
	return fd;
}

int64_t descriptor_close(uint32_t task, int32_t fd)
{
	struct descriptors *d = vfs.tasks[task].descriptors;
	struct file *f = file_of(task, fd);

	if (f == NULL)
		return -EBADF;
	d->files[fd] = NULL;
	d->used--;
	if ((uint32_t)fd < d->lowest)
		d->lowest = (uint32_t)fd;
	if (f->node != NULL && f->node->locks != NULL)
		locks_drop(f->node, vfs.tasks[task].process, NULL);
	file_drop(f);
	return 0;
}

/* Tries again after ending lost sockets, if the file limit was reached or memory was short. */
static __attribute__((noinline)) struct file *file_take_again(void)
{
	struct file *f = NULL;

	while (f == NULL && lost_recover(true))
		if (vfs.files < FILES_MOST)
			f = heap_allocate(sizeof *f);
	return f;
}

int64_t file_make(const struct file_operations *operations, void *state, uint32_t flags, struct node *node,
		  struct file **out)
{
	struct file *f = vfs.files < FILES_MOST ? heap_allocate(sizeof *f) : NULL;

	if (f == NULL)
		f = file_take_again();
	if (f == NULL)
		return vfs.files < FILES_MOST ? -ENOMEM : -ENFILE;
	vfs.files++;
	f->operations = operations;
	f->state = state;
	f->flags = flags;
	f->references = 1;
	if (node != NULL) {
		f->node = node_hold(node);
		node->mount->users++;
	}
	*out = f;
	return 0;
}

const struct file_operations nothing;

struct unnamed unnamed_by(uint32_t task, uint32_t mode)
{
	const struct task_files *t = &vfs.tasks[task];

	return (struct unnamed){ ++vfs.next_inode, vfs_time(), mode, t->user, t->group };
}

void unnamed_stat(struct file *f, struct linux_stat *to)
{
	const struct unnamed *u = f->state;

	to->inode = u->inode;
	to->mode = u->mode;
	to->owner = u->owner;
	to->group = u->group;
	to->access_s = to->modify_s = to->change_s = (uint64_t)u->made / 1000000000;
	to->access_ns = to->modify_ns = to->change_ns = (uint64_t)u->made % 1000000000;
}

int64_t place_one(uint32_t task, const struct file_operations *operations, void *state, uint32_t flags,
		  uint32_t descriptor_flags)
{
	struct file *f;
	int64_t fd;

	TRY(file_make(&nothing, state, flags, NULL, &f));
	fd = descriptor_place(task, f, 0, descriptor_flags);
	if (fd < 0)
		file_drop(f);
	else
		f->operations = operations;
	return fd;
}

int64_t place_two(uint32_t task, const struct file_operations *operations, void *const state[2],
		  const uint32_t flags[2], uint32_t descriptor_flags, int32_t fds[2], struct grant to)
{
	unsigned placed = 0;
	int64_t result = 0;

	while (result >= 0 && placed < 2) {
		result = place_one(task, operations, state[placed], flags[placed], descriptor_flags);
		if (result >= 0)
			fds[placed++] = (int32_t)result;
	}
	if (result >= 0)
		result = copy_out(to, 0, fds, 2 * sizeof fds[0]);
	while (result < 0 && placed > 0) {
		file_of(task, fds[--placed])->operations = &nothing;
		descriptor_close(task, fds[placed]);
	}
	return result;
}

void file_released(struct file *f)
{
	struct node *n = f->node;

	if (f->named > 0 && file_stays(f))
		return;
	if (f->operations->release != NULL)
		f->operations->release(f);
	if (n != NULL) {
		if (n->locks != NULL)
			locks_drop(n, 0, f);
		if ((f->flags & FILE_COUNTS_AS_WRITER) != 0)
			n->writers--;
		n->mount->users--;
		node_drop(n);
	}
	vfs.files--;
	heap_free(f, sizeof *f);
}

struct file *file_at(struct request *r, int32_t fd)
{
	struct file *f = file_of(r->task, fd);

	r->result = -EBADF;
	return f == NULL || (f->flags & O_PATH) != 0 ? NULL : f;
}

verdict vfs_close(struct request *r, int32_t fd)
{
	return answer(r, descriptor_close(r->task, fd));
}

verdict vfs_close_range(struct request *r, uint32_t first, uint32_t last, uint32_t flags)
{
	struct descriptors *d = vfs.tasks[r->task].descriptors;
	uint32_t left = SHARE_FILES;

	if (first > last || (flags & ~CLOSE_RANGE_CLOEXEC) != 0)
		return refuse(r, EINVAL);
	for (uint32_t fd = r->again ? (uint32_t)r->scratch[0] : first; fd < d->size && fd <= last; fd++) {
		if (d->files[fd] == NULL)
			continue;
		if ((flags & CLOSE_RANGE_CLOEXEC) != 0) {
			descriptor_mark(d, fd, true);
			continue;
		}
		if (left-- == 0) {
			r->scratch[0] = fd;
			return give_way(r, BY_THE_END);
		}
		descriptor_close(r->task, (int32_t)fd);
	}
	return answer(r, 0);
}

verdict vfs_duplicate(struct request *r, int32_t fd, uint32_t least, uint32_t flags)
{
	struct file *f = file_of(r->task, fd);
	int64_t result;

	if (f == NULL)
		return refuse(r, EBADF);
	if (least >= vfs.tasks[r->task].files_most)
		return refuse(r, EINVAL);
	result = descriptor_place(r->task, f, least, flags);
	if (result >= 0)
		file_hold(f);
	return answer(r, result);
}

verdict vfs_duplicate_at(struct request *r, int32_t fd, int32_t to, uint32_t flags, uint32_t same)
{
	struct file *f = file_of(r->task, fd);
	int64_t result;

	if ((flags & ~O_CLOEXEC) != 0 || (to == fd && same == 0))
		return refuse(r, EINVAL);
	if (f == NULL)
		return refuse(r, EBADF);
	if (to == fd)
		return answer(r, fd);
	result = room_for(r->task, (uint32_t)to);
	if (result != 0)
		return answer(r, result == -EMFILE ? -EBADF : result);
	file_hold(f);
	descriptor_close(r->task, to);
	return answer(r, descriptor_place(r->task, f, (uint32_t)to, flags));
}

/* Called by execve. */
bool descriptors_close_marked(uint32_t task)
{
	struct descriptors *d = vfs.tasks[task].descriptors;
	uint32_t left = SHARE_FILES;

	for (uint32_t word = 0; word < d->size / 64; word++)
		while (d->close_on_exec[word] != 0) {
			uint32_t bit = (uint32_t)__builtin_ctzl(d->close_on_exec[word]);

			if (left-- == 0)
				return false;
			d->close_on_exec[word] &= d->close_on_exec[word] - 1;
			descriptor_close(task, (int32_t)(word * 64 + bit));
		}
	return true;
}
