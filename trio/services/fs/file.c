/* file.c: content of files and of symbolic links. New blocks are written one by one; what there is, is read and written
 * over by runs of blocks that lie side by side on the disk and in memory, each a step of its own; what would have to
 * wait for the disk ends them with what is done so far. */
#include "minixfs.h"

/* Requests of one call that are begun before the first has ended, beside the first. */
#define AHEAD 7
/* Blocks that one step makes dirty: few beside those that may be. */
#define OVER_MOST 8U

/* What else a call asks for is begun to be read too, so that the disk has work. */
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
	/* The first that is missing is what the call waits for. */
	waits.on = on;
}

int64_t fs_read(uint32_t mount, uint32_t inode, uint64_t offset, struct grant to)
{
	uint32_t mask, shift;
	uint64_t done = 0, n;
	struct mount *m;
	struct inode *i;

	TRY(mount_of(mount, &m));
	TRY(inode_get(m, inode, &i));
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
			result = cache_run(m, zone, i->run.zone + i->run.count - zone, &count, &b);
		if (result == -EWAIT)
			read_ahead(m, i, index + count, index + blocks);
		if (result < 0)
			return done > 0 ? (int64_t)done : result;
		part = MIN(n - done, ((uint64_t)count << shift) - (at & mask));
		if (b)
			result = copy_out(to, done, b->bytes + (at & mask), part);
		else
			result = copy_zeros(to, done, part);
		if (result < 0)
			return done > 0 ? (int64_t)done : -EFAULT;
		done += part;
	}
	if (to.length > 0)
		touch_access(m, i);
	return (int64_t)done;
}

/* A symbolic link has its text as a file its content. */
int64_t fs_readlink(uint32_t mount, uint32_t inode, struct grant to)
{
	struct mount *m;
	struct inode *i;

	TRY(mount_of(mount, &m));
	TRY(inode_get(m, inode, &i));
	return S_ISLNK(i->mode) ? fs_read(mount, inode, 0, to) : -EINVAL;
}

/* A buffer for `part` bytes from `within` of the file's block. *blank: its content is of no worth yet. */
static int64_t buffer_to_write(struct mount *m, struct inode *i, uint32_t index, bool whole, struct buffer **b,
			       bool *blank)
{
	bool beyond = (uint64_t)index << m->block_shift >= i->size;
	uint32_t zone;

	TRY(block_make(m, i, index, !whole, &zone, b));
	*blank = false;
	if (*b) {
		/* New: known by the file, so that it must have some content in any case. */
		dirty_buffer(m, *b, DATA, NULL);
		return 0;
	}
	*b = cache_present(m, zone);
	*blank = !*b && (whole || beyond);
	return *blank ? cache_blank(m, zone, !whole, b) : cache_read(m, zone, b);
}

/* Over what the file and the cache have: as many blocks as lie side by side. Bytes written, 0: there is nothing to
 * write over; -EFAULT and others. */
static int64_t write_over(struct mount *m, struct inode *i, uint64_t at, struct grant from, uint64_t done)
{
	uint32_t mask = m->block_size - 1, shift = m->block_shift, within = (uint32_t)at & mask, zone, count;
	uint64_t n = at < i->size ? MIN(from.length - done, i->size - at) : 0;
	struct buffer *b;
	int64_t result;

	if (n == 0)
		return 0;
	n = MIN(n, (OVER_MOST << shift) - within);
	result = block_run(m, i, (uint32_t)(at >> shift), (uint32_t)((within + n + mask) >> shift), &zone, &count);
	if (result < 0 || zone == 0 || !cache_present(m, zone))
		return result;
	TRY(cache_run(m, zone, count, &count, &b));
	n = MIN(n, (count << shift) - within);
	for (struct buffer *each = b; count > 0; count--, each = each->ring)
		dirty_buffer(m, each, DATA, NULL);
	return copy_in(b->bytes + within, from, done, n) == 0 ? (int64_t)n : -EFAULT;
}

/* Within one block. Bytes written; -EFAULT and others. */
static int64_t write_piece(struct mount *m, struct inode *i, uint64_t at, struct grant from, uint64_t done)
{
	uint32_t within = (uint32_t)(at & (m->block_size - 1)),
		 part = (uint32_t)MIN(from.length - done, m->block_size - within);
	bool whole = part == m->block_size, blank;
	struct buffer *b = NULL;

	TRY(buffer_to_write(m, i, (uint32_t)(at >> m->block_shift), whole, &b, &blank));
	if (copy_in(b->bytes + within, from, done, part) != 0) {
		if (blank)
			cache_forget(m, b->block);
		else if (at >= i->size)
			memset(b->bytes + within, 0, part);
		return -EFAULT;
	}
	dirty_buffer(m, b, DATA, NULL);
	if (at + part > i->size) {
		i->size = (uint32_t)(at + part);
		inode_dirty(m, i);
	}
	return part;
}

int64_t fs_write(uint32_t mount, uint32_t number, uint64_t offset, struct grant from)
{
	int64_t result = 0;
	uint64_t done = 0;
	struct mount *m;
	struct inode *i;

	TRY(mount_of(mount, &m));
	TRY(change_begin(m));
	TRY(inode_get(m, number, &i));
	if (!S_ISREG(i->mode))
		return is_directory(i) ? -EISDIR : -EINVAL;
	if (from.length > 0 && offset >= m->max_size)
		return -EFBIG;
	from.length = MIN(from.length, m->max_size - MIN(offset, m->max_size));
	while (result >= 0 && done < from.length) {
		result = change_begin(m);
		if (result == 0)
			result = write_over(m, i, offset + done, from, done);
		if (result == 0)
			result = write_piece(m, i, offset + done, from, done);
		if (result > 0)
			done += (uint64_t)result;
	}
	if (done > 0) {
		i->modified = i->changed = seconds();
		inode_dirty(m, i);
	}
	return done > 0 ? (int64_t)done : result;
}

/* What is behind the end in the last block: zeros, for when the file grows again. */
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

/* The size comes last: until then a file that is cut has holes at its end. */
int64_t fs_truncate(uint32_t mount, uint32_t number, uint64_t size)
{
	struct mount *m;
	struct inode *i;

	TRY(mount_of(mount, &m));
	TRY(change_begin(m));
	TRY(inode_get(m, number, &i));
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
	i->modified = i->changed = seconds();
	inode_dirty(m, i);
	return 0;
}
