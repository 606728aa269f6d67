/* mapping.c: which zone holds a file's block: seven are in the inode, the others behind one, two or three levels of
 * indirect blocks. Zone numbers of a damaged disk are checked before they are used. */
#include "minixfs.h"

#define LEVELS 4
#define RUN_MOST 64U

/* The pointers that lead to a block: the index of each in the inode or an indirect block. */
struct path {
	uint32_t depth, at[LEVELS];
	/* How far it was followed; where the pointers are, and in which buffers (NULL: in the inode). */
	uint32_t level, *pointer[LEVELS];
	struct buffer *holder[LEVELS];
};

static inline uint32_t pointer_shift(const struct mount *m)
{
	return m->block_shift - 2;
}

/* No file is longer than three levels reach (take_super). */
static void path_of(const struct mount *m, uint32_t index, struct path *path)
{
	uint32_t shift = pointer_shift(m), levels = 0;
	uint64_t rest = index, here = DIRECT;

	while (rest >= here) {
		rest -= here;
		here = 1ULL << (++levels * shift);
	}
	INVARIANT(levels < LEVELS);
	path->depth = levels + 1;
	path->at[0] = levels == 0 ? (uint32_t)rest : DIRECT + levels - 1;
	for (uint32_t level = 1; level <= levels; level++)
		path->at[level] = (uint32_t)(rest >> ((levels - level) * shift)) & ((1U << shift) - 1);
}

/* Follows the path as far as there are zones. A damaged disk may name a zone repeatedly, so freed zones are not
 * followed. Returns 0, -EWAIT or -EIO. */
static int64_t follow(struct mount *m, struct inode *i, struct path *path)
{
	path->holder[0] = NULL;
	path->pointer[0] = &i->zone[path->at[0]];
	for (path->level = 0; path->level + 1 < path->depth;) {
		uint32_t zone = *path->pointer[path->level];
		struct buffer *b;

		if (!is_zone(m, zone) || is_freed(&m->zones_map, zone))
			return 0;
		TRY(cache_read(m, zone, &b));
		path->level++;
		path->holder[path->level] = b;
		path->pointer[path->level] = (uint32_t *)b->bytes + path->at[path->level];
	}
	return 0;
}

/* Finds the path to a file's block, and its zone (0: a hole). */
static int64_t path_find(struct mount *m, struct inode *i, uint32_t index, struct path *path, uint32_t *zone)
{
	path_of(m, index, path);
	TRY(follow(m, i, path));
	*zone = *path->pointer[path->level];
	return *zone == 0 || (path->level + 1 == path->depth && is_zone(m, *zone)) ? 0 : -EIO;
}

static void set_pointer(struct mount *m, struct inode *i, const struct path *path, uint32_t level, uint32_t zone)
{
	*path->pointer[level] = zone;
	if (path->holder[level])
		dirty_buffer(m, path->holder[level], INDIRECT, NULL);
	else
		inode_dirty(m, i);
}

/* If reads continue from one run into the next, the whole next run is looked up; otherwise only what is asked for. */
int64_t block_run(struct mount *m, struct inode *i, uint32_t index, uint32_t most, uint32_t *zone, uint32_t *count)
{
	bool goes_on = index == i->run.index + i->run.count;
	uint32_t within = index - i->run.index, room, run_length = 1;
	const uint32_t *zones;
	struct path path;

	if (within < i->run.count) {
		*zone = i->run.zone + within;
		*count = MIN(most, i->run.count - within);
		return 0;
	}
	TRY(path_find(m, i, index, &path, zone));
	*count = 1;
	if (*zone == 0)
		return 0;
	zones = path.pointer[path.level];
	room = path.level == 0 ? DIRECT - index : (1U << pointer_shift(m)) - path.at[path.level];
	room = MIN(MIN(room, goes_on ? RUN_MOST : MIN(most, RUN_MOST)), m->zones - *zone);
	while (run_length < room && zones[run_length] == *zone + run_length)
		run_length++;
	i->run = (struct run){ index, *zone, run_length };
	*count = MIN(most, run_length);
	return 0;
}

static int64_t find_zones(struct mount *m, uint32_t after, uint32_t count, uint32_t *zones)
{
	for (uint32_t at = 0; at < count; at++) {
		TRY(map_find(m, &m->zones_map, after + 1, &zones[at]));
		/* The search went round the end: too few zones are free. */
		for (uint32_t other = 0; other < at; other++)
			if (zones[other] == zones[at])
				return m->zones_map.freed_count > 0 ? write_back_first(m) : -ENOSPC;
		after = zones[at];
	}
	return 0;
}

int64_t block_make(struct mount *m, struct inode *i, uint32_t index, bool clear, struct buffer **fresh)
{
	uint32_t zones[LEVELS], zone, last, near = 0;
	struct path path;

	TRY(path_find(m, i, index, &path, &zone));
	last = path.depth - 1;
	if (path.at[path.level] > 0)
		near = path.pointer[path.level][-1];
	if (near == 0 && path.holder[path.level])
		near = path.holder[path.level]->block;
	TRY(find_zones(m, near, path.depth - path.level, &zones[path.level]));
	for (uint32_t level = path.level; level <= last; level++) {
		TRY(cache_blank(m, zones[level], clear || level < last, fresh));
		if (level < last) {
			path.holder[level + 1] = *fresh;
			path.pointer[level + 1] = (uint32_t *)(*fresh)->bytes + path.at[level + 1];
		}
	}
	/* committed */
	for (uint32_t level = path.level; level <= last; level++) {
		map_take(m, &m->zones_map, zones[level]);
		set_pointer(m, i, &path, level, zones[level]);
	}
	return 0;
}

/* Goes down from the last possible block, so that an interrupted run leaves a valid smaller file. */
int64_t blocks_trim(struct mount *m, struct inode *i, uint32_t index)
{
	uint32_t shift = pointer_shift(m), at = DIRECT + (1U << shift) + (1U << (2 * shift)) + (1U << (3 * shift));
	struct path path;

	i->run.count = 0;
	while (at > index) {
		uint32_t level;

		step_begin(m);
		path_of(m, --at, &path);
		TRY(follow(m, i, &path));
		/* Continues at the first block that the path's last pointer leads to; the rest is a hole. */
		for (level = path.level + 1; level < path.depth; level++)
			at -= path.at[level] << ((path.depth - 1 - level) * shift);
		if (at < index)
			break;
		/* An indirect block is freed with the first block that it names. */
		for (level = path.level;; level--) {
			uint32_t zone = *path.pointer[level];

			if (zone != 0) {
				set_pointer(m, i, &path, level, 0);
				zone_give(m, zone);
			}
			if (level == 0 || path.at[level] != 0)
				break;
		}
	}
	return 0;
}

/* Counts like Linux: includes the indirect blocks that a file of this size without holes has. */
uint64_t blocks_512(const struct mount *m, const struct inode *i)
{
	uint64_t blocks = ((uint64_t)i->size + m->block_size - 1) >> m->block_shift, all = blocks, direct = DIRECT;

	for (; blocks > direct; direct = 1) {
		blocks = (blocks - direct + (1U << pointer_shift(m)) - 1) >> pointer_shift(m);
		all += blocks;
	}
	return all * (m->block_size / 512);
}
