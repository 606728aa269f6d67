/* route_vfs.c: Linux's calls of open files: reading, writing, descriptors, locks. */
#include "abi/abi.h"
#include "abi/files.h"
#include "vfs_client.h"

/* ioctl's argument may point to a structure of at most as much. */
#define IOCTL_BYTES 4096

static int64_t run_readv(struct task *t, const uint64_t *a)
{
	struct grant to;
	int64_t result = user_vector(t, a[1], a[2], &to);

	return result < 0 ? result : client_vfs_read(&t->request, (int32_t)a[0], to);
}

static int64_t run_writev(struct task *t, const uint64_t *a)
{
	struct grant from;
	int64_t result = user_vector(t, a[1], a[2], &from);

	return result < 0 ? result : client_vfs_write(&t->request, (int32_t)a[0], from);
}

static int64_t run_preadv(struct task *t, const uint64_t *a)
{
	struct grant to;
	int64_t result = user_vector(t, a[1], a[2], &to);

	return result < 0 ? result : client_vfs_pread(&t->request, (int32_t)a[0], to, (int64_t)a[3]);
}

static int64_t run_pwritev(struct task *t, const uint64_t *a)
{
	struct grant from;
	int64_t result = user_vector(t, a[1], a[2], &from);

	return result < 0 ? result : client_vfs_pwrite(&t->request, (int32_t)a[0], from, (int64_t)a[3]);
}

/* The flags of preadv2 and pwritev2 are hints or not for us: none is taken. -1 is the position. */
static int64_t run_preadv2(struct task *t, const uint64_t *a)
{
	if (a[5] != 0)
		return -EOPNOTSUPP;
	return (int64_t)a[3] == -1 ? run_readv(t, a) : run_preadv(t, a);
}

static int64_t run_pwritev2(struct task *t, const uint64_t *a)
{
	if (a[5] != 0)
		return -EOPNOTSUPP;
	return (int64_t)a[3] == -1 ? run_writev(t, a) : run_pwritev(t, a);
}

static int64_t lock_by(struct task *t, const uint64_t *a)
{
	struct request *r = &t->request;
	struct linux_flock l;
	int64_t result;

	if (user_get(&l, a[2], sizeof l) != 0)
		return -EFAULT;
	result = client_vfs_lock(r, (int32_t)a[0], (uint32_t)a[1], l.type, (uint32_t)l.whence, l.start, l.length);
	if (result != 0 || a[1] != F_GETLK)
		return result;
	l.type = (int16_t)r->out[OUT_VFS_LOCK_TYPE];
	if (l.type != F_UNLCK) {
		l.whence = SEEK_SET;
		l.start = (int64_t)r->out[OUT_VFS_LOCK_START];
		l.length = (int64_t)r->out[OUT_VFS_LOCK_LENGTH];
		l.pid = (int32_t)r->out[OUT_VFS_LOCK_PID];
	}
	return user_put(a[2], &l, sizeof l);
}

static int64_t run_fcntl(struct task *t, const uint64_t *a)
{
	if (a[1] >= F_GETLK && a[1] <= F_SETLKW)
		return lock_by(t, a);
	return client_vfs_control(&t->request, (int32_t)a[0], (uint32_t)a[1], a[2]);
}

static int64_t run_sendfile(struct task *t, const uint64_t *a)
{
	int64_t offset = -1, result;

	if (a[2] != 0 && user_get(&offset, a[2], sizeof offset) != 0)
		return -EFAULT;
	if (a[2] != 0 && offset < 0)
		return -EINVAL;
	result = client_vfs_send_file(&t->request, (int32_t)a[0], (int32_t)a[1], offset, a[3]);
	if (result < 0 || a[2] == 0)
		return result;
	offset = (int64_t)t->request.out[OUT_VFS_SEND_FILE_OFFSET];
	return user_put(a[2], &offset, sizeof offset) != 0 ? -EFAULT : result;
}

ROUTE_TABLE(vfs, { 19, true, "readv", run_readv }, { 20, true, "writev", run_writev },
	    { 40, true, "sendfile", run_sendfile }, { 72, true, "fcntl", run_fcntl },
	    { 295, true, "preadv", run_preadv }, { 296, true, "pwritev", run_pwritev },
	    { 327, true, "preadv2", run_preadv2 }, { 328, true, "pwritev2", run_pwritev2 }, );
