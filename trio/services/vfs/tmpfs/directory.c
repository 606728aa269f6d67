/* directory.c: entries of directories. One hash table finds them by directory and name. Each directory also lists its
 * entries in the order in which they were added, for getdents: positions in it stay valid while other entries come and
 * go. */
#include "tmpfs/tmpfs.h"

#define DOTS 2UL

/* Makes a directory of 100,000 names nearly as fast as one of ten. */
#define BUCKETS 16384U
static struct entry *table[BUCKETS];

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

/* A name of up to 7 bytes as a number. */
static inline uint64_t short_name(const char *name, size_t length)
{
	if (length >= 4)
		return (uint64_t)half_at(name) << 32 | half_at(name + length - 4);
	return (uint64_t)(uint8_t)name[0] << 16 | (uint64_t)(uint8_t)name[length / 2] << 8 | (uint8_t)name[length - 1];
}

/* Hashes eight bytes at a time; the last eight may overlap those before. */
static struct entry **bucket_of(const struct tmpfs_node *directory, const char *name, size_t length)
{
	uint64_t h = (uint64_t)directory + length;

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
	return &table[h >> 50];
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

struct entry *directory_find(const struct tmpfs_node *directory, const char *name, size_t length)
{
	const struct link *head = &directory->directory.entries;
	struct entry *e = CONTAINER(head->next, struct entry, link);

	/* A single entry needs no hash. */
	if (e->link.next == head)
		return &e->link != head && is_named(e, name, length) ? e : NULL;
	e = *bucket_of(directory, name, length);
	while (e != NULL && (e->directory != directory || !is_named(e, name, length)))
		e = e->next;
	return e;
}

int64_t directory_add(const struct place *p, struct tmpfs_node *node)
{
	struct tmpfs_node *directory = tmpfs_node_of(p->directory);
	struct entry **at = bucket_of(directory, p->name, p->length), *e;

	if (directory->node.links == 0)
		return -ENOENT;
	e = heap_allocate(entry_size(p->length));
	if (e == NULL)
		return -ENOSPC;
	/* committed */
	e->directory = directory;
	e->node = node;
	e->length = (uint8_t)p->length;
	memcpy(e->name, p->name, p->length);
	e->position = DOTS + directory->directory.added++;
	e->next = *at;
	*at = e;
	list_add(&directory->directory.entries, &e->link);
	directory->node.size += 20;
	if (node->entry == NULL)
		node->entry = e;
	return 0;
}

void directory_remove(struct entry *e)
{
	struct entry **at = bucket_of(e->directory, e->name, e->length);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	list_remove(&e->link);
	e->directory->node.size -= 20;
	if (e->node->entry == e)
		e->node->entry = NULL;
	heap_free(e, entry_size(e->length));
}

int64_t entry_put(struct file *f, struct grant to, uint64_t *at, uint64_t inode, uint32_t mode, const char *name,
		  size_t length)
{
	_Alignas(8) char buffer[sizeof(struct linux_dirent64) + NAME_MAX + 8];
	struct linux_dirent64 *d = (struct linux_dirent64 *)buffer;
	size_t whole = (sizeof *d + length + 1 + 7) & ~7UL;

	if (*at + whole > to.length)
		return -EINVAL;
	memset(buffer + whole - 8, 0, 8);
	d->inode = inode;
	d->next = (int64_t)f->position + 1;
	d->length = (uint16_t)whole;
	d->type = (uint8_t)((mode & S_IFMT) >> 12);
	memcpy(d->name, name, length);
	TRY(copy_out(to, *at, buffer, whole));
	*at += whole;
	f->position++;
	return 0;
}

/* Positions 0 and 1 are `.` and `..`; the entries follow with their own positions. */
int64_t tmpfs_entries(struct file *file, struct grant to)
{
	struct tmpfs_node *n = tmpfs_node_of(file->node);
	const uint64_t dots[DOTS] = { n->node.inode, n->directory.parent->node.inode };
	int64_t result = 0;
	uint64_t at = 0;

	if (n->node.links == 0)
		return -ENOENT;
	while (result == 0 && file->position < DOTS)
		result = entry_put(file, to, &at, dots[file->position], S_IFDIR, "..", file->position + 1);
	LIST_EACH (struct entry, e, &n->directory.entries, link) {
		if (e->position < file->position)
			continue;
		if (result != 0)
			break;
		file->position = e->position;
		result = entry_put(file, to, &at, e->node->node.inode, e->node->node.mode, e->name, e->length);
	}
	if (at == 0 && result != 0)
		return result;
	node_accessed(&n->node, file->flags);
	return (int64_t)at;
}
