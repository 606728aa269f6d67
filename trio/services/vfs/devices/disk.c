/* disk.c: /dev/ram0 and /dev/vda: a disk's bytes in order. Whole sectors go between driver and client;
 * parts of one through the file's own sector buffer, so that a call that waits for the disk finds there, when it
 * runs again, what an earlier run has read. */
#include "abi/termios.h"
#include "block.h"
#include "devices/devices.h"
#include "files/files.h"

#define SECTOR 512UL
/* Of block.idl: bytes a call. */
#define MOST 65536UL
#define NO_SECTOR UINT64_MAX

struct disk {
	uint32_t endpoint;
	uint64_t size;
	/* The sector in the buffer. */
	uint64_t buffered;
	uint8_t buffer[SECTOR];
};

uint32_t disk_endpoint(uint32_t number)
{
	if (number == DISK_RAM)
		return ENDPOINT_RAM_BLOCK;
	return number == DISK_VIRTIO ? ENDPOINT_VIRTIO_BLK : 0;
}

int64_t disk_open(uint32_t task, struct file *f)
{
	uint32_t endpoint = disk_endpoint(f->node->device);
	uint64_t sectors;
	struct disk *d;

	if (block_capacity(endpoint, &sectors) < 0)
		return -ENXIO;
	d = heap_allocate(sizeof *d);
	if (d == NULL)
		return -ENOMEM;
	d->endpoint = endpoint;
	d->size = sectors * SECTOR;
	d->buffered = NO_SECTOR;
	f->state = d;
	return 0;
}

static void disk_release(struct file *f)
{
	heap_free(f->state, sizeof(struct disk));
}

/* How much one step does at `offset`: part of a sector, or whole ones. */
static uint64_t step_length(uint64_t offset, uint64_t left)
{
	uint64_t in_sector = offset % SECTOR;

	if (in_sector != 0 || left < SECTOR)
		return MIN(SECTOR - in_sector, left);
	return MIN(left / SECTOR * SECTOR, MOST);
}

static int64_t buffer_fill(struct disk *d, uint64_t sector)
{
	int64_t result;

	if (d->buffered == sector)
		return 0;
	d->buffered = NO_SECTOR;
	result = block_read(d->endpoint, sector, grant_write(d->buffer, SECTOR));
	if (result >= 0)
		d->buffered = sector;
	return result;
}

static int64_t step(struct disk *d, uint64_t offset, struct grant part, bool write)
{
	uint64_t sector = offset / SECTOR;
	uint8_t *at = d->buffer + offset % SECTOR;

	if (part.length % SECTOR == 0)
		return write ? block_write(d->endpoint, sector, part) : block_read(d->endpoint, sector, part);
	TRY(buffer_fill(d, sector));
	if (!write)
		return copy_out(part, 0, at, part.length);
	TRY(copy_in(at, part, 0, part.length));
	return block_write(d->endpoint, sector, grant_read(d->buffer, SECTOR));
}

/* r->done: what earlier runs have done. */
static verdict transfer(struct request *r, struct file *f, struct grant g, uint64_t *at, bool write)
{
	struct disk *d = f->state;
	uint64_t length = *at < d->size ? MIN(g.length, d->size - *at) : 0;
	int64_t result = 0;

	while (r->done < length) {
		uint64_t offset = *at + r->done, n = step_length(offset, length - r->done);

		result = step(d, offset, grant_part(g, r->done, n), write);
		if (result == -EWAIT)
			return park_hard(&vfs.block_waiters, r);
		if (result < 0)
			break;
		r->done += n;
	}
	/* What the buffer has may change behind its back. */
	d->buffered = NO_SECTOR;
	if (r->done == 0 && result < 0)
		return settle(r, result);
	*at += r->done;
	return answer(r, (int64_t)r->done);
}

static verdict disk_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	return transfer(r, f, to, at, false);
}

static verdict disk_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	const struct disk *d = f->state;

	if (from.length > 0 && *at >= d->size)
		return refuse(r, ENOSPC);
	return transfer(r, f, from, at, true);
}

static int64_t disk_seek(struct file *f, int64_t offset, uint32_t whence)
{
	return seek_within(f, ((const struct disk *)f->state)->size, offset, whence);
}

static verdict disk_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at)
{
	const struct disk *d = f->state;
	uint64_t value = command == BLKGETSIZE64 ? d->size : d->size / SECTOR;
	int32_t word = command == BLKBSZGET ? PAGE : command == BLKSSZGET ? SECTOR : 0;
	int64_t result;

	switch (command) {
	case BLKGETSIZE64:
	case BLKGETSIZE:
		return settle(r, copy_out(at, 0, &value, sizeof value));
	case BLKBSZGET:
	case BLKSSZGET:
	case BLKROGET:
		return settle(r, copy_out(at, 0, &word, sizeof word));
	case BLKFLSBUF:
		result = block_flush(d->endpoint);
		return result == -EWAIT ? park_hard(&vfs.block_waiters, r) : settle(r, result);
	}
	return refuse(r, ENOTTY);
}

const struct file_operations disk_files = { .read = disk_read,
					    .write = disk_write,
					    .by_shares = true,
					    .seek = disk_seek,
					    .ioctl = disk_ioctl,
					    .release = disk_release };
