/* caches.h: a set-associative memory of keys with least-recently-used replacement: a cache by lines, or a TLB by pages.
 *
 * A set is a list in the order of use, the last used key first, so that a hit on the key used last costs one
 * comparison. Key 0 is an empty way: keys given from outside are shifted by one. */
#ifndef KM_CACHES_H
#define KM_CACHES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cache {
	uint64_t *keys; /* sets × ways */
	uint32_t sets, ways;
};

/* Aborts without memory. */
static inline void cache_open(struct cache *cache, uint32_t entries, uint32_t ways)
{
	cache->ways = ways;
	cache->sets = entries / ways;
	cache->keys = calloc(entries, sizeof *cache->keys);
	if (cache->keys == NULL)
		abort();
}

static inline uint64_t *cache_set(const struct cache *cache, uint64_t index)
{
	return cache->keys + (size_t)(index % cache->sets) * cache->ways;
}

/* Whether it holds the key, which is then the one used last. `index` chooses the set. */
static inline int cache_find(struct cache *cache, uint64_t key, uint64_t index)
{
	uint64_t *set = cache_set(cache, index);
	uint32_t i;

	key++;
	if (set[0] == key)
		return 1;
	for (i = 1; i < cache->ways; i++)
		if (set[i] == key) {
			memmove(set + 1, set, i * sizeof *set);
			set[0] = key;
			return 1;
		}
	return 0;
}

/* Adds a key that it does not hold, in an empty way or that of the key unused for longest. */
static inline void cache_add(struct cache *cache, uint64_t key, uint64_t index)
{
	uint64_t *set = cache_set(cache, index);
	uint32_t i = 0;

	while (i < cache->ways - 1 && set[i] != 0)
		i++;
	memmove(set + 1, set, i * sizeof *set);
	set[0] = key + 1;
}

/* Removes the keys of which `goes` says so. */
static inline void cache_remove(struct cache *cache, int (*goes)(uint64_t key, uint64_t what), uint64_t what)
{
	size_t i, n = (size_t)cache->sets * cache->ways;

	for (i = 0; i < n; i++)
		if (cache->keys[i] != 0 && goes(cache->keys[i] - 1, what))
			cache->keys[i] = 0;
}

#endif
