/* ram_block.c: a disk in memory. A page is allocated at its first write; until then it reads as zeros. It never waits,
 * so that the instructions of work on its files can be counted. */
#include "block_serve.h"

#define DISK_MIB 16UL
#define PAGES (DISK_MIB * 1024 * 1024 / PAGE)
#define SECTOR 512UL
#define SECTORS (PAGES * PAGE / SECTOR)
#define TABLE_PAGES (PAGES * sizeof(void *) / PAGE)
/* The most bytes of a call in block.idl. */
#define MOST 65536UL

/* By page of the disk; NULL: never written. */
static uint8_t **pages;

void block_start(void)
{
	_Static_assert(TABLE_PAGES >= 1 && TABLE_PAGES <= 512 && !(TABLE_PAGES & (TABLE_PAGES - 1)),
		       "the table is taken in one piece");

	/* The table and its pages outlive a crash of this process. */
	pages = (uint8_t **)kept(ENDPOINT_RAM_BLOCK);
	if (pages)
		return;
	pages = pages_take(TABLE_PAGES);
	keep(ENDPOINT_RAM_BLOCK, (uint64_t)pages);
}

void block_notified(uint64_t bits)
{
}

int64_t block_capacity(uint64_t *out_sectors)
{
	*out_sectors = SECTORS;
	return pages ? 0 : -ENODEV;
}

static int64_t transfer(uint64_t sector, struct grant data, bool write)
{
	uint64_t at = sector * SECTOR, done = 0, n;

	if (!pages)
		return -ENODEV;
	if (data.length % SECTOR || data.length > MOST)
		return -EINVAL;
	if (sector > SECTORS || data.length / SECTOR > SECTORS - sector)
		return write ? -ENOSPC : -EINVAL;
	for (; done < data.length; done += n, at += n) {
		uint8_t **page = &pages[at / PAGE];
		uint64_t offset = at % PAGE;
		long result;

		n = MIN(PAGE - offset, data.length - done);
		if (write && !*page)
			*page = pages_take(1);
		if (write)
			result = *page ? copy_in(*page + offset, data, done, n) : -ENOMEM;
		else
			result = *page ? copy_out(data, done, *page + offset, n) : copy_zeros(data, done, n);
		TRY(result);
	}
	return 0;
}

int64_t block_read(uint64_t sector, struct grant to)
{
	return transfer(sector, to, false);
}

int64_t block_write(uint64_t sector, struct grant from)
{
	return transfer(sector, from, true);
}

int64_t block_flush(void)
{
	return pages ? 0 : -ENODEV;
}

const struct block_service ram_block_service = BLOCK_HANDLERS;
