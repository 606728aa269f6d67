/* super.c: mounting and unmounting. Each field of a superblock is checked against the device and the other fields. A
 * mount that must wait continues when it is called again. */
#include "minixfs.h"

/* Checks and takes the superblock. Returns -EINVAL if this is no valid MINIX file system of version 3. */
static int64_t take_super(struct mount *m, const struct disk_super *d, uint64_t sectors)
{
	uint64_t per_block = (uint64_t)d->block_size << 3, table_blocks;

	if (d->magic != MAGIC || d->log_zone_size != 0)
		return -EINVAL;
	if (d->block_size != 1024 && d->block_size != 2048 && d->block_size != 4096)
		return -EINVAL;
	m->block_size = d->block_size;
	m->block_shift = (uint32_t)__builtin_ctz(d->block_size);
	m->zones = d->zones;
	m->table = 2U + d->imap_blocks + d->zmap_blocks;
	table_blocks = ((uint64_t)d->inodes * sizeof(struct disk_inode) + d->block_size - 1) >> m->block_shift;
	/* The field has 16 bits; 0 stands for the only possible place. */
	m->first_zone = d->first_zone ? d->first_zone : (uint32_t)MIN(m->table + table_blocks, UINT32_MAX);
	if (d->inodes == 0 || d->inodes >= UINT32_MAX / 2 || m->zones >= UINT32_MAX / 2 || m->zones <= m->first_zone)
		return -EINVAL;
	if (m->first_zone < m->table + table_blocks || ((uint64_t)m->zones << m->block_shift) / SECTOR > sectors)
		return -EINVAL;
	m->counted = m->inodes_map.block = 2;
	m->inodes_map.bits = d->inodes + 1;
	m->zones_map.block = 2U + d->imap_blocks;
	m->zones_map.bits = m->zones - m->first_zone + 1;
	m->zones_map.base = m->first_zone - 1;
	if (d->imap_blocks * per_block < m->inodes_map.bits || d->zmap_blocks * per_block < m->zones_map.bits)
		return -EINVAL;
	m->max_size = d->max_size;
	return d->max_size < d->block_size || d->max_size > INT32_MAX ? -EINVAL : 0;
}

static int64_t read_super(struct mount *m)
{
	uint8_t bytes[1024] __attribute__((aligned(8)));
	uint64_t sectors;
	int64_t result;

	TRY(block_capacity(m->device, &sectors));
	if (sectors < 2 * SUPER_AT / SECTOR)
		return -EINVAL;
	result = block_read(m->device, SUPER_AT / SECTOR, grant_write(bytes, sizeof(bytes)));
	TRY(result == -EWAIT ? round_begins(m) : result);
	TRY(take_super(m, (const struct disk_super *)bytes, sectors));
	list_start(&m->used);
	list_start(&m->dirty_inodes);
	list_start(&m->doomed);
	m->tables = pages_take(pages_for(sizeof *m->tables));
	if (!m->tables)
		return -ENOMEM;
	TRY(cache_start(m));
	TRY(map_start(&m->inodes_map));
	return map_start(&m->zones_map);
}

/* Counts the free bits of both bitmaps, which are adjacent. */
static int64_t count_free(struct mount *m)
{
	for (; m->counted < m->table; m->counted++) {
		struct map *map = m->counted < m->zones_map.block ? &m->inodes_map : &m->zones_map;
		uint32_t per_block = m->block_size << 3;
		uint64_t first = (uint64_t)(m->counted - map->block) * per_block;
		struct buffer *b;

		step_begin(m);
		TRY(cache_read(m, m->counted, &b));
		for (uint32_t bit = 0; bit < per_block && first + bit < map->bits; bit++)
			map->free += !bit_of((const uint64_t *)b->bytes, bit) && first + bit > 0;
	}
	return 0;
}

struct room_page {
	struct room_page *next;
};

void *room_take(struct mount *m, size_t size)
{
	struct room_page *page = m->room_pages;

	if (!page || m->room_used + size > PAGE) {
		page = pages_take(1);
		if (!page)
			return NULL;
		page->next = m->room_pages;
		m->room_pages = page;
		m->room_used = sizeof *page;
	}
	m->room_used += size;
	return (uint8_t *)page + m->room_used - size;
}

static void forget(struct mount *m)
{
	struct buffer *b = m->clock;

	/* Buffers with blocks in one page follow each other in the ring. */
	for (uint32_t left = m->buffer_count; left > 0; left--, b = b->ring)
		if ((uintptr_t)b->bytes % PAGE == 0)
			pages_give(b->bytes, 1);
	for (struct room_page *page = m->room_pages, *next; page; page = next) {
		next = page->next;
		pages_give(page, 1);
	}
	if (m->tables)
		pages_give(m->tables, pages_for(sizeof *m->tables));
	map_end(&m->inodes_map);
	map_end(&m->zones_map);
	memset(m, 0, sizeof(*m));
}

static int64_t go_on(struct mount *m)
{
	struct inode *root;
	int64_t result;

	if (!m->zones_map.freed)
		TRY(read_super(m));
	cache_poll(m);
	m->turn++;
	TRY(count_free(m));
	result = inode_directory(m, ROOT, &root);
	return result == -ENOTDIR || result == -ESTALE ? -EINVAL : result;
}

static struct mount *slot_for(uint32_t device)
{
	struct mount *unused = NULL;

	for (struct mount *m = fs.mounts; m < fs.mounts + MOUNTS; m++) {
		if (m->use != FREE && m->device == device)
			return m;
		if (m->use == FREE && !unused)
			unused = m;
	}
	return unused;
}

/* The word that the next process of this service gets: the number of processes so far, and each mount's device. */
#define STARTS_BITS 16
#define MOUNT_BITS 8
#define KEPT_READ_ONLY 0x80U
_Static_assert(ENDPOINTS <= KEPT_READ_ONLY && STARTS_BITS + MOUNTS * MOUNT_BITS <= 64, "all of it in a word");

static void mounts_keep(void)
{
	uint64_t word = fs.starts;

	for (unsigned i = 0; i < MOUNTS; i++)
		if (fs.mounts[i].use >= RETURNING)
			word |= (uint64_t)(fs.mounts[i].device | (fs.mounts[i].read_only ? KEPT_READ_ONLY : 0))
				<< (STARTS_BITS + i * MOUNT_BITS);
	keep(ENDPOINT_FS, word);
}

static void mount_begin(struct mount *m, uint32_t device, bool read_only, enum use use)
{
	m->use = use;
	m->device = device;
	m->read_only = read_only;
	m->batch = 1;
}

int64_t fs_mount(uint32_t device, uint32_t read_only)
{
	struct mount *m = slot_for(device);
	int64_t result;

	if (!m)
		return -ENOMEM;
	if (m->use >= RETURNING)
		return -EBUSY;
	mount_begin(m, device, read_only != 0, MOUNTING);
	result = go_on(m);
	/* The device may still write to the buffers, so they must not be freed. */
	if (result == -EWAIT || (result < 0 && m->transfer_count > 0))
		return wait_for(ANYTHING);
	if (result < 0) {
		forget(m);
		return result;
	}
	m->use = LIVE;
	mounts_keep();
	return m - fs.mounts;
}

void mounts_return(void)
{
	uint64_t word = kept(ENDPOINT_FS);

	fs.starts = (uint16_t)(word + 1);
	for (unsigned i = 0; i < MOUNTS; i++) {
		uint32_t was = word >> (STARTS_BITS + i * MOUNT_BITS) & 0xff;

		if (was)
			mount_begin(&fs.mounts[i], was & ~KEPT_READ_ONLY, was & KEPT_READ_ONLY, RETURNING);
	}
	mounts_keep();
}

int64_t mount_return(struct mount *m)
{
	int64_t result = go_on(m);

	if (result == -EWAIT || (result < 0 && m->transfer_count > 0))
		return wait_for(ANYTHING);
	if (result < 0) {
		log_line("minix: device %u cannot be mounted again: error %ld", m->device, -result);
		forget(m);
		mounts_keep();
		return -EIO;
	}
	m->use = LIVE;
	return 0;
}

int64_t fs_unmount(uint32_t mount)
{
	struct mount *m;
	int64_t result = 0;

	TRY(mount_of(mount, &m));
	LIST_EACH (struct inode, i, &m->used, used)
		if (i->holds > 0)
			return -EBUSY;
	inodes_reap(m);
	if (has_changes(m))
		result = write_back(m);
	if (result == -EWAIT || (!m->failed && !list_is_empty(&m->doomed)) || m->transfer_count > 0)
		return wait_for(ANYTHING);
	forget(m);
	mounts_keep();
	return 0;
}
