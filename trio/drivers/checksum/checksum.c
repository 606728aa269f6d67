/* checksum.c: a disk whose driver is not trusted. This service is in front of the virtio disk or, without one, the
 * memory disk, and keeps a checksum of each sector that was read or written through it. If a read differs from the last
 * write or read, it fails with EIO and logs a line. So wrong answers are found: other bytes, another sector, a write
 * that was not done.
 *
 * Checksums are in memory and last until the machine is off. The first read of a sector is trusted. An unfinished write
 * may or may not be on the disk, so its sectors count as unread until it has ended. Writes that bypass this service, as
 * through /dev/vda, are reported as wrong. */
#include "block.h"
#include "block_table.h"
#include "kernel.h"
#include "switches.h"

#define SECTOR 512UL
/* The most bytes of a call in block.idl. */
#define MOST 65536UL
#define SUMS (PAGE / sizeof(uint32_t))
#define TABLES (PAGE / sizeof(uint32_t *))
/* 256 MiB: one page of tables. */
#define SECTORS_MOST (TABLES * SUMS)
/* Not known yet; no sector has this sum. */
#define UNKNOWN 0

static struct {
	/* The disk below, and its length; 0: not found yet. */
	uint32_t endpoint;
	uint64_t sectors;
	/* Tables of sums by sector; each is allocated when its first sector is used. */
	uint32_t **tables;
	/* Data that was read and is not yet checked. */
	uint8_t *data;
	uint64_t mismatches;
	/* How often in a row the disk below has said -EWAIT. */
	uint32_t waits;
} checked;

static void checksum_start(void)
{
}

/* The disk below notifies the callers, who call again. */
static void checksum_notified(uint64_t bits)
{
}

static int64_t disk_below(void)
{
	uint32_t endpoint = CHECKSUMS ? ENDPOINT_RAM_BLOCK : ENDPOINT_VIRTIO_BLK;
	uint64_t sectors;
	int64_t result;

	if (checked.sectors)
		return 0;
	result = block_capacity(endpoint, &sectors);
	if (result == -ENODEV) {
		endpoint = ENDPOINT_RAM_BLOCK;
		result = block_capacity(endpoint, &sectors);
	}
	if (result < 0 || sectors > SECTORS_MOST)
		return -ENODEV;
	checked.endpoint = endpoint;
	checked.sectors = sectors;
	return 0;
}

static int64_t checksum_capacity(uint64_t *out_sectors)
{
	TRY(disk_below());
	*out_sectors = checked.sectors;
	return 0;
}

/* Takes eight bytes a step; each step is a bijection. A changed sector is missed with probability 2^-32. */
static uint32_t sum_of(const uint8_t *sector)
{
	const uint64_t *words = (const uint64_t *)sector;
	uint64_t sum = SECTOR;

	for (unsigned i = 0; i < SECTOR / sizeof *words; i++) {
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15UL;
		sum = sum >> 27 | sum << 37;
	}
	sum >>= 32;
	return sum == UNKNOWN ? UNKNOWN + 1 : (uint32_t)sum;
}

/* The sum of a sector. NULL: memory is short, and the sector is trusted. */
static uint32_t *sum_at(uint64_t sector)
{
	uint32_t **table = &checked.tables[sector / SUMS];

	if (!*table)
		*table = pages_take(1);
	return *table ? &(*table)[sector % SUMS] : NULL;
}

/* Takes the table of tables with room for the data behind it, or that of the last process. */
static bool memory_take(void)
{
	checked.tables = (uint32_t **)kept(ENDPOINT_CHECKSUM);
	if (!checked.tables)
		checked.tables = pages_take(pages_for(PAGE + MOST));
	if (!checked.tables)
		return false;
	keep(ENDPOINT_CHECKSUM, (uint64_t)checked.tables);
	checked.data = (uint8_t *)checked.tables + PAGE;
	return true;
}

/* Returns 0, or why the call fails. Memory is taken at the first use. */
static int64_t may_transfer(uint64_t sector, uint64_t length, bool write)
{
	TRY(disk_below());
	if (length % SECTOR || length > MOST)
		return -EINVAL;
	if (sector > checked.sectors || length / SECTOR > checked.sectors - sector)
		return write ? -ENOSPC : -EINVAL;
	if (!checked.tables && !memory_take())
		return write ? -ENOMEM : -EIO;
	return 0;
}

/* Passes on what the disk below says. If that is stuck, its callers must not take this service for it. */
static int64_t below(int64_t result)
{
	checked.waits = result == -EWAIT ? checked.waits + 1 : 0;
	if (checked.waits < ROUNDS_MOST / 2)
		return result;
	checked.waits = 0;
	return kernel_server_stuck(checked.endpoint) == 0 ? -EWAIT : -EIO;
}

static int64_t checksum_read(uint64_t sector, struct grant to)
{
	TRY(may_transfer(sector, to.length, false));
	TRY(below(block_read(checked.endpoint, sector, grant_write(checked.data, to.length))));
	for (uint64_t at = 0; at < to.length; at += SECTOR) {
		uint32_t *known = sum_at(sector + at / SECTOR), sum = known ? sum_of(checked.data + at) : UNKNOWN;

		if (!known)
			continue;
		if (*known == UNKNOWN)
			*known = sum;
		if (*known != sum) {
			checked.mismatches++;
			log_line("checksum: sector %lu is not what was written (%lu such answers)",
				 sector + at / SECTOR, checked.mismatches);
			return -EIO;
		}
	}
	return copy_out(to, 0, checked.data, to.length);
}

/* The disk below compares: what it has written is what `from` held when it answered. */
static int64_t checksum_write(uint64_t sector, struct grant from)
{
	TRY(may_transfer(sector, from.length, true));
	for (uint64_t at = 0; at < from.length; at += SECTOR) {
		uint32_t *known = sum_at(sector + at / SECTOR);

		if (known)
			*known = UNKNOWN;
	}
	TRY(below(block_write(checked.endpoint, sector, from)));
	TRY(copy_in(checked.data, from, 0, from.length));
	for (uint64_t at = 0; at < from.length; at += SECTOR) {
		uint32_t *known = sum_at(sector + at / SECTOR);

		if (known)
			*known = sum_of(checked.data + at);
	}
	return 0;
}

static int64_t checksum_flush(void)
{
	TRY(disk_below());
	return below(block_flush(checked.endpoint));
}

const struct block_service checksum_service = { .start = checksum_start,
						.notified = checksum_notified,
						.capacity = checksum_capacity,
						.read = checksum_read,
						.write = checksum_write,
						.flush = checksum_flush };
