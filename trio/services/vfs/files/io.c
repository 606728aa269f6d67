/* io.c: read, write and their relatives, which call the file's own operations. */
#include "abi/mman.h"
#include "abi/signal.h"
#include "abi/termios.h"
#include "files/files.h"
#include "vm.h"

/* Words of a request's scratch: bytes that earlier shares moved; the position of the first share, plus one. */
enum { MOVED, START };

static inline verdict transfer(struct request *r, struct file *f, struct grant g, uint64_t *at, bool writes)
{
	return writes ? f->operations->write(r, f, g, at) : f->operations->read(r, f, g, at);
}

/* Transfers more than a share. A file whose transfers have no limit of their own is transferred share by share. */
static __attribute__((noinline)) verdict transfer_long(struct request *r, struct file *f, struct grant g, uint64_t *at,
						       bool writes)
{
	uint64_t here, part;

	g.length = MIN(g.length, READ_WRITE_MOST);
	if (!f->operations->by_shares)
		return transfer(r, f, g, at, writes);
	if (r->scratch[START] == 0)
		r->scratch[START] = *at + 1;
	here = r->scratch[START] - 1 + r->scratch[MOVED];
	part = MIN(g.length - r->scratch[MOVED], SHARE_BYTES);
	if (transfer(r, f, grant_part(g, r->scratch[MOVED], part), &here, writes) == PARKED)
		return PARKED;
	r->done = 0;
	if (r->result > 0) {
		if (r->scratch[MOVED] == 0)
			r->scratch[START] = here - (uint64_t)r->result + 1;
		r->scratch[MOVED] += (uint64_t)r->result;
		if ((uint64_t)r->result == part && r->scratch[MOVED] < g.length)
			return give_way(r, BY_THE_END);
	}
	if (r->scratch[MOVED] == 0)
		return ANSWERED;
	*at = r->scratch[START] - 1 + r->scratch[MOVED];
	return answer(r, (int64_t)r->scratch[MOVED]);
}

static inline verdict transfer_checked(struct request *r, struct file *f, struct grant g, uint64_t *at, bool writes)
{
	const struct file_operations *o = f->operations;

	if (writes ? !file_writes(f) : !file_reads(f))
		return refuse(r, EBADF);
	if (writes ? o->write == NULL : o->read == NULL)
		return refuse(r, !writes && o->entries != NULL ? EISDIR : EINVAL);
	return g.length > SHARE_BYTES ? transfer_long(r, f, g, at, writes) : transfer(r, f, g, at, writes);
}

verdict vfs_read(struct request *r, int32_t fd, struct grant to)
{
	struct file *f = file_of(r->task, fd);

	return f == NULL ? refuse(r, EBADF) : transfer_checked(r, f, to, &f->position, false);
}

verdict vfs_write(struct request *r, int32_t fd, struct grant from)
{
	struct file *f = file_of(r->task, fd);

	return f == NULL ? refuse(r, EBADF) : transfer_checked(r, f, from, &f->position, true);
}

static inline verdict transfer_at(struct request *r, int32_t fd, struct grant g, int64_t offset, bool writes)
{
	struct file *f = file_of(r->task, fd);
	uint64_t at = (uint64_t)offset;

	if (offset < 0)
		return refuse(r, EINVAL);
	if (f == NULL || (f->flags & O_PATH) != 0)
		return refuse(r, EBADF);
	return f->operations->seek == NULL ? refuse(r, ESPIPE) : transfer_checked(r, f, g, &at, writes);
}

verdict vfs_pread(struct request *r, int32_t fd, struct grant to, int64_t offset)
{
	return transfer_at(r, fd, to, offset, false);
}

verdict vfs_pwrite(struct request *r, int32_t fd, struct grant from, int64_t offset)
{
	return transfer_at(r, fd, from, offset, true);
}

verdict vfs_seek(struct request *r, struct file *f, int64_t offset, uint32_t whence)
{
	if (whence > SEEK_HOLE)
		return refuse(r, EINVAL);
	if (f->operations->seek == NULL)
		return refuse(r, ESPIPE);
	return answer_or_wait(r, f->operations->seek(f, offset, whence));
}

size_t copied(void *own, struct grant other, uint64_t offset, size_t n, bool in)
{
	size_t done = 0;

	for (size_t piece = n / 2; piece > 0;) {
		char *at = (char *)own + done;

		if (done + piece <= n &&
		    (in ? copy_in(at, other, offset + done, piece) : copy_out(other, offset + done, at, piece)) == 0)
			done += piece;
		else
			piece /= 2;
	}
	return done;
}

int64_t seek_within(struct file *f, uint64_t size, int64_t offset, uint32_t whence)
{
	uint64_t base = whence == SEEK_CUR ? f->position : whence == SEEK_END ? size : 0;
	int64_t to;

	if (whence >= SEEK_DATA && (offset < 0 || (uint64_t)offset >= size))
		return -ENXIO;
	if (whence == SEEK_HOLE)
		offset = (int64_t)size;
	if (__builtin_add_overflow((int64_t)base, offset, &to))
		return -EOVERFLOW;
	if (to < 0)
		return -EINVAL;
	f->position = (uint64_t)to;
	return to;
}

int64_t seek_by_size(struct file *f, int64_t offset, uint32_t whence)
{
	return seek_within(f, f->node->size, offset, whence);
}

uint64_t regular_write_begin(struct request *r, struct file *f, uint64_t *at, uint64_t length)
{
	/* Programs always have O_LARGEFILE here, so the limit is what an off_t holds. */
	uint64_t most = MIN(vfs.tasks[r->task].size_most, (uint64_t)INT64_MAX);

	if ((f->flags & O_APPEND) != 0)
		*at = f->node->size;
	r->result = 0;
	if (length == 0)
		return 0;
	if (*at >= most) {
		/* A call that has already written something returns that number instead. */
		if (most < INT64_MAX && r->scratch[MOVED] == 0)
			raise_signal(r, SIGXFSZ);
		refuse(r, EFBIG);
		return 0;
	}
	if ((f->node->mode & (S_ISUID | S_ISGID)) != 0 && vfs.tasks[r->task].user != 0)
		f->node->mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	return MIN(length, most - *at);
}

/* FIONREAD counts a regular file's bytes up to its end. */
static int64_t readable_bytes(struct file *f)
{
	if (f->node != NULL && S_ISREG(f->node->mode))
		return f->node->size > f->position ? (int64_t)MIN(f->node->size - f->position, 0x7fffffffUL) : 0;
	return f->operations->readable == NULL ? -ENOTTY : f->operations->readable(f);
}

verdict vfs_ioctl(struct request *r, int32_t fd, uint32_t command, uint64_t argument, struct grant at)
{
	struct file *f = file_of(r->task, fd);
	int64_t bytes;
	int32_t word;

	if (f == NULL || (f->flags & O_PATH) != 0)
		return refuse(r, EBADF);
	switch (command) {
	case FIOCLEX:
	case FIONCLEX:
		descriptor_mark(vfs.tasks[r->task].descriptors, (uint32_t)fd, command == FIOCLEX);
		return answer(r, 0);
	case FIONBIO:
		TRY_OR_WAIT(r, copy_in(&word, at, 0, sizeof word));
		f->flags = word != 0 ? f->flags | O_NONBLOCK : f->flags & ~(uint32_t)O_NONBLOCK;
		return answer(r, 0);
	case FIONREAD:
		bytes = readable_bytes(f);
		word = (int32_t)bytes;
		return answer(r, bytes < 0 ? bytes : copy_out(at, 0, &word, sizeof word));
	}
	return f->operations->ioctl == NULL ? refuse(r, ENOTTY) : f->operations->ioctl(r, f, command, argument, at);
}

/* Copies one page's worth from `from` to `to`; r->result is the number of bytes, 0 at the end. If either file parks the
 * request, nothing has moved except r->done bytes that a pipe took. */
static verdict send_some(struct request *r, struct file *to, struct file *from, uint64_t *at, uint64_t count)
{
	uint64_t end = *at, taken = r->done;
	verdict which;

	r->done = 0;
	which = from->operations->read(r, from, grant_write(vfs.page, MIN(count, MIN(PAGE, SHARE_BYTES))), &end);
	r->done = taken;
	if (which == PARKED || r->result <= 0)
		return which;
	which = to->operations->write(r, to, grant_read(vfs.page, (size_t)r->result), &to->position);
	if (which == ANSWERED && r->result > 0)
		*at += (uint64_t)r->result;
	return which;
}

static bool takes_more(struct file *f)
{
	return f->operations->poll == NULL || (f->operations->poll(f) & READY_OUT) != 0;
}

verdict vfs_send_file(struct request *r, int32_t to_fd, int32_t from_fd, struct grant offset, uint64_t count)
{
	struct file *to = file_of(r->task, to_fd), *from = file_of(r->task, from_fd);
	uint64_t at = 0, share;

	if (offset.length != 0 && copy_in(&at, offset, 0, sizeof at) != 0)
		return refuse(r, EFAULT);
	if (to == NULL || from == NULL || !file_writes(to) || !file_reads(from))
		return refuse(r, EBADF);
	if (from->node == NULL || !S_ISREG(from->node->mode) || from->operations->read == NULL ||
	    to->operations->write == NULL || (to->flags & O_APPEND) != 0 || (int64_t)at < 0)
		return refuse(r, EINVAL);
	/* If the last run gave way, `done` is this function's own; otherwise it is a pipe's. */
	if (r->again) {
		r->again = false;
		r->done = 0;
	}
	if (offset.length == 0)
		at = from->position;
	share = r->scratch[MOVED] + SHARE_BYTES;
	count = MIN(count, READ_WRITE_MOST);
	/* A signal may only end the wait for the first page; later the call waits for nothing but a disk. */
	while (r->scratch[MOVED] < count && (r->scratch[MOVED] == 0 || takes_more(to))) {
		if (r->scratch[MOVED] >= share) {
			r->done = r->scratch[MOVED];
			return give_way(r, BY_A_SIGNAL);
		}
		if (send_some(r, to, from, &at, count - r->scratch[MOVED]) == PARKED)
			return PARKED;
		r->done = 0;
		if (r->result <= 0)
			break;
		r->scratch[MOVED] += (uint64_t)r->result;
		/* The position is updated after each page, because a signal may end the call between two runs. */
		if (offset.length == 0)
			from->position = at;
		else if (copy_out(offset, 0, &at, sizeof at) != 0)
			return refuse(r, EFAULT);
	}
	return r->scratch[MOVED] > 0 || count == 0 ? answer(r, (int64_t)r->scratch[MOVED]) : answer(r, r->result);
}

static int64_t may_map(const struct file *f, uint32_t protection, uint32_t flags)
{
	uint32_t type = flags & MAP_TYPE;

	if (type < MAP_SHARED || type > MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (type == MAP_SHARED_VALIDATE && (flags & ~MAP_VALID) != 0)
		return -EOPNOTSUPP;
	if (!file_reads(f) || (type != MAP_PRIVATE && (protection & PROT_WRITE) != 0 && !file_writes(f)))
		return -EACCES;
	if ((protection & PROT_EXEC) != 0 && f->node != NULL && (f->node->mount->flags & MS_NOEXEC) != 0)
		return -EPERM;
	return 0;
}

/* Words of a request's scratch: the mapped address, and how far the mapping is populated. */
enum { MAPPED, POPULATED };

/* Serves MAP_POPULATE and MAP_LOCKED. mmap succeeds even if not all pages can be populated. */
static verdict populate_share(struct request *r, uint64_t length)
{
	uint64_t end = r->scratch[MAPPED] + (length + PAGE - 1) / PAGE * PAGE, next = end;

	(void)vm_populate(r->task, r->scratch[POPULATED], end - r->scratch[POPULATED], &next);
	if (next >= end)
		return answer(r, (int64_t)r->scratch[MAPPED]);
	r->scratch[POPULATED] = next;
	r->done = r->scratch[MAPPED];
	return give_way(r, BY_THE_END);
}

verdict vfs_map(struct request *r, uint64_t address, uint64_t length, uint32_t protection, uint32_t flags, int32_t fd,
		uint64_t offset)
{
	struct file *f = file_of(r->task, fd);
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE, copies;
	uint64_t mapped = 0;
	uint32_t object;
	int64_t result;

	if (r->scratch[MAPPED] != 0)
		return populate_share(r, length);
	if (f == NULL || (f->flags & O_PATH) != 0)
		return refuse(r, EBADF);
	if (length == 0 || offset % PAGE != 0)
		return refuse(r, EINVAL);
	if (offset + length < offset)
		return refuse(r, EOVERFLOW);
	TRY_OR_WAIT(r, may_map(f, protection, flags));
	copies = f->node != NULL && S_ISREG(f->node->mode) && f->node->operations->bring != NULL;
	/* mmap succeeds even if not all pages can be read. */
	if (copies && (flags & (MAP_POPULATE | MAP_LOCKED)) != 0 &&
	    f->node->operations->bring(f->node, offset, length) == -EWAIT)
		return answer_or_wait(r, -EWAIT);
	if (copies && shared && (protection & PROT_WRITE) != 0)
		result = -ENODEV;
	else if (f->operations->object != NULL)
		result = f->operations->object(f, offset, length, &object);
	else if (f->node != NULL && S_ISREG(f->node->mode) && f->node->operations->object != NULL)
		result = f->node->operations->object(f->node, &object);
	else
		result = -ENODEV;
	if (result != 0)
		return answer_or_wait(r, result);
	result = vm_map_object(r->task, address, length, protection, flags, object, offset, file_writes(f) && !copies,
			       &mapped);
	vm_object_drop(object);
	if (result < 0)
		return result == -EWAIT ? park_hard(&vfs.disk_waiters[FS_ANYTHING], r) : answer(r, result);
	/* A read of 0 bytes at the end has the file system update the access time. */
	if (copies)
		(void)f->node->operations->read(f->node, f->node->size, grant_write(vfs.page, 1));
	else if (f->operations->object == NULL)
		node_accessed(f->node, f->flags);
	if (result == 0)
		return answer(r, (int64_t)mapped);
	r->scratch[MAPPED] = r->scratch[POPULATED] = mapped;
	return populate_share(r, length);
}
