/* seam.c: see seam.h. Needs a compiler with -fsanitize=address to be of use: it checks what the service touches. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "seam.h"
#include "abi/errno.h"
#include "block.h"
#include "clock.h"
#include "fs.h"
#include "kernel.h"

size_t pages_held, pages_most;
nanoseconds host_now, host_alarm = NEVER;
struct host_disk host_disk = { .writes_left = -1, .bad_sector = SIZE_MAX };
static uint64_t notified[ENDPOINTS];

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	if (offset > from.length || n > from.length - offset || from.id == 0)
		return n == 0 ? 0 : -EFAULT;
	memcpy(to, (const char *)from.id + offset, n);
	return 0;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	if (offset > to.length || n > to.length - offset || to.id == 0)
		return n == 0 ? 0 : -EFAULT;
	memcpy((char *)to.id + offset, from, n);
	return 0;
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	if (offset > to.length || n > to.length - offset || to.id == 0)
		return n == 0 ? 0 : -EFAULT;
	memset((char *)to.id + offset, 0, n);
	return 0;
}

void notify(uint32_t endpoint, unsigned bit)
{
	notified[endpoint] |= 1ULL << bit;
}

uint64_t host_notified(uint32_t endpoint)
{
	uint64_t bits = notified[endpoint];

	notified[endpoint] = 0;
	return bits;
}

nanoseconds now(void)
{
	return host_now;
}

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	(void)endpoint;
	host_alarm = deadline;
}

int64_t clock_epoch(uint64_t *out_nanoseconds)
{
	*out_nanoseconds = 1735689600000000000ULL;
	return 0;
}

/* Each run is the service's first. */
void keep(uint32_t endpoint, uint64_t word)
{
	(void)endpoint;
	(void)word;
}

uint64_t kept(uint32_t endpoint)
{
	(void)endpoint;
	return 0;
}

void *pages_take(size_t count)
{
	void *pages;

	if (count == 0 || count > 512 || (count & (count - 1)) != 0 ||
	    (pages_most > 0 && pages_held + count > pages_most))
		return NULL;
	pages = aligned_alloc(PAGE, count * PAGE);
	if (!pages)
		return NULL;
	memset(pages, 0, count * PAGE);
	pages_held += count;
	return pages;
}

void pages_give(void *pages, size_t count)
{
	pages_held -= count;
	free(pages);
}

void log_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

void panic(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	abort();
}

/* The disk -------------------------------------------------------------------------------------------------------- */

#define SECTOR 512
#define UNDER_WAY 4
/* Bytes: block.idl's. */
#define REQUEST_MOST 65536
#define UNFLUSHED_MOST 65536

enum kind { READ, WRITE, FLUSH };
/* A transfer that was begun; `ended`: the next call of the same kind and sector gets its answer. */
static struct {
	uint64_t sector;
	size_t length;
	enum kind kind;
	bool used, ended;
	uint8_t bytes[REQUEST_MOST];
} under_way[UNDER_WAY];

/* Sectors as they were before writes that no flush has followed. */
static struct {
	size_t sector;
	uint8_t before[SECTOR];
} unflushed[UNFLUSHED_MOST];
static size_t unflushed_count;

bool disk_goes_on(void)
{
	bool any = false;

	for (int at = 0; at < UNDER_WAY; at++)
		any |= under_way[at].used;
	for (int at = 0, first = rand() % UNDER_WAY; at < UNDER_WAY; at++) {
		int one = (first + at) % UNDER_WAY;

		if (!host_disk.is_stuck && under_way[one].used && !under_way[one].ended) {
			under_way[one].ended = true;
			break;
		}
	}
	if (any)
		notify(ENDPOINT_FS, FS_BLOCK_READY);
	return any;
}

/* The next process of a driver knows of no transfer. Without one, as in mono, it goes on as before. */
int64_t kernel_server_stuck(uint32_t endpoint)
{
	host_disk.reported++;
	if (!host_disk.begins_anew)
		return -EINVAL;
	host_disk.is_stuck = false;
	memset(under_way, 0, sizeof under_way);
	notify(ENDPOINT_FS, FS_BLOCK_READY);
	return 0;
}

/* 0: it may be done now. `from`: of a write, what is to be written. */
static int64_t wait_for(enum kind kind, uint64_t sector, const uint8_t **from, size_t length)
{
	static uint8_t ended[REQUEST_MOST];
	int unused = -1;

	if (!host_disk.waits)
		return 0;
	for (int at = 0; at < UNDER_WAY; at++) {
		if (!under_way[at].used) {
			unused = at;
			continue;
		}
		if (under_way[at].kind != kind || under_way[at].sector != sector)
			continue;
		if (!under_way[at].ended)
			return -EWAIT;
		under_way[at].used = false;
		if (from && under_way[at].length == length) {
			memcpy(ended, under_way[at].bytes, length);
			*from = ended;
		}
		return 0;
	}
	if (unused < 0)
		return -EWAIT;
	under_way[unused].kind = kind;
	under_way[unused].sector = sector;
	under_way[unused].used = true;
	under_way[unused].ended = false;
	under_way[unused].length = length;
	if (from)
		memcpy(under_way[unused].bytes, *from, length);
	return -EWAIT;
}

static bool is_bad(uint64_t sector, size_t length)
{
	return host_disk.bad_sector >= sector && host_disk.bad_sector < sector + length / SECTOR;
}

int64_t block_capacity(uint32_t endpoint, uint64_t *out_sectors)
{
	*out_sectors = host_disk.sectors;
	return endpoint == ENDPOINT_RAM_BLOCK ? 0 : -ENODEV;
}

int64_t block_read(uint32_t endpoint, uint64_t sector, struct grant to)
{
	int64_t result;

	(void)endpoint;
	if (to.length % SECTOR != 0 || sector + to.length / SECTOR > host_disk.sectors)
		return -EINVAL;
	result = wait_for(READ, sector, NULL, to.length);
	if (result < 0)
		return result;
	return is_bad(sector, to.length) ? -EIO : copy_out(to, 0, host_disk.bytes + sector * SECTOR, to.length);
}

static void write_sector(size_t sector, const uint8_t *from)
{
	host_disk.writes++;
	if (host_disk.writes_left == 0)
		return;
	if (host_disk.writes_left > 0)
		host_disk.writes_left--;
	if (unflushed_count < UNFLUSHED_MOST) {
		unflushed[unflushed_count].sector = sector;
		memcpy(unflushed[unflushed_count++].before, host_disk.bytes + sector * SECTOR, SECTOR);
	}
	memcpy(host_disk.bytes + sector * SECTOR, from, SECTOR);
}

int64_t block_write(uint32_t endpoint, uint64_t sector, struct grant from)
{
	const uint8_t *bytes = (const uint8_t *)from.id;
	int64_t result;

	(void)endpoint;
	if (from.length % SECTOR != 0 || from.length > REQUEST_MOST ||
	    sector + from.length / SECTOR > host_disk.sectors)
		return -EINVAL;
	result = wait_for(WRITE, sector, &bytes, from.length);
	if (result < 0)
		return result;
	if (is_bad(sector, from.length))
		return -EIO;
	for (size_t at = 0; at < from.length / SECTOR; at++)
		write_sector(sector + at, bytes + at * SECTOR);
	return 0;
}

int64_t block_flush(uint32_t endpoint)
{
	int64_t result = wait_for(FLUSH, 0, NULL, 0);

	(void)endpoint;
	if (result < 0)
		return result;
	host_disk.flushes++;
	if (host_disk.writes_left != 0)
		unflushed_count = 0;
	return 0;
}

void disk_cut(unsigned seed)
{
	srand(seed);
	/* From the last to the first, so that a sector written twice may also keep what was in between. */
	while (unflushed_count > 0) {
		unflushed_count--;
		if (rand() % 2)
			memcpy(host_disk.bytes + unflushed[unflushed_count].sector * SECTOR,
			       unflushed[unflushed_count].before, SECTOR);
	}
}
