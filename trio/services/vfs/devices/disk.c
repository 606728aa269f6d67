/* disk.c: /dev/ram0, /dev/vda and /dev/checked. Whole sectors go between driver and client; parts of a sector go
 * through the file's sector buffer, so that a call that waited for the disk finds there what an earlier run has
 * read. */
#include "abi/termios.h"
#include "block.h"
#include "devices/devices.h"
#include "files/files.h"
#include "switches.h"

#define SECTOR 512UL
/* The most bytes of a call in block.idl. */
#define MOST 65536UL
#define NO_SECTOR UINT64_MAX

struct disk {
	uint32_t endpoint;
	uint64_t size;
	/* The number of the sector in the buffer. */
	uint64_t buffered;
	uint8_t buffer[SECTOR];
};

uint32_t disk_endpoint(uint32_t number)
{
	if (number == DISK_RAM)
		return CHECKSUMS ? ENDPOINT_CHECKSUM : ENDPOINT_RAM_BLOCK;
	if (number == DISK_VIRTIO)
		return ENDPOINT_VIRTIO_BLK;
	return number == DISK_CHECKED ? ENDPOINT_CHECKSUM : 0;
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

/* Transfers a part of a sector or several whole ones from `offset` on. Returns the number of bytes. */
static int64_t step(struct disk *d, uint64_t offset, struct grant left, bool write)
{
	uint64_t sector = offset / SECTOR, in_sector = offset % SECTOR, n = MIN(left.length, MOST) / SECTOR * SECTOR;
	struct grant own = grant_write(d->buffer, SECTOR);

	if (in_sector == 0 && n > 0) {
		left = grant_part(left, 0, n);
		TRY(write ? block_write(d->endpoint, sector, left) : block_read(d->endpoint, sector, left));
		return (int64_t)n;
	}
	if (d->buffered != sector) {
		d->buffered = NO_SECTOR;
		TRY(block_read(d->endpoint, sector, own));
		d->buffered = sector;
	}
	n = MIN(SECTOR - in_sector, left.length);
	if (write) {
		TRY(copy_in(d->buffer + in_sector, left, 0, n));
		TRY(block_write(d->endpoint, sector, own));
	} else {
		TRY(copy_out(left, 0, d->buffer + in_sector, n));
	}
	return (int64_t)n;
}

/* Earlier runs have transferred r->done bytes. */
static verdict transfer(struct request *r, struct file *f, struct grant g, uint64_t *at, bool write)
{
	struct disk *d = f->state;
	uint64_t length = *at < d->size ? MIN(g.length, d->size - *at) : 0;
	int64_t result = 0;

	if (write && g.length > 0 && *at >= d->size)
		return refuse(r, ENOSPC);
	while (r->done < length) {
		result = step(d, *at + r->done, grant_part(g, r->done, length - r->done), write);
		if (result == -EWAIT && (result = may_wait_for(r, d->endpoint)) == 0)
			return park_hard(&vfs.block_waiters, r);
		if (result < 0)
			break;
		r->done += (uint64_t)result;
		r->scratch[2] = 0;
	}
	/* Others may change the sector on the disk, so the buffer is not kept. */
	d->buffered = NO_SECTOR;
	if (r->done == 0 && result < 0)
		return answer(r, result);
	*at += r->done;
	return answer(r, (int64_t)r->done);
}

static verdict disk_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	return transfer(r, f, to, at, false);
}

static verdict disk_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
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
		return answer(r, copy_out(at, 0, &value, sizeof value));
	case BLKBSZGET:
	case BLKSSZGET:
	case BLKROGET:
		return answer(r, copy_out(at, 0, &word, sizeof word));
	case BLKFLSBUF:
		result = block_flush(d->endpoint);
		if (result == -EWAIT && (result = may_wait_for(r, d->endpoint)) == 0)
			return park_hard(&vfs.block_waiters, r);
		return answer(r, result);
	}
	return refuse(r, ENOTTY);
}

const struct file_operations disk_files = { .read = disk_read,
					    .write = disk_write,
					    .by_shares = true,
					    .seek = disk_seek,
					    .ioctl = disk_ioctl,
					    .release = disk_release };
