/* tmpfs_folder.c: a folder's entries: chains by linear hashing, so that a folder of 100,000 names is as quick as
 * one of ten and never stops to be sorted anew, and their places for getdents, which stay as they are while others
 * come and go. */
#include "handlers.h"
#include "tmpfs.h"

#define DOTS 2
/* Entries a chain, on average. */
#define LOAD 2

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

/* Bucket of a hash while there are `buckets`: as many of its bits as count them, one fewer where that is not there
 * yet. */
static uint32_t bucket_of(uint32_t hash, uint32_t buckets)
{
	uint32_t mask = buckets <= 1 ? 0 : (2U << (31 - __builtin_clz(buckets - 1))) - 1;
	uint32_t bucket = hash & mask;

	return bucket < buckets ? bucket : bucket & (mask >> 1);
}

struct entry *folder_find(const struct tmpfs_folder *f, const char *name, size_t length)
{
	uint32_t hash;
	struct entry *e;

	if (f->count == 0)
		return NULL;
	/* One chain: it is looked through without a hash. */
	if (f->buckets == 1) {
		e = radix_get(&f->chains, 0);
		while (e != NULL && !is_named(e, name, length))
			e = e->next;
		return e;
	}
	hash = hash_of(name, length);
	e = radix_get(&f->chains, bucket_of(hash, f->buckets));
	while (e != NULL && (e->hash != hash || !is_named(e, name, length)))
		e = e->next;
	return e;
}

static int64_t chain_set(struct tmpfs_folder *f, uint32_t bucket, struct entry *e)
{
	if (e != NULL)
		return radix_put(&f->chains, bucket, e);
	radix_remove(&f->chains, bucket);
	return 0;
}

/* One bucket more: those of the bucket it is split from that belong there move. Without memory it stays as it is. */
static void split(struct tmpfs_folder *f)
{
	uint32_t new = f->buckets, old = bucket_of(new, new);
	struct entry *e = radix_get(&f->chains, old), *stay = NULL, *move = NULL, *next;

	for (struct entry *each = e; each != NULL; each = each->next)
		if (bucket_of(each->hash, new + 1) == new)
			move = each;
	if (move != NULL && radix_put(&f->chains, new, move) != 0)
		return;
	/* committed: to put over what is there needs no memory */
	for (move = NULL; e != NULL; e = next) {
		struct entry **to = bucket_of(e->hash, new + 1) == new ? &move : &stay;

		next = e->next;
		e->next = *to;
		*to = e;
	}
	chain_set(f, old, stay);
	if (move != NULL)
		chain_set(f, new, move);
	f->buckets++;
}

/* One bucket fewer. */
static void merge(struct tmpfs_folder *f)
{
	uint32_t last = f->buckets - 1, into = bucket_of(last, last);
	struct entry *e = radix_get(&f->chains, last), *tail = e;

	if (e != NULL) {
		struct entry *old = radix_get(&f->chains, into);

		if (old == NULL && radix_put(&f->chains, into, e) != 0)
			return;
		while (tail->next != NULL)
			tail = tail->next;
		tail->next = old;
		if (old != NULL)
			chain_set(f, into, e);
		radix_remove(&f->chains, last);
	}
	f->buckets--;
}

int64_t folder_add(struct tmpfs_node *folder, const char *name, size_t length, struct tmpfs_node *node)
{
	struct tmpfs_folder *f = &folder->folder;
	struct entry *e = vfs_take(entry_size(length));
	uint32_t bucket;

	if (e == NULL)
		return -ENOMEM;
	if (f->count == 0) {
		f->buckets = 1;
		f->next_position = DOTS;
	}
	e->folder = folder;
	e->node = node;
	e->position = f->next_position;
	e->hash = hash_of(name, length);
	e->length = (uint8_t)length;
	memcpy(e->name, name, length);
	bucket = bucket_of(e->hash, f->buckets);
	e->next = radix_get(&f->chains, bucket);
	if (radix_put(&f->positions, e->position, e) != 0) {
		vfs_give(e, entry_size(length));
		return -ENOMEM;
	}
	if (chain_set(f, bucket, e) != 0) {
		radix_remove(&f->positions, e->position);
		vfs_give(e, entry_size(length));
		return -ENOMEM;
	}
	/* committed */
	f->next_position++;
	f->count++;
	folder->node.size += 20;
	if (node->entry == NULL)
		node->entry = e;
	if (f->count > f->buckets * LOAD)
		split(f);
	return 0;
}

void folder_remove(struct entry *e)
{
	struct tmpfs_folder *f = &e->folder->folder;
	uint32_t bucket = bucket_of(e->hash, f->buckets);
	struct entry *before = radix_get(&f->chains, bucket);

	if (before == e) {
		chain_set(f, bucket, e->next);
	} else {
		INVARIANT(before != NULL);
		while (before->next != e) {
			before = before->next;
			INVARIANT(before != NULL);
		}
		before->next = e->next;
	}
	radix_remove(&f->positions, e->position);
	f->count--;
	e->folder->node.size -= 20;
	if (e->node->entry == e)
		e->node->entry = NULL;
	if (f->buckets > 1 && f->count < f->buckets * LOAD / 2)
		merge(f);
	vfs_give(e, entry_size(e->length));
}

struct entry *folder_first(const struct tmpfs_folder *f)
{
	uint64_t position = 0;

	return radix_next(&f->positions, &position);
}

static uint8_t type_of(uint32_t mode)
{
	return (uint8_t)((mode & S_IFMT) >> 12);
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
	d->type = type_of(mode);
	memcpy(d->name, name, length);
	return copy_out(to, at, buffer, whole) != 0 ? -EFAULT : (int64_t)whole;
}

/* `.` and `..` at 0 and 1, then the entries by their positions. */
static int64_t one_entry(struct tmpfs_node *n, uint64_t *position, struct grant to, uint64_t at)
{
	struct tmpfs_node *up;
	struct entry *e;
	int64_t n_bytes;

	if (*position < DOTS) {
		up = *position == 1 ? n->folder.parent : n;
		n_bytes = entry_put(to, at, up->node.inode, *position + 1, S_IFDIR, "..", *position + 1);
	} else {
		e = radix_next(&n->folder.positions, position);
		if (e == NULL)
			return 0;
		n_bytes = entry_put(to, at, e->node->node.inode, *position + 1, e->node->node.mode, e->name, e->length);
	}
	if (n_bytes > 0)
		++*position;
	return n_bytes;
}

int64_t tmpfs_entries(struct file *file, struct grant to)
{
	struct tmpfs_node *n = tmpfs_node_of(file->node);
	uint64_t at = 0;
	int64_t result;

	if (n->node.links == 0)
		return -ENOENT;
	do {
		result = one_entry(n, &file->position, to, at);
		if (result > 0)
			at += (uint64_t)result;
	} while (result > 0);
	if (at == 0 && result < 0)
		return result;
	node_accessed(&n->node, file->flags);
	return (int64_t)at;
}
