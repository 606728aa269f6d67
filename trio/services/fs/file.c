/* file.c: contents of files and of symbolic links. New blocks are written one by one. Existing blocks are read and
 * overwritten in runs that are consecutive on the disk and in memory; each run is a step. If a run must wait for the
 * disk, the call ends with what was done before. */
#include "minixfs.h"
#include "switches.h"

/* Further requests that a call starts before its first one has ended. */
#define AHEAD 7
/* Blocks that one step makes dirty; few of those that may be. */
#define OVER_MOST 8U

/* Also starts reading the rest of what the call asks for, so that the disk is busy. */
static void read_ahead(struct mount *m, struct inode *i, uint32_t index, uint32_t end)
{
	uint32_t zone, count, on = waits.on;

	for (uint32_t runs = 0; runs < AHEAD && index < end; runs++, index += count) {
		struct buffer *b;

		if (block_run(m, i, index, end - index, &zone, &count) < 0)
			break;
		if (zone && cache_run(m, zone, count, &(uint32_t){ 1 }, &b) < 0 && m->transfer_count == TRANSFERS)
			break;
	}
	/* The call waits for the first missing block. */
	waits.on = on;
}

/* The blocks are read from the disk again next time. */
static void forget_clean(struct mount *m, struct buffer *b, uint32_t count)
{
	for (; count > 0; count--, b = b->ring)
		if (b->phase == IDLE && !b->writing)
			cache_forget(m, b->block);
}

int64_t fs_read(uint32_t mount, uint32_t inode, uint64_t offset, struct grant to)
{
	uint32_t mask, shift;
	uint64_t done = 0, n;
	struct mount *m;
	struct inode *i;

	TRY(file_of(mount, inode, &m, &i));
	if (is_directory(i))
		return -EISDIR;
	mask = m->block_size - 1;
	shift = m->block_shift;
	n = offset < i->size ? MIN(to.length, i->size - offset) : 0;
	while (done < n) {
		uint64_t at = offset + done, part;
		uint32_t index = (uint32_t)(at >> shift), zone = 0, count = 1;
		uint32_t blocks = (uint32_t)((offset + n + mask) >> shift) - index;
		struct buffer *b = NULL;
		int64_t result;

		step_begin(m);
		result = block_run(m, i, index, blocks, &zone, &count);
		if (result == 0 && zone)
			result = cache_run(m, zone, FILES_UNCACHED ? count : i->run.zone + i->run.count - zone, &count,
					   &b);
		if (FILES_UNCACHED && b && b->phase != IDLE)
			result = write_back(m);
		if (result == -EWAIT)
			read_ahead(m, i, index + count, index + blocks);
		if (result < 0)
			return done > 0 ? (int64_t)done : result;
		part = MIN(n - done, ((uint64_t)count << shift) - (at & mask));
		if (b)
			result = copy_out(to, done, b->bytes + (at & mask), part);
		else
			result = copy_zeros(to, done, part);
		if (FILES_UNCACHED && b)
			forget_clean(m, b, count);
		if (result < 0)
			return done > 0 ? (int64_t)done : -EFAULT;
		done += part;
	}
	if (to.length > 0)
		touch_access(m, i);
	return (int64_t)done;
}

/* The text of a symbolic link is stored like a file's contents. */
int64_t fs_readlink(uint32_t mount, uint32_t inode, struct grant to)
{
	struct mount *m;
	struct inode *i;

	TRY(file_of(mount, inode, &m, &i));
	return S_ISLNK(i->mode) ? fs_read(mount, inode, 0, to) : -EINVAL;
}

/* Writes one new block, a run of cached blocks, or one other block. Returns the bytes written or a negative errno. */
static int64_t write_piece(struct mount *m, struct inode *i, uint64_t at, struct grant from, uint64_t done)
{
	uint32_t mask = m->block_size - 1, shift = m->block_shift, within = (uint32_t)at & mask, zone, count;
	uint32_t index = (uint32_t)(at >> shift), n = (uint32_t)MIN(from.length - done, (OVER_MOST << shift) - within);
	bool whole = within == 0 && n >= m->block_size, beyond = (uint64_t)index << shift >= i->size, blank = false;
	struct buffer *b;

	TRY(block_run(m, i, index, (within + n + mask) >> shift, &zone, &count));
	if (zone != 0 && cache_present(m, zone)) {
		TRY(cache_run(m, zone, count, &count, &b));
	} else {
		count = 1;
		blank = zone != 0 && (whole || beyond);
		if (zone == 0)
			TRY(block_make(m, i, index, !whole, &b));
		else
			TRY(blank ? cache_blank(m, zone, !whole, &b) : cache_read(m, zone, &b));
	}
	n = MIN(n, (count << shift) - within);
	for (struct buffer *each = b; count > 0; count--, each = each->ring)
		dirty_buffer(m, each, DATA, NULL);
	if (copy_in(b->bytes + within, from, done, n) != 0) {
		/* Bytes that the file had before stay. A new block must have defined contents in any case. */
		uint32_t had = zone == 0 ? 0 : (uint32_t)MIN(n, i->size - MIN(at, i->size));

		memset(b->bytes + within + had, 0, n - had);
		if (blank)
			cache_forget(m, b->block);
		return -EFAULT;
	}
	if (at + n > i->size) {
		i->size = (uint32_t)(at + n);
		inode_dirty(m, i);
	}
	return n;
}

int64_t fs_write(uint32_t mount, uint32_t number, uint64_t offset, struct grant from)
{
	int64_t result = 0;
	uint64_t done = 0;
	struct mount *m;
	struct inode *i;

	TRY(file_to_change(mount, number, &m, &i));
	if (!S_ISREG(i->mode))
		return is_directory(i) ? -EISDIR : -EINVAL;
	if (from.length > 0 && offset >= m->max_size)
		return -EFBIG;
	from.length = MIN(from.length, m->max_size - MIN(offset, m->max_size));
	while (result >= 0 && done < from.length) {
		result = change_begin(m);
		if (result == 0)
			result = write_piece(m, i, offset + done, from, done);
		if (result > 0)
			done += (uint64_t)result;
	}
	if (done == 0)
		return result;
	inode_modified(m, i);
	return (int64_t)done;
}

/* Clears the last block behind the end, for when the file grows again. */
static int64_t clear_tail(struct mount *m, struct inode *i, uint32_t size)
{
	uint32_t within = size & (m->block_size - 1), zone;
	struct buffer *b;

	if (within == 0)
		return 0;
	step_begin(m);
	TRY(block_zone(m, i, size >> m->block_shift, &zone));
	if (zone == 0)
		return 0;
	TRY(cache_read(m, zone, &b));
	memset(b->bytes + within, 0, m->block_size - within);
	dirty_buffer(m, b, DATA, NULL);
	return 0;
}

/* The size is set last: until then a truncated file has holes at its end. */
int64_t fs_truncate(uint32_t mount, uint32_t number, uint64_t size)
{
	struct mount *m;
	struct inode *i;

	TRY(file_to_change(mount, number, &m, &i));
	if (!S_ISREG(i->mode))
		return is_directory(i) ? -EISDIR : -EINVAL;
	if (size > m->max_size)
		return -EFBIG;
	if (size < i->size) {
		TRY(blocks_trim(m, i, (uint32_t)((size + m->block_size - 1) >> m->block_shift)));
		TRY(clear_tail(m, i, (uint32_t)size));
	}
	/* committed */
	i->size = (uint32_t)size;
	inode_modified(m, i);
	return 0;
}
