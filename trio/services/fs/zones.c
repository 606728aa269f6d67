/* zones.c: the bitmaps of inodes and zones. Allocated numbers are marked at once. Freed ones that the disk has in use
 * are marked free only at the end of a write-back; until then they must not be used again (write_back.c). */
#include "minixfs.h"

/* The largest map: its sets `fresh` and `freed` are runs of pages of limited size. */
#define BITS_MOST (512U * PAGE * 8)

int64_t map_start(struct map *map)
{
	if (map->bits > BITS_MOST)
		return -EINVAL;
	map->pages = pages_for((map->bits + 7) / 8);
	map->fresh = pages_take(map->pages);
	map->freed = pages_take(map->pages);
	map->hint = 1;
	return map->fresh && map->freed ? 0 : -ENOMEM;
}

void map_end(struct map *map)
{
	if (map->fresh)
		pages_give(map->fresh, map->pages);
	if (map->freed)
		pages_give(map->freed, map->pages);
}

static uint32_t block_of(const struct mount *m, const struct map *map, uint32_t bit)
{
	return map->block + (bit >> (m->block_shift + 3));
}

static uint64_t *word_of(const struct mount *m, struct buffer *b, uint32_t bit)
{
	return &((uint64_t *)b->bytes)[(bit & ((m->block_size << 3) - 1)) / 64];
}

int64_t map_find(struct mount *m, struct map *map, uint32_t from, uint32_t *number)
{
	struct buffer *b = NULL;
	uint32_t per_block = m->block_size << 3, at = from > map->base ? MAX(from - map->base, map->hint) : map->hint;
	bool all = at == map->hint;

	while (at < map->bits) {
		uint64_t clear;

		if (!b || at % per_block == 0)
			TRY(cache_read(m, block_of(m, map, at), &b));
		clear = ~*word_of(m, b, at) & ~0ULL << (at % 64);
		at &= ~63U;
		if (clear) {
			at += (uint32_t)__builtin_ctzll(clear);
			break;
		}
		at += 64;
	}
	if (at < map->bits) {
		if (all)
			map->hint = at;
		*number = map->base + at;
		return 0;
	}
	if (!all)
		return map_find(m, map, 0, number);
	return map->freed_count > 0 ? write_back_first(m) : -ENOSPC;
}

static void flip(struct mount *m, struct map *map, uint32_t bit)
{
	struct buffer *b = cache_present(m, block_of(m, map, bit));

	*word_of(m, b, bit) ^= 1ULL << (bit % 64);
	map->fresh[bit / 64] ^= 1ULL << (bit % 64);
	dirty_buffer(m, b, MAP, NULL);
}

void map_take(struct mount *m, struct map *map, uint32_t number)
{
	flip(m, map, number - map->base);
	map->free--;
}

void map_give(struct mount *m, struct map *map, uint32_t number)
{
	uint32_t bit = number - map->base;

	if (is_fresh(map, number)) {
		flip(m, map, bit);
		map->hint = MIN(map->hint, bit);
	} else if (!is_freed(map, number)) {
		map->freed[bit / 64] |= 1ULL << (bit % 64);
		map->freed_count++;
		alarm_wanted();
	} else {
		return;
	}
	map->free++;
}

/* Frees one bit. A damaged disk may have had it free all the time. */
static int64_t settle_bit(struct mount *m, struct map *map, uint32_t bit)
{
	struct buffer *b, *table = NULL;
	struct disk_inode *d = NULL;

	step_begin(m);
	TRY(cache_read(m, block_of(m, map, bit), &b));
	if (map == &m->inodes_map)
		TRY(table_block(m, bit, &table, &d));
	/* committed */
	if (d != NULL) {
		memset(d, 0, sizeof(*d));
		dirty_buffer(m, table, INODES, NULL);
	}
	if (*word_of(m, b, bit) >> (bit % 64) & 1)
		*word_of(m, b, bit) ^= 1ULL << (bit % 64);
	else
		map->free--;
	dirty_buffer(m, b, MAP, NULL);
	map->freed[bit / 64] &= ~(1ULL << (bit % 64));
	map->freed_count--;
	map->hint = MIN(map->hint, bit);
	return 0;
}

int64_t map_settle(struct mount *m, struct map *map)
{
	for (uint32_t word = 0; map->freed_count > 0 && word <= map->bits / 64; word++)
		while (map->freed[word]) {
			TRY(settle_bit(m, map, word * 64 + (uint32_t)__builtin_ctzll(map->freed[word])));
		}
	return 0;
}

void zone_give(struct mount *m, uint32_t zone)
{
	if (!is_zone(m, zone))
		return;
	cache_forget(m, zone);
	map_give(m, &m->zones_map, zone);
}
