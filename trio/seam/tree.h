/* tree.h: a sparse array of words, for services that keep one: the pages of an object, the places of a file's pages.
 * Tables lead to tables, as high as the highest number needs that was in it since it was empty. */
#ifndef TRIO_TREE_H
#define TRIO_TREE_H

#include "port.h"

/* Numbers below 2^reach have a place. While that is 1 `root` is word 0 itself, else a table. A zeroed tree is empty; a
 * word that is 0 is absent. */
struct tree {
	uint64_t root;
	uint32_t reach;
};

/* What all trees of a service have in common. A table has 2^bits words. `take` returns a table of zeros, NULL without
 * memory. */
struct tree_kind {
	unsigned bits;
	uint64_t *(*take)(struct tree *t);
	void (*give)(uint64_t *table);
	/* Frees what a removed word stands for. */
	void (*drop)(struct tree *t, uint64_t word);
};

static inline __attribute__((always_inline)) uint64_t tree_get(const struct tree_kind *kind, const struct tree *t,
							       uint64_t index)
{
	uint32_t shift = t->reach;
	uint64_t word = t->root;

	if (index >> shift != 0)
		return 0;
	while (shift > 0 && word != 0) {
		shift -= kind->bits;
		word = ((const uint64_t *)word)[index >> shift & ((1UL << kind->bits) - 1)];
	}
	return word;
}

/* Finds a word's place, and makes it if it is missing. Returns NULL without memory. */
static inline __attribute__((always_inline)) uint64_t *tree_word(const struct tree_kind *kind, struct tree *t,
								 uint64_t index)
{
	uint64_t *word = &t->root, *table;

	/* Adds levels on top; what the tree has becomes their first entry. */
	for (; index >> t->reach != 0; t->reach += kind->bits) {
		if (t->root == 0)
			continue;
		table = kind->take(t);
		if (table == NULL)
			return NULL;
		table[0] = t->root;
		t->root = (uint64_t)table;
	}
	for (uint32_t shift = t->reach; shift > 0;) {
		if (*word == 0)
			*word = (uint64_t)kind->take(t);
		if (*word == 0)
			return NULL;
		shift -= kind->bits;
		word = (uint64_t *)*word + (index >> shift & ((1UL << kind->bits) - 1));
	}
	return word;
}

/* The most levels that a number of 64 bits needs, with tables of 2^6 words. */
#define TREE_LEVELS 11

/* Removes words from `index` on, as many as `*left` says, and the tables that are left empty from their beginning. */
static inline void tree_cut(const struct tree_kind *kind, struct tree *t, uint64_t index, uint64_t *left)
{
	/* By level: the table at `at`, each of whose words stands for 2^shift numbers. The root is above all of
	 * them. */
	uint64_t *tables[TREE_LEVELS], *word = &t->root, at = index;
	uint64_t mask = (1UL << kind->bits) - 1;
	uint32_t level = 0, shift = t->reach;

	if (index >> shift != 0)
		return;
	for (;;) {
		if (*word != 0 && shift > 0) {
			tables[++level] = (uint64_t *)*word;
			shift -= kind->bits;
			word = &tables[level][at >> shift & mask];
			continue;
		}
		if (*word != 0 && *left > 0) {
			kind->drop(t, *word);
			*word = 0;
			--*left;
		}
		/* Goes to the next word; behind a table's last word that is the next word of the table above. */
		for (at = ((at >> shift) + 1) << shift; level > 0 && (at >> shift & mask) == 0; level--) {
			if (*left == 0)
				return;
			shift += kind->bits;
			word = level == 1 ? &t->root : &tables[level - 1][(at - 1) >> shift & mask];
			if (at - (1UL << shift) >= index) {
				kind->give(tables[level]);
				*word = 0;
			}
		}
		if (level == 0 || *left == 0)
			return;
		word = &tables[level][at >> shift & mask];
	}
}

#endif
