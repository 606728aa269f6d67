/* tree.h: a sparse row of words by number, for services that keep one: pages of an object, and where those of a file
 * lie. Tables lead to tables, as high as the highest number needs that was in it since it was empty. */
#ifndef TRIO_TREE_H
#define TRIO_TREE_H

#include "port.h"

/* Numbers below 2^reach have a place: where that is 1 `root` is word 0 itself, else a table. Zero-initialised is empty;
 * a word that is 0 is not there. */
struct tree {
	uint64_t root;
	uint32_t reach;
};

/* Of all of a service's trees. A table has 2^bits words: zeros where it is taken, NULL: there is no memory. */
struct tree_kind {
	unsigned bits;
	uint64_t *(*take)(struct tree *t);
	void (*give)(uint64_t *table);
	/* A word that goes. */
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

/* A word's place, which is made; NULL: no memory. */
static inline __attribute__((always_inline)) uint64_t *tree_word(const struct tree_kind *kind, struct tree *t,
								 uint64_t index)
{
	uint64_t *word = &t->root, *table;

	/* More on top, which what there is stands at the beginning of. */
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

/* Of a number of 64 bits: levels of tables of 2^6 words. */
#define TREE_LEVELS 11

/* Words from `index` on go, as many as `*left` says, and tables that are left empty from their beginning. */
static inline void tree_cut(const struct tree_kind *kind, struct tree *t, uint64_t index, uint64_t *left)
{
	/* The table at `at` whose words stand for 2^shift each, by its level; above all of them is the root. */
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
		/* The next word; behind a table's last one it is the next of the table above. */
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
