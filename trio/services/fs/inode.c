/* inode.c: inodes in memory. An inode stays if vfs holds it or it is dirty; others are kept in order of their last use
 * until their place is needed. One that has neither a name nor a holder is freed, in pieces if the disk must be
 * asked. */
#include "minixfs.h"

/* How many inodes are allocated at once. */
#define INODES_TOGETHER 16
#define DAY 86400U

/* Seconds since 1970. */
static uint32_t seconds(void)
{
	uint64_t epoch = 0;

	clock_epoch(&epoch);
	return (uint32_t)((epoch + now()) / 1000000000U);
}

static struct inode **bucket(struct mount *m, uint32_t number)
{
	return &m->tables->inodes[number % INODE_BUCKETS];
}

static struct inode *find(struct mount *m, uint32_t number)
{
	struct inode *i = *bucket(m, number);

	while (i && i->number != number)
		i = i->hashed;
	return i;
}

static void unhash(struct mount *m, struct inode *i)
{
	struct inode **at = bucket(m, i->number);

	while (*at && *at != i)
		at = &(*at)->hashed;
	if (*at)
		*at = i->hashed;
}

static bool grow(struct mount *m)
{
	struct inode *new = m->inode_count < INODES_MOST ? room_take(m, INODES_TOGETHER * sizeof *new) : NULL;

	if (!new)
		return false;
	m->inode_count += INODES_TOGETHER;
	for (unsigned at = 0; at < INODES_TOGETHER; at++) {
		new[at].turn = m->turn - 1;
		list_add(m->used.next, &new[at].used);
	}
	return true;
}

static void used_now(struct mount *m, struct inode *i)
{
	i->turn = m->turn;
	list_remove(&i->used);
	list_add(&m->used, &i->used);
}

/* An inode without a number is reused first, because it is empty. */
static void put_back(struct mount *m, struct inode *i)
{
	i->number = 0;
	list_remove(&i->used);
	list_add(m->used.next, &i->used);
}

/* Takes an unneeded inode out of the table. -EWAIT: dirty ones are written first. */
static int64_t take(struct mount *m, struct inode **out)
{
	uint32_t tries = m->inode_count;
	struct inode *i;

	do {
		if (tries-- == 0 && !grow(m))
			return !list_is_empty(&m->dirty_inodes) && !m->failed ? write_back_first(m) : -ENOMEM;
		i = CONTAINER(m->used.next, struct inode, used);
		list_remove(&i->used);
		list_add(&m->used, &i->used);
	} while (i->holds > 0 || is_listed(&i->dirty) || is_listed(&i->doomed) || i->turn == m->turn);
	unhash(m, i);
	*out = i;
	return 0;
}

int64_t table_block(struct mount *m, uint32_t number, struct buffer **b, struct disk_inode **d)
{
	uint32_t shift = m->block_shift - 6, index = number - 1;
	int64_t result = cache_read(m, m->table + (index >> shift), b);

	*d = result < 0 ? NULL : (struct disk_inode *)(*b)->bytes + (index & ((1U << shift) - 1));
	return result;
}

static bool is_kind(uint16_t mode)
{
	uint32_t kind = mode & S_IFMT;

	return kind == S_IFREG || kind == S_IFDIR || kind == S_IFLNK || kind == S_IFCHR || kind == S_IFBLK ||
	       kind == S_IFIFO || kind == S_IFSOCK;
}

static void enter(struct mount *m, struct inode *i, uint32_t number)
{
	i->number = number;
	i->hashed = *bucket(m, number);
	*bucket(m, number) = i;
	i->holds = 0;
	i->run.count = 0;
	i->batch = 0;
	used_now(m, i);
}

int64_t inode_get(struct mount *m, uint32_t number, struct inode **out)
{
	struct inode *i = find(m, number);
	struct buffer *b;
	struct disk_inode *d;

	if (i) {
		used_now(m, i);
		*out = i;
		return is_listed(&i->doomed) ? -ESTALE : 0;
	}
	if (number == 0 || number >= m->inodes_map.bits || is_freed(&m->inodes_map, number))
		return -ESTALE;
	TRY(table_block(m, number, &b, &d));
	if (d->mode == 0 || d->links == 0)
		return -ESTALE;
	if (!is_kind(d->mode) || d->size > m->max_size)
		return -EIO;
	TRY(take(m, &i));
	enter(m, i, number);
	i->disk = *d;
	*out = i;
	return 0;
}

int64_t inode_directory(struct mount *m, uint32_t number, struct inode **out)
{
	TRY(inode_get(m, number, out));
	if (!is_directory(*out))
		return -ENOTDIR;
	return (*out)->links == 0 ? -ENOENT : 0;
}

int64_t inode_reserve(struct mount *m, uint32_t *number, struct inode **out)
{
	TRY(map_find(m, &m->inodes_map, 0, number));
	/* On a damaged disk a directory may name an inode that the bitmap has as free. Its old state is forgotten. */
	*out = find(m, *number);
	if (*out && ((*out)->holds > 0 || is_listed(&(*out)->doomed)))
		return -EIO;
	if (*out && is_listed(&(*out)->dirty))
		return write_back_first(m);
	if (*out)
		unhash(m, *out);
	else
		TRY(take(m, out));
	put_back(m, *out);
	(*out)->turn = m->turn;
	return 0;
}

void inode_commit(struct mount *m, struct inode *i, uint32_t number)
{
	enter(m, i, number);
	map_take(m, &m->inodes_map, number);
	i->disk = (struct disk_inode){ .links = 1 };
	i->accessed = i->modified = i->changed = seconds();
	inode_dirty(m, i);
}

void inode_dirty(struct mount *m, struct inode *i)
{
	i->batch = m->batch;
	if (is_listed(&i->dirty))
		return;
	list_add(&m->dirty_inodes, &i->dirty);
	alarm_wanted();
}

void inode_changed(struct mount *m, struct inode *i)
{
	i->changed = seconds();
	inode_dirty(m, i);
}

void inode_modified(struct mount *m, struct inode *i)
{
	inode_changed(m, i);
	i->modified = i->changed;
}

/* Frees a file. If its blocks cannot be read they stay marked in use, for fsck. */
static void reap(struct mount *m, struct inode *i)
{
	bool has_blocks = S_ISREG(i->mode) || is_directory(i) || S_ISLNK(i->mode);
	int64_t result = m->phase != IDLE ? -EWAIT : has_blocks ? blocks_trim(m, i, 0) : 0;

	if (result == -EWAIT || result == -ENOMEM) {
		if (!is_listed(&i->doomed))
			list_add(&m->doomed, &i->doomed);
		return;
	}
	/* All its blocks are free; only its number is left. */
	if (is_listed(&i->dirty))
		list_remove(&i->dirty);
	if (is_listed(&i->doomed))
		list_remove(&i->doomed);
	unhash(m, i);
	map_give(m, &m->inodes_map, i->number);
	put_back(m, i);
}

void inodes_reap(struct mount *m)
{
	LIST_EACH (struct inode, i, &m->doomed, doomed) {
		if (m->phase != IDLE || m->failed)
			return;
		step_begin(m);
		reap(m, i);
	}
}

void inode_settle(struct mount *m, struct inode *i)
{
	if (i->links == 0 && i->holds == 0 && !is_listed(&i->doomed) && !m->read_only && !m->failed)
		reap(m, i);
}

void inode_release(struct mount *m, struct inode *i)
{
	if (i->holds == 0)
		return;
	i->holds--;
	if (i->holds == 0)
		inode_settle(m, i);
}

int64_t inodes_gather(struct mount *m)
{
	while (!list_is_empty(&m->dirty_inodes)) {
		struct inode *i = CONTAINER(m->dirty_inodes.next, struct inode, dirty);
		struct disk_inode *d;
		struct buffer *b;

		step_begin(m);
		TRY(table_block(m, i->number, &b, &d));
		*d = i->disk;
		dirty_buffer(m, b, INODES, NULL);
		list_remove(&i->dirty);
	}
	return 0;
}

bool inode_is_dead(struct mount *m, uint32_t number)
{
	struct inode *i = find(m, number);

	return i ? i->links == 0 : is_freed(&m->inodes_map, number);
}

/* Like Linux's "relatime": once after each change, and once a day. */
void touch_access(struct mount *m, struct inode *i)
{
	bool is_told = i->accessed > i->modified && i->accessed > i->changed;
	uint32_t at;

	if (m->read_only || m->failed)
		return;
	at = seconds();
	if (at == i->accessed || (is_told && at - i->accessed < DAY))
		return;
	i->accessed = at;
	inode_dirty(m, i);
}
