/* cache.c: the buffer cache of a mount: blocks by number, reused by a clock with a second chance. It grows page by page
 * to CACHE_BYTES, or until memory is short. Less than half of it is ever dirty (change_begin), so that a buffer to
 * reuse can always be found. */
#include "minixfs.h"

#define NO_BLOCK UINT32_MAX

static struct buffer **bucket(struct mount *m, uint32_t block)
{
	return &m->tables->buffers[(block * 2654435761U) >> 21];
}

static struct buffer *find(struct mount *m, uint32_t block)
{
	struct buffer *b = *bucket(m, block);

	while (b && b->block != block)
		b = b->hashed;
	return b;
}

static void unhash(struct mount *m, struct buffer *b)
{
	struct buffer **at = bucket(m, b->block);

	while (*at && *at != b)
		at = &(*at)->hashed;
	if (*at)
		*at = b->hashed;
}

/* Adds a page of buffers. They are used next, and reused, in the order of their memory, so that consecutive blocks are
 * copied in one piece. */
struct buffer *cache_grow(struct mount *m)
{
	uint32_t count = PAGE / m->block_size;
	struct buffer *last = m->clock, *b = NULL;
	uint8_t *bytes;

	if (m->buffer_count < m->buffer_most)
		b = room_take(m, count * sizeof *b);
	bytes = b ? pages_take(1) : NULL;
	if (!bytes) {
		m->buffer_most = m->buffer_count;
		return NULL;
	}
	for (uint32_t at = 0; at < PAGE; at += m->block_size, b++) {
		b->bytes = bytes + at;
		b->block = NO_BLOCK;
		b->step = m->step - 1;
		b->ring = last ? last->ring : b;
		if (last)
			last->ring = b;
		last = b;
	}
	m->buffer_count += count;
	return last;
}

int64_t cache_start(struct mount *m)
{
	for (unsigned phase = 0; phase < PHASES; phase++)
		list_start(&m->dirty[phase]);
	m->buffer_most = CACHE_BYTES / m->block_size;
	while (m->buffer_count < BUFFERS_LEAST) {
		struct buffer *last = cache_grow(m);

		if (!last)
			return -ENOMEM;
		m->clock = last;
	}
	return 0;
}

/* Goes round twice: the first round may only clear second chances. */
static struct buffer *reuse(struct mount *m)
{
	for (uint32_t tries = 2 * m->buffer_count; tries > 0; tries--) {
		struct buffer *b = m->clock = m->clock->ring;

		if (b->phase != IDLE || b->writing || b->state == READING || b->step == m->step)
			continue;
		if (!b->recent)
			return b;
		b->recent = false;
	}
	return NULL;
}

/* Returns the block's buffer, with its contents or EMPTY. */
static struct buffer *take(struct mount *m, uint32_t block)
{
	struct buffer *b = find(m, block);

	if (b) {
		b->step = m->step;
		return b;
	}
	if (m->clock->ring->block != NO_BLOCK)
		(void)cache_grow(m);
	b = reuse(m);
	if (!b)
		return NULL;
	unhash(m, b);
	b->block = block;
	b->step = m->step;
	b->state = EMPTY;
	b->recent = b->grown = false;
	b->fresh = b->removed = 0;
	b->hashed = *bucket(m, block);
	*bucket(m, block) = b;
	return b;
}

/* Returns as block_read and block_write do. The same request is repeated until the device has ended it. */
static int64_t transfer(struct mount *m, const struct transfer *t)
{
	/* Shared by all mounts: it is only used while the device answers. */
	static uint8_t row[REQUEST_MOST];
	uint64_t sector = (uint64_t)t->buffers[0]->block * (m->block_size / SECTOR);
	size_t length = (size_t)t->count << m->block_shift, block = m->block_size;
	bool alone = t->count == 1;
	int64_t result;

	if (t->from) {
		for (uint32_t at = 0; !alone && at < t->count; at++)
			memcpy(row + at * block, t->buffers[at]->bytes, block);
		return block_write(m->device, sector, grant_read(alone ? t->from : row, length));
	}
	result = block_read(m->device, sector, grant_write(alone ? t->buffers[0]->bytes : row, length));
	for (uint32_t at = 0; !alone && result == 0 && at < t->count; at++)
		memcpy(t->buffers[at]->bytes, row + at * block, block);
	return result;
}

static void transfer_ended(struct mount *m, const struct transfer *t, int64_t result)
{
	if (t->from == m->tables->shadow)
		m->shadow_busy = false;
	if (t->from && result < 0)
		write_failed(m);
	for (uint32_t at = 0; at < t->count; at++) {
		struct buffer *b = t->buffers[at];

		b->writing = false;
		if (!t->from) {
			b->state = result == 0 ? VALID : t->count == 1 ? FAILED : ALONE;
			b->recent = true;
		} else if (result == 0) {
			buffer_written(m, b);
		}
	}
}

int64_t cache_transfer(struct mount *m, const struct transfer *t)
{
	int64_t result = transfer(m, t);

	if (result != -EWAIT) {
		transfer_ended(m, t, result);
		return result < 0 ? -EIO : 0;
	}
	waits.request = (uint8_t)((waits.request + 1U) % REQUESTS);
	m->transfers[m->transfer_count++] = *t;
	m->shadow_busy |= t->from == m->tables->shadow;
	for (uint32_t at = 0; at < t->count; at++) {
		t->buffers[at]->thing = waits.request;
		t->buffers[at]->writing = t->from != NULL;
		if (!t->from)
			t->buffers[at]->state = READING;
	}
	return wait_for(waits.request);
}

/* Starts reading consecutive absent blocks in one request. Returns 0 if there is nothing to wait for, or -EWAIT. */
static int64_t cache_fetch(struct mount *m, uint32_t block, uint32_t count)
{
	struct transfer t = { .count = 0 };
	uint32_t most = MIN(MIN(count, REQUEST_MOST >> m->block_shift), m->buffer_count / 4);

	if (most < 2 || m->transfer_count == TRANSFERS)
		return 0;
	for (; t.count < most; t.count++) {
		struct buffer *b = take(m, block + t.count);

		if (!b || b->state != EMPTY || b->writing)
			break;
		t.buffers[t.count] = b;
	}
	return t.count > 1 && cache_transfer(m, &t) == -EWAIT ? -EWAIT : 0;
}

int64_t cache_read(struct mount *m, uint32_t block, struct buffer **out)
{
	struct buffer *b = take(m, block);
	int64_t result;

	if (!b)
		return -ENOMEM;
	if (b->state == VALID) {
		b->recent = true;
		*out = b;
		return 0;
	}
	if (b->state == READING)
		return wait_for(b->thing);
	if (b->state == FAILED) {
		b->state = EMPTY;
		return -EIO;
	}
	if (m->transfer_count == TRANSFERS)
		return wait_for(ROOM);
	result = cache_transfer(m, &(struct transfer){ .count = 1, .buffers = { b } });
	if (result == 0)
		*out = b;
	else if (result != -EWAIT)
		b->state = EMPTY;
	return result;
}

int64_t cache_run(struct mount *m, uint32_t block, uint32_t ahead, uint32_t *count, struct buffer **out)
{
	struct buffer *b = find(m, block);
	uint32_t most = *count;
	int64_t result = 0;

	if (!b || b->state == EMPTY)
		result = cache_fetch(m, block, ahead);
	if (result == 0)
		result = cache_read(m, block, &b);
	if (result != 0)
		return result;
	*out = b;
	for (*count = 1; *count < most; ++*count) {
		struct buffer *next = b->ring;

		if (next->block != b->block + 1 || next->bytes != b->bytes + m->block_size || next->state != VALID)
			break;
		next->recent = true;
		b = next;
	}
	return 0;
}

int64_t cache_blank(struct mount *m, uint32_t block, bool clear, struct buffer **out)
{
	struct buffer *b = take(m, block);

	if (!b)
		return -ENOMEM;
	if (b->state == READING || b->writing)
		return wait_for(b->thing);
	if (clear)
		memset(b->bytes, 0, m->block_size);
	b->state = VALID;
	b->recent = true;
	*out = b;
	return 0;
}

struct buffer *cache_present(struct mount *m, uint32_t block)
{
	struct buffer *b = find(m, block);

	return b && b->state == VALID ? b : NULL;
}

void cache_forget(struct mount *m, uint32_t block)
{
	struct buffer *b = find(m, block);

	if (!b)
		return;
	cache_unlist(m, b);
	b->grown = b->recent = false;
	b->fresh = b->removed = 0;
	if (b->state == VALID && !b->writing)
		b->state = EMPTY;
}

void cache_list(struct mount *m, struct buffer *b, enum phase phase)
{
	if (b->phase == IDLE)
		m->dirty_count++;
	else
		list_remove(&b->dirty);
	b->phase = phase;
	list_add(&m->dirty[phase], &b->dirty);
}

void cache_unlist(struct mount *m, struct buffer *b)
{
	if (b->phase == IDLE)
		return;
	list_remove(&b->dirty);
	b->phase = IDLE;
	m->dirty_count--;
}

int64_t round_begins(struct mount *m)
{
	if (++m->rounds == ROUNDS_MOST && kernel_server_stuck(m->device) == 0)
		m->rounds = 0;
	return is_lost(m) ? -EIO : -EWAIT;
}

void cache_poll(struct mount *m)
{
	for (uint32_t at = 0; at < m->transfer_count;) {
		struct transfer t = m->transfers[at];
		int64_t result = transfer(m, &t);

		if (result == -EWAIT && !is_lost(m)) {
			at++;
			continue;
		}
		if (result == -EWAIT)
			result = -EIO;
		else
			m->rounds = 0;
		m->transfers[at] = m->transfers[--m->transfer_count];
		has_come(t.buffers[0]->thing);
		has_come(ROOM);
		transfer_ended(m, &t, result);
	}
}
