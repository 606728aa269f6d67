/* write_back.c: the order in which changes reach the disk.
 *
 * Between two write-backs (a batch) only buffers change. Whatever the disk has in use and the batch frees (zones,
 * inodes, slots of directories) is not reused before the end of the batch. So each block on the disk is always in the
 * old state or in the new one, and no zone has two owners.
 * A write-back has phases. Each is on the medium (flush) before the next one begins, and changes wait until all ended:
 *
 * GATHER    (no write) inodes in memory go into the blocks of the inode table
 * NEW       bitmaps with what was allocated (nothing refers to it yet); contents of files; blocks of new directories;
 *           new indirect blocks; new blocks of old directories, empty
 * TABLE     inodes and old indirect blocks, which refer only to what NEW has written
 * ENTRIES   directories with new entries and still with the removed ones: a renamed file has two names rather than none
 * REMOVALS  directories as they are
 * FREES     inodes without a name are cleared, and what was freed becomes free in the bitmaps
 *
 * A power cut may leave things marked in use without an owner, wrong link counts, and a file with both its old and its
 * new name. fsck.minix finds all of these. (Do not use its repairs for version 3: util-linux 2.38 to 2.42 at least
 * writes bitmaps and inodes to wherever it read last.) A directory that was moved to another one may have both names
 * too, which fsck.minix takes for links: no order of two blocks avoids that without the risk of losing it. sync answers
 * after the flush of the last phase.
 * An exchange of two names is never half done: a name that the disk still has in one slot does not get into another
 * slot within the batch. If one name of an inode is replaced and another one is new, a write-back comes first.
 *
 * The superblock of version 3 has no flag for a clean unmount (Linux writes none either; its fsck always checks). */
#include "minixfs.h"

static const uint8_t zeros[PAGE];

bool has_changes(const struct mount *m)
{
	return m->dirty_count > 0 || !list_is_empty(&m->dirty_inodes) || m->inodes_map.freed_count > 0 ||
	       m->zones_map.freed_count > 0;
}

static bool is_full(struct mount *m)
{
	return (m->dirty_count >= m->buffer_count / 2 && !cache_grow(m)) ||
	       m->removal_count + LOG_ROOM > REMOVALS_MOST || m->vacated_count + LOG_ROOM > VACATED_MOST;
}

int64_t change_begin(struct mount *m)
{
	if (m->read_only)
		return -EROFS;
	if (m->failed)
		return -EIO;
	step_begin(m);
	return m->phase != IDLE || is_full(m) ? write_back(m) : 0;
}

void dirty_buffer(struct mount *m, struct buffer *b, enum kind kind, const struct inode *owner)
{
	enum phase phase = NEW;
	bool fresh;

	if (b->phase != IDLE)
		return;
	fresh = kind != MAP && kind != INODES && is_fresh(&m->zones_map, b->block);
	if (m->phase == FREES)
		phase = FREES;
	else if (kind == INODES || (kind == INDIRECT && !fresh))
		phase = TABLE;
	else if (kind == DIRECTORY && !is_fresh(&m->inodes_map, owner->number)) {
		b->grown = fresh;
		phase = fresh ? NEW : ENTRIES;
	}
	cache_list(m, b, phase);
	alarm_wanted();
}

void buffer_written(struct mount *m, struct buffer *b)
{
	m->wrote = true;
	if (b->phase == NEW && b->grown) {
		b->grown = false;
		cache_list(m, b, ENTRIES);
	} else if (b->phase == ENTRIES && b->removed) {
		cache_list(m, b, REMOVALS);
	} else {
		cache_unlist(m, b);
		b->fresh = b->removed = 0;
	}
}

/* Whether the present phase writes the block as it is in memory. */
static bool goes_as_it_is(const struct mount *m, const struct buffer *b)
{
	return !(m->phase == NEW && b->grown) && !(m->phase == ENTRIES && b->removed);
}

/* The contents to write in the present phase; NULL: not yet, because the shadow is in use. */
static const uint8_t *content(struct mount *m, const struct buffer *b)
{
	struct disk_entry *entries = (struct disk_entry *)m->tables->shadow;

	if (goes_as_it_is(m, b))
		return b->bytes;
	if (m->phase == NEW)
		return zeros;
	if (m->shadow_busy)
		return NULL;
	/* The directory's block with the removed entries in it. */
	memcpy(entries, b->bytes, m->block_size);
	for (uint32_t at = 0; at < m->removal_count; at++)
		if (m->removals[at].block == b->block)
			entries[m->removals[at].slot].inode = m->removals[at].inode;
	return m->tables->shadow;
}

/* Collects the first buffer of a request and those after it on the list that are adjacent on the disk. Returns the next
 * one on the list. */
static struct link *gather(const struct mount *m, struct link *l, struct transfer *t)
{
	const struct link *list = &m->dirty[m->phase];
	struct buffer *b = CONTAINER(l, struct buffer, dirty);
	uint32_t first = b->block, most = goes_as_it_is(m, b) ? REQUEST_MOST >> m->block_shift : 1;

	do {
		t->buffers[t->count++] = b;
		l = l->next;
		b = CONTAINER(l, struct buffer, dirty);
	} while (l != list && t->count < most && b->block == first + t->count && !b->writing && goes_as_it_is(m, b));
	return l;
}

/* Returns 0 when all are written. */
static int64_t write_list(struct mount *m)
{
	struct link *list = &m->dirty[m->phase];

	for (struct link *l = list->next, *next; l != list; l = next) {
		struct buffer *b = CONTAINER(l, struct buffer, dirty);
		struct transfer t = { .count = 0 };
		int64_t result;

		next = l->next;
		if (b->writing)
			continue;
		if (m->transfer_count == TRANSFERS || !(t.from = content(m, b)))
			return -EWAIT;
		next = gather(m, l, &t);
		result = cache_transfer(m, &t);
		if (result < 0 && result != -EWAIT)
			return result;
	}
	return list_is_empty(list) ? 0 : -EWAIT;
}

static int64_t run_phase(struct mount *m)
{
	if (m->phase == GATHER)
		return inodes_gather(m);
	if (m->phase == FREES) {
		TRY(map_settle(m, &m->inodes_map));
		TRY(map_settle(m, &m->zones_map));
	}
	TRY(write_list(m));
	if (m->wrote)
		TRY(block_flush(m->device));
	m->wrote = false;
	return 0;
}

void write_failed(struct mount *m)
{
	if (m->failed)
		return;
	log_line("minix: device %u does not take what is written; nothing is changed on it any more", m->device);
	m->failed = true;
	m->phase = IDLE;
	has_come(WRITE_BACK);
}

int64_t write_back(struct mount *m)
{
	if (m->failed)
		return -EIO;
	if (m->phase == IDLE)
		m->phase = GATHER;
	while (m->phase < PHASES) {
		int64_t result = run_phase(m);

		if (result == -EWAIT && !m->failed && !is_lost(m))
			return wait_for(WRITE_BACK);
		if (result < 0) {
			write_failed(m);
			return -EIO;
		}
		m->phase++;
	}
	m->phase = IDLE;
	has_come(WRITE_BACK);
	memset(m->inodes_map.fresh, 0, m->inodes_map.pages * PAGE);
	memset(m->zones_map.fresh, 0, m->zones_map.pages * PAGE);
	m->removal_count = m->vacated_count = 0;
	m->batch++;
	step_begin(m);
	return 0;
}
