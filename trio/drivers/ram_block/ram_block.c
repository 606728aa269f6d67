/* ram_block.c: a disk in memory. A page of it is taken when it is first written; until then it reads as zeros. It never
 * waits, so that work on files on it can be counted instruction by instruction. */
#include "block_serve.h"

#define DISK_MIB 16UL
#define PAGES (DISK_MIB * 1024 * 1024 / PAGE)
#define SECTOR 512UL
#define SECTORS (PAGES * PAGE / SECTOR)
#define TABLE_PAGES (PAGES * sizeof(void *) / PAGE)
/* Of block.idl: bytes a call. */
#define MOST 65536UL

static struct {
	/* By page of the disk; NULL: never written. */
	uint8_t **pages;
} ram;

void block_start(void)
{
	_Static_assert(TABLE_PAGES >= 1 && TABLE_PAGES <= 512 && !(TABLE_PAGES & (TABLE_PAGES - 1)),
		       "the table is taken in one piece");

	ram.pages = pages_take(TABLE_PAGES);
}

void block_notified(uint64_t bits)
{
}

int64_t block_capacity(uint64_t *out_sectors)
{
	*out_sectors = SECTORS;
	return ram.pages ? 0 : -ENODEV;
}

/* 0, or what is wrong with the wish; `beyond`: the errno for what is past the end. */
static int64_t check(uint64_t sector, uint64_t length, int beyond)
{
	if (!ram.pages)
		return -ENODEV;
	if (length % SECTOR || length > MOST)
		return -EINVAL;
	return sector > SECTORS || length / SECTOR > SECTORS - sector ? -beyond : 0;
}

int64_t block_read(uint64_t sector, struct grant to)
{
	uint64_t at = sector * SECTOR, done = 0, n;
	int64_t wrong = check(sector, to.length, EINVAL);

	if (wrong)
		return wrong;
	for (; done < to.length; done += n, at += n) {
		const uint8_t *page = ram.pages[at / PAGE];

		n = MIN(PAGE - at % PAGE, to.length - done);
		if (page ? copy_out(to, done, page + at % PAGE, n) : copy_zeros(to, done, n))
			return -EFAULT;
	}
	return 0;
}

int64_t block_write(uint64_t sector, struct grant from)
{
	uint64_t at = sector * SECTOR, done = 0, n;
	int64_t wrong = check(sector, from.length, ENOSPC);

	if (wrong)
		return wrong;
	for (; done < from.length; done += n, at += n) {
		uint8_t **page = &ram.pages[at / PAGE];

		n = MIN(PAGE - at % PAGE, from.length - done);
		if (!*page)
			*page = pages_take(1);
		if (!*page)
			return -ENOMEM;
		if (copy_in(*page + at % PAGE, from, done, n))
			return -EFAULT;
	}
	return 0;
}

int64_t block_flush(void)
{
	return ram.pages ? 0 : -ENODEV;
}

const struct block_service ram_block_service = BLOCK_HANDLERS;
