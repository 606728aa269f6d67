/* devfs.c: the table of devices, the devices that need no driver, and /dev, which is a tmpfs that starts with their
 * names. */
#include "block.h"
#include "clock.h"
#include "devices/devices.h"
#include "terminals/tty.h"
#include "tmpfs/tmpfs.h"
#include "vm.h"

static verdict null_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	return answer(r, 0);
}

static verdict null_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	return answer(r, (int64_t)from.length);
}

static verdict zero_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	uint64_t part = MIN(to.length - r->done, SHARE_BYTES);

	if (copy_zeros(to, r->done, part) != 0)
		return answer(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
	r->done += part;
	return r->done < to.length ? give_way(r, BY_A_SIGNAL) : answer(r, (int64_t)r->done);
}

static verdict full_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	return refuse(r, ENOSPC);
}

static verdict random_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	return vfs_random(r, to);
}

/* A random word may take a microsecond. */
#define SHARE_RANDOM (SHARE_BYTES / 64)

/* The bytes go through the service's own page, because the kernel cannot wait for a client's. */
verdict vfs_random(struct request *r, struct grant to)
{
	uint64_t end = MIN(to.length, r->done + SHARE_RANDOM);

	while (r->done < end) {
		uint64_t part = MIN(end - r->done, PAGE);

		clock_random(grant_write(vfs.page, part));
		if (copy_out(to, r->done, vfs.page, part) != 0)
			return answer(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
		r->done += part;
	}
	return r->done < to.length ? give_way(r, BY_A_SIGNAL) : answer(r, (int64_t)r->done);
}

static int64_t null_seek(struct file *f, int64_t offset, uint32_t whence)
{
	f->position = 0;
	return 0;
}

/* Each open and mapping of /dev/zero has its own pages. */
static int64_t zero_object(struct file *f, uint64_t offset, uint64_t length, uint32_t *object)
{
	if (vm_object_create(object) < 0)
		return -ENOMEM;
	vm_object_resize(*object, offset + length);
	return 0;
}

static const struct file_operations null_files = { .read = null_read, .write = null_write, .seek = null_seek };
static const struct file_operations zero_files = {
	.read = zero_read, .write = null_write, .seek = null_seek, .object = zero_object
};
static const struct file_operations full_files = { .read = zero_read, .write = full_write, .seek = null_seek };
static const struct file_operations random_files = { .read = random_read, .write = null_write, .seek = null_seek };

static const struct device devices[] = {
	{ "null", S_IFCHR | 0666, DEVICE(1, 3), &null_files, NULL, NULL },
	{ "zero", S_IFCHR | 0666, DEVICE(1, 5), &zero_files, NULL, NULL },
	{ "full", S_IFCHR | 0666, DEVICE(1, 7), &full_files, NULL, NULL },
	{ "random", S_IFCHR | 0666, DEVICE(1, 8), &random_files, NULL, NULL },
	{ "urandom", S_IFCHR | 0666, DEVICE(1, 9), &random_files, NULL, NULL },
	{ "tty", S_IFCHR | 0666, DEVICE(5, 0), &terminal_files, terminal_open_own, NULL },
	{ "console", S_IFCHR | 0600, DEVICE(5, 1), &terminal_files, NULL, NULL },
	{ "ttyS0", S_IFCHR | 0660, DEVICE(4, 64), &terminal_files, terminal_open, NULL },
	{ "ram0", S_IFBLK | 0660, DISK_RAM, &disk_files, disk_open, NULL },
	{ "vda", S_IFBLK | 0660, DISK_VIRTIO, &disk_files, disk_open, NULL },
	{ "checked", S_IFBLK | 0660, DISK_CHECKED, &disk_files, disk_open, NULL },
	{ "fb0", S_IFCHR | 0660, DEVICE(29, 0), &display_files, display_open, NULL },
	/* Other entries of a new devtmpfs. */
	{ "fd", S_IFLNK | 0777, 0, NULL, NULL, "/proc/self/fd" },
	{ "stdin", S_IFLNK | 0777, 0, NULL, NULL, "/proc/self/fd/0" },
	{ "stdout", S_IFLNK | 0777, 0, NULL, NULL, "/proc/self/fd/1" },
	{ "stderr", S_IFLNK | 0777, 0, NULL, NULL, "/proc/self/fd/2" },
	{ "shm", S_IFDIR | 01777, 0, NULL, NULL, NULL },
	{ "pts", S_IFDIR | 0755, 0, NULL, NULL, NULL },
};

const struct device *device_of(uint32_t mode, uint32_t number)
{
	for (uint32_t i = 0; i < COUNT_OF(devices); i++)
		if (devices[i].number == number && (devices[i].mode & S_IFMT) == (mode & S_IFMT))
			return &devices[i];
	return NULL;
}

/* A device without its hardware gets no name. */
static bool is_there(const struct device *d)
{
	uint64_t sectors;

	if (d->open == disk_open)
		return block_capacity(disk_endpoint(d->number), &sectors) >= 0;
	return d->open != display_open || display_open(VFS_TASK, NULL) == 0;
}

static int64_t device_mount(struct mount *m, const char *source, const char *options)
{
	int64_t result = 0;

	TRY(tmpfs_root(m, 0755));
	for (uint32_t i = 0; i < COUNT_OF(devices) && result == 0; i++)
		if (is_there(&devices[i]))
			result = tmpfs_add(m, devices[i].name, devices[i].mode, devices[i].number, devices[i].target);
	if (result != 0)
		tmpfs_unmount(m);
	return result;
}

const struct file_system device_file_system = {
	.name = "devtmpfs", .mount = device_mount, .unmount = tmpfs_unmount, .numbers = tmpfs_numbers
};
