/* folder.c: a folder's entries: a tree in which each bit of a name's hash, from the highest on, says which way to
 * go: so a folder of 100,000 names is nearly as quick as one of ten and never stops to be sorted anew. getdents shows
 * them by their hashes, places which stay as they are while others come and go. */
#include "tmpfs/tmpfs.h"

#define DOTS 2UL
/* Of a position, behind the hash: they tell apart names with the same. */
#define SAME_HASH_BITS 30

static inline uint64_t word_at(const char *p)
{
	uint64_t word;

	__builtin_memcpy(&word, p, 8);
	return word;
}

static inline uint32_t half_at(const char *p)
{
	uint32_t half;

	__builtin_memcpy(&half, p, 4);
	return half;
}

/* The whole of a name of up to 7 bytes. */
static inline uint64_t short_name(const char *name, size_t length)
{
	if (length >= 4)
		return (uint64_t)half_at(name) << 32 | half_at(name + length - 4);
	return (uint64_t)(uint8_t)name[0] << 16 | (uint64_t)(uint8_t)name[length / 2] << 8 | (uint8_t)name[length - 1];
}

/* Eight bytes at a time, the last of which may overlap the ones before. */
static uint32_t hash_of(const char *name, size_t length)
{
	uint64_t h = length;

	if (length < 8) {
		h ^= short_name(name, length) << 4;
	} else {
		for (size_t at = 0; at + 8 < length; at += 8) {
			h = (h ^ word_at(name + at)) * 0x9e3779b97f4a7c15UL;
			h ^= h >> 29;
		}
		h ^= word_at(name + length - 8);
	}
	h *= 0x9e3779b97f4a7c15UL;
	return (uint32_t)(h >> 32 ^ h >> 17);
}

static inline bool is_named(const struct entry *e, const char *name, size_t length)
{
	if (e->length != length)
		return false;
	if (length < 8)
		return short_name(e->name, length) == short_name(name, length);
	for (size_t at = 0; at + 8 < length; at += 8)
		if (word_at(e->name + at) != word_at(name + at))
			return false;
	return word_at(e->name + length - 8) == word_at(name + length - 8);
}

static size_t entry_size(size_t length)
{
	return sizeof(struct entry) + length;
}

struct entry *folder_find(const struct tmpfs_folder *f, const char *name, size_t length)
{
	struct entry *e = f->top;
	uint32_t hash, way;

	/* One alone needs no hash. */
	if (e != NULL && e->branch[0] == e->branch[1])
		return is_named(e, name, length) ? e : NULL;
	hash = way = hash_of(name, length);
	while (e != NULL && (e->hash != hash || !is_named(e, name, length))) {
		e = e->branch[way >> 31];
		way <<= 1;
	}
	return e;
}

int64_t folder_add(struct tmpfs_node *folder, const char *name, size_t length, struct tmpfs_node *node)
{
	struct entry *e = vfs_take(entry_size(length)), **at = &folder->folder.top;

	if (e == NULL)
		return -ENOMEM;
	/* committed */
	e->folder = folder;
	e->node = node;
	e->hash = hash_of(name, length);
	e->length = (uint8_t)length;
	memcpy(e->name, name, length);
	e->position = ((uint64_t)e->hash << SAME_HASH_BITS) + DOTS;
	for (uint32_t way = e->hash; *at != NULL; way <<= 1) {
		if ((*at)->hash == e->hash)
			e->position = MAX(e->position, (*at)->position + 1);
		at = &(*at)->branch[way >> 31];
	}
	*at = e;
	folder->node.size += 20;
	if (node->entry == NULL)
		node->entry = e;
	return 0;
}

/* Its place is taken by any that stands below it and has none below itself. */
void folder_remove(struct entry *e)
{
	struct entry **at = &e->folder->folder.top, **below, *last;

	for (uint32_t way = e->hash; *at != e; way <<= 1) {
		INVARIANT(*at != NULL);
		at = &(*at)->branch[way >> 31];
	}
	for (below = at; (*below)->branch[0] != NULL || (*below)->branch[1] != NULL;)
		below = &(*below)->branch[(*below)->branch[0] == NULL];
	last = *below;
	*below = NULL;
	if (last != e) {
		memcpy(last->branch, e->branch, sizeof last->branch);
		*at = last;
	}
	e->folder->node.size -= 20;
	if (e->node->entry == e)
		e->node->entry = NULL;
	vfs_give(e, entry_size(e->length));
}

static struct entry *first_of(struct entry *a, struct entry *b)
{
	return a == NULL || b->position < a->position ? b : a;
}

/* The first at `position` or after; NULL: none. */
static struct entry *folder_next(const struct tmpfs_folder *f, uint64_t position)
{
	uint64_t hash = (MAX(position, DOTS) - DOTS) >> SAME_HASH_BITS;
	struct entry *found = NULL, *e = f->top, *after = NULL;

	/* Beside the way down to `position` all stand before it or all after it; the last of these, next to it. */
	for (uint32_t way = (uint32_t)MIN(hash, UINT32_MAX); e != NULL; way <<= 1) {
		if (e->position >= position)
			found = first_of(found, e);
		if (way >> 31 == 0 && e->branch[1] != NULL)
			after = e->branch[1];
		e = e->branch[way >> 31];
	}
	for (e = after; e != NULL; e = e->branch[e->branch[0] == NULL])
		found = first_of(found, e);
	return found;
}

int64_t entry_put(struct grant to, uint64_t at, uint64_t inode, uint64_t next, uint32_t mode, const char *name,
		  size_t length)
{
	_Alignas(8) char buffer[sizeof(struct linux_dirent64) + NAME_MAX + 8];
	struct linux_dirent64 *d = (struct linux_dirent64 *)buffer;
	size_t whole = (sizeof *d + length + 1 + 7) & ~7UL;

	if (at + whole > to.length)
		return -EINVAL;
	memset(buffer + whole - 8, 0, 8);
	d->inode = inode;
	d->next = (int64_t)next;
	d->length = (uint16_t)whole;
	d->type = (uint8_t)((mode & S_IFMT) >> 12);
	memcpy(d->name, name, length);
	return copy_out(to, at, buffer, whole) != 0 ? -EFAULT : (int64_t)whole;
}

/* `.` and `..` at 0 and 1, then the entries by their positions. */
int64_t tmpfs_entries(struct file *file, struct grant to)
{
	struct tmpfs_node *n = tmpfs_node_of(file->node);
	uint64_t at = 0;

	if (n->node.links == 0)
		return -ENOENT;
	for (;; file->position++) {
		struct entry *e = file->position < DOTS ? NULL : folder_next(&n->folder, file->position);
		struct node *of = file->position == 1 ? &n->folder.parent->node : &n->node;
		int64_t bytes;

		if (e == NULL && file->position >= DOTS)
			break;
		if (e != NULL) {
			file->position = e->position;
			of = &e->node->node;
		}
		bytes = entry_put(to, at, of->inode, file->position + 1, of->mode, e == NULL ? ".." : e->name,
				  e == NULL ? file->position + 1 : e->length);
		if (bytes < 0 && at == 0)
			return bytes;
		if (bytes < 0)
			break;
		at += (uint64_t)bytes;
	}
	node_accessed(&n->node, file->flags);
	return (int64_t)at;
}
