/* mapping.c: which zone holds a file's block: seven in the inode, then through one, two and three levels of indirect
 * blocks. What a damaged disk names is held against the zones that there are before it is used. */
#include "minixfs.h"

#define LEVELS 4
#define RUN_MOST 64U

/* The way to a block: index in the inode, then in each indirect block. */
struct path {
	uint32_t depth, at[LEVELS];
};

static inline uint32_t pointer_shift(const struct mount *m)
{
	return m->block_shift - 2;
}

/* False: no file is that long. */
static bool path_of(const struct mount *m, uint32_t index, struct path *path)
{
	uint32_t shift = pointer_shift(m), mask = (1U << shift) - 1;
	uint64_t rest = index;

	if (rest < DIRECT) {
		*path = (struct path){ 1, { index } };
		return true;
	}
	rest -= DIRECT;
	for (uint32_t levels = 1; levels < LEVELS; levels++) {
		if (rest < 1ULL << (levels * shift)) {
			path->depth = levels + 1;
			path->at[0] = DIRECT + levels - 1;
			for (uint32_t level = 1; level <= levels; level++)
				path->at[level] = (uint32_t)(rest >> ((levels - level) * shift)) & mask;
			return true;
		}
		rest -= 1ULL << (levels * shift);
	}
	return false;
}

static inline uint32_t *pointers(struct buffer *b)
{
	return (uint32_t *)b->bytes;
}

/* Follows the path as far as it goes: `*present` zones of it, the last in *zone; *holder: the last indirect block. */
static int64_t follow(struct mount *m, struct inode *i, const struct path *path, uint32_t *present, uint32_t *zone,
		      struct buffer **holder)
{
	uint32_t next = i->zone[path->at[0]];

	*holder = NULL;
	for (*present = 0; next != 0;) {
		if (!is_zone(m, next))
			return -EIO;
		*zone = next;
		if (++*present == path->depth)
			return 0;
		TRY(cache_read(m, next, holder));
		next = pointers(*holder)[path->at[*present]];
	}
	return 0;
}

static bool remembered(const struct run *r, uint32_t index, uint32_t most, uint32_t *zone, uint32_t *count)
{
	uint32_t within = index - r->index;

	if (within >= r->count)
		return false;
	*zone = r->zone + within;
	*count = MIN(most, r->count - within);
	return true;
}

/* The pointers from the file's block `index` on: *room of them, in the inode or in one indirect block; NULL: a hole. */
static int64_t pointers_from(struct mount *m, struct inode *i, uint32_t index, const uint32_t **zones, uint32_t *room)
{
	struct path path;
	struct buffer *holder;
	uint32_t present, zone = 0;

	*zones = NULL;
	if (index < DIRECT) {
		*zones = &i->zone[index];
		*room = DIRECT - index;
		return 0;
	}
	if (!path_of(m, index, &path))
		return -EIO;
	path.depth--;
	TRY(follow(m, i, &path, &present, &zone, &holder));
	if (present < path.depth)
		return 0;
	TRY(cache_read(m, zone, &holder));
	*zones = &pointers(holder)[path.at[path.depth]];
	*room = (1U << pointer_shift(m)) - path.at[path.depth];
	return 0;
}

/* Where a file is read from one run into the next, all of that is looked for; elsewhere what is asked for alone. */
int64_t block_run(struct mount *m, struct inode *i, uint32_t index, uint32_t most, uint32_t *zone, uint32_t *count)
{
	bool goes_on = index == i->run.index + i->run.count;
	const uint32_t *zones;
	uint32_t room, found = 1;

	if (remembered(&i->run, index, most, zone, count))
		return 0;
	TRY(pointers_from(m, i, index, &zones, &room));
	*count = 1;
	*zone = zones ? zones[0] : 0;
	if (*zone == 0)
		return 0;
	if (!is_zone(m, *zone))
		return -EIO;
	room = MIN(MIN(room, goes_on ? RUN_MOST : MIN(most, RUN_MOST)), m->zones - *zone);
	while (found < room && zones[found] == *zone + found)
		found++;
	i->run = (struct run){ index, *zone, found };
	*count = MIN(most, found);
	return 0;
}

static int64_t find_zones(struct mount *m, uint32_t after, uint32_t count, uint32_t *zones)
{
	for (uint32_t at = 0; at < count; at++) {
		TRY(zone_find(m, after, &zones[at]));
		/* Round the end: there are fewer free ones than it takes. */
		for (uint32_t other = 0; other < at; other++)
			if (zones[other] == zones[at])
				return m->zones_map.freed_count > 0 ? write_back_first(m) : -ENOSPC;
		after = zones[at];
	}
	return 0;
}

static void set_pointer(struct mount *m, struct inode *i, struct buffer *holder, uint32_t at, uint32_t zone)
{
	if (holder) {
		pointers(holder)[at] = zone;
		dirty_buffer(m, holder, INDIRECT, NULL);
	} else {
		i->zone[at] = zone;
		inode_dirty(m, i);
	}
}

int64_t block_make(struct mount *m, struct inode *i, uint32_t index, bool clear, uint32_t *zone, struct buffer **fresh)
{
	struct path path;
	struct buffer *holder, *blank[LEVELS] = { NULL };
	uint32_t present, zones[LEVELS], missing, near = 0;

	if (!path_of(m, index, &path))
		return -EFBIG;
	TRY(follow(m, i, &path, &present, &near, &holder));
	*fresh = NULL;
	*zone = near;
	if (present == path.depth)
		return 0;
	missing = path.depth - present;
	if (index > 0 && index <= DIRECT && i->zone[index - 1])
		near = i->zone[index - 1];
	else if (holder && path.at[present] > 0 && pointers(holder)[path.at[present] - 1])
		near = pointers(holder)[path.at[present] - 1];
	TRY(find_zones(m, near, missing, zones));
	for (uint32_t at = 0; at < missing; at++)
		TRY(cache_blank(m, zones[at], clear || at + 1 < missing, &blank[at]));
	/* committed */
	for (uint32_t at = 0; at < missing; at++) {
		zone_take(m, zones[at]);
		set_pointer(m, i, holder, path.at[present + at], zones[at]);
		holder = blank[at];
	}
	*zone = zones[missing - 1];
	*fresh = blank[missing - 1];
	return 0;
}

static int64_t trim_tree(struct mount *m, uint32_t *zone, uint32_t levels, uint64_t from);

/* One pointer of an indirect block. Dirty, the block stays where it is while the tree below is read. */
static int64_t trim_slot(struct mount *m, uint32_t block, uint32_t slot, uint32_t levels, uint64_t from)
{
	struct buffer *b;
	uint32_t pointer;
	int64_t result;

	step_begin(m);
	result = cache_read(m, block, &b);
	if (result < 0 || pointers(b)[slot] == 0)
		return result;
	pointer = pointers(b)[slot];
	dirty_buffer(m, b, INDIRECT, NULL);
	result = trim_tree(m, &pointer, levels, from);
	b = cache_present(m, block);
	/* Given back from below: it names itself. */
	if (!b)
		return -EIO;
	pointers(b)[slot] = pointer;
	return result;
}

/* Gives back what an indirect block `levels` above the data names from its `from`th block of data on; with `from` 0 the
 * block itself too, and *zone becomes 0. A piece that ends early leaves a smaller, whole tree. On a damaged disk a zone
 * may be named again and again: what was given back already is not gone through. */
static int64_t trim_tree(struct mount *m, uint32_t *zone, uint32_t levels, uint64_t from)
{
	uint32_t shift = pointer_shift(m), at = *zone;
	uint64_t each = levels > 0 ? 1ULL << ((levels - 1) * shift) : 1;

	if (at == 0)
		return 0;
	if (levels > 0 && is_zone(m, at) && !bit_of(m->zones_map.freed, zone_bit(m, at))) {
		for (uint32_t slot = 1U << shift; slot-- > from / each;) {
			TRY(trim_slot(m, at, slot, levels - 1, slot == from / each ? from % each : 0));
		}
	}
	if (from > 0)
		return 0;
	zone_give(m, at);
	*zone = 0;
	return 0;
}

int64_t blocks_trim(struct mount *m, struct inode *i, uint32_t index)
{
	uint32_t shift = pointer_shift(m);
	uint64_t first = DIRECT;

	i->run.count = 0;
	for (uint32_t levels = 1; levels < LEVELS; levels++) {
		uint64_t from = index > first ? index - first : 0;

		first += 1ULL << (levels * shift);
		if (index < first && i->zone[DIRECT + levels - 1]) {
			int64_t result = trim_tree(m, &i->zone[DIRECT + levels - 1], levels, from);

			inode_dirty(m, i);
			if (result < 0)
				return result;
		}
	}
	for (uint32_t at = index; at < DIRECT; at++)
		if (i->zone[at]) {
			zone_give(m, i->zone[at]);
			i->zone[at] = 0;
			inode_dirty(m, i);
		}
	return 0;
}

uint64_t blocks_512(const struct mount *m, const struct inode *i)
{
	uint32_t shift = pointer_shift(m);
	uint64_t blocks = ((uint64_t)i->size + m->block_size - 1) >> m->block_shift, rest, all = blocks;

	rest = blocks > DIRECT ? blocks - DIRECT : 0;
	/* As Linux counts: the indirect blocks that a file without holes of this size has. */
	for (uint32_t levels = 1; levels < LEVELS && rest > 0; levels++) {
		uint64_t here = MIN(rest, 1ULL << (levels * shift));

		for (uint32_t level = 1; level <= levels; level++)
			all += (here + (1ULL << (level * shift)) - 1) >> (level * shift);
		rest -= here;
	}
	return all * (m->block_size / 512);
}
