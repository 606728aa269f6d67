/* directory.c: directories are files of entries of 64 bytes; inode 0 marks an empty slot. A slot whose entry the disk
 * still has is not reused before the next write-back, except for the same name, if the removed file is gone. */
#include "minixfs.h"

static uint32_t slots_in_block(const struct mount *m)
{
	return m->block_size / ENTRY;
}

static uint32_t slots(const struct inode *d)
{
	return d->size / ENTRY;
}

static struct disk_entry *entry(struct buffer *b, uint32_t slot)
{
	return (struct disk_entry *)b->bytes + slot;
}

/* Reads a directory's block. Returns 0, -EWAIT or -EIO (also for a hole, which no directory has). */
static int64_t block_of(struct mount *m, struct inode *d, uint32_t index, struct buffer **b)
{
	uint32_t zone;

	TRY(block_zone(m, d, index, &zone));
	return zone != 0 ? cache_read(m, zone, b) : -EIO;
}

/* Hashes a name that ends with a NUL or after `most` bytes. */
static uint32_t hash_of(const char *name, size_t most, uint32_t *length)
{
	uint32_t hash = 2166136261U;

	for (*length = 0; *length < most && name[*length]; ++*length)
		hash = (hash ^ (uint8_t)name[*length]) * 16777619U;
	return hash;
}

/* Reads one component: bytes up to a NUL or the grant's end. Returns 0, -EFAULT, -ENOENT or -ENAMETOOLONG. */
int64_t name_take(struct grant from, struct name *name)
{
	char bytes[NAME_BYTES + 1] = { 0 };
	size_t n = MIN(from.length, sizeof(bytes));

	if (copy_in(bytes, from, 0, n) != 0)
		return -EFAULT;
	name->hash = hash_of(bytes, n, &name->length);
	if (name->length > NAME_BYTES)
		return -ENAMETOOLONG;
	memset(name->bytes, 0, sizeof(name->bytes));
	memcpy(name->bytes, bytes, name->length);
	return name->length == 0 ? -ENOENT : 0;
}

static bool is_dots(const struct disk_entry *e)
{
	return e->name[0] == '.' && (e->name[1] == 0 || (e->name[1] == '.' && e->name[2] == 0));
}

/* Compares the end first, because names often begin alike. Without a name, any entry except the dots matches. */
static inline bool is_meant(const struct disk_entry *e, const struct name *name)
{
	uint32_t length;

	if (!name)
		return !is_dots(e);
	length = name->length;
	return (length == NAME_BYTES || e->name[length] == 0) && e->name[length - 1] == name->bytes[length - 1] &&
	       memcmp(e->name, name->bytes, length) == 0;
}

static void look(struct buffer *b, uint32_t slot, const struct name *name, bool for_room, struct search *s)
{
	struct disk_entry *e = entry(b, slot);
	bool removed = b->removed >> slot & 1;

	if (e->inode != 0) {
		if (is_meant(e, name))
			s->found = (struct place){ b, b->block, slot, e->inode };
	} else if (for_room && !s->replaces && (removed ? is_meant(e, name) : !s->room.buffer)) {
		s->room = (struct place){ b, b->block, slot, 0 };
		s->replaces = removed;
	}
}

int64_t directory_search(struct mount *m, struct inode *d, const struct name *name, bool for_room, struct search *s)
{
	uint32_t left = slots(d), per_block = slots_in_block(m);
	struct buffer *b;

	*s = (struct search){ 0 };
	for (uint32_t index = 0; left > 0; index++) {
		uint32_t here = MIN(left, per_block);

		/* The block with room must stay in the cache; the others of a long directory need not. */
		if (index > 0 && !s->room.buffer)
			step_begin(m);
		TRY(block_of(m, d, index, &b));
		for (uint32_t slot = 0; slot < here; slot++) {
			look(b, slot, name, for_room, s);
			if (s->found.inode)
				return 0;
		}
		left -= here;
	}
	return 0;
}

int64_t place_inode(struct mount *m, const struct place *p, struct inode **i)
{
	int64_t result = inode_get(m, p->inode, i);

	return result == -ESTALE ? -EIO : result;
}

int64_t directory_find(struct mount *m, struct inode *d, const struct name *name, struct place *p, struct inode **i)
{
	struct search s;

	TRY(directory_search(m, d, name, false, &s));
	if (!s.found.inode)
		return -ENOENT;
	*p = s.found;
	return place_inode(m, p, i);
}

int64_t place_keep(struct mount *m, struct place *p)
{
	return p->buffer ? cache_read(m, p->block, &p->buffer) : 0;
}

/* Whether the disk has that name in another slot, from which it was renamed. */
static bool was_vacated(const struct mount *m, const struct inode *d, const struct name *name, const struct place *p)
{
	for (uint32_t at = 0; at < m->vacated_count; at++) {
		const struct vacated *v = &m->vacated[at];

		if (v->directory == d->number && v->hash == name->hash &&
		    !(p->buffer && v->block == p->block && v->slot == p->slot))
			return true;
	}
	return false;
}

/* Finds the removal of a slot that has one. */
static struct removal *removal_of(struct mount *m, const struct place *p)
{
	struct removal *r = m->removals;

	while (r->block != p->block || r->slot != p->slot)
		r++;
	return r;
}

int64_t directory_reserve(struct mount *m, struct inode *d, const struct name *name, struct search *s)
{
	uint32_t next = slots(d), per_block = slots_in_block(m), zone;
	struct buffer *b;

	if (was_vacated(m, d, name, &s->room))
		return write_back_first(m);
	/* The removed file has another name, which must be on the disk before it loses this one. */
	if (s->replaces) {
		uint32_t removed = removal_of(m, &s->room)->inode;

		if (removed != 0 && !inode_is_dead(m, removed))
			return write_back_first(m);
	}
	if (s->room.buffer)
		return 0;
	if ((uint64_t)d->size + ENTRY > m->max_size)
		return -EFBIG;
	TRY(block_zone(m, d, next / per_block, &zone));
	if (zone == 0) {
		TRY(block_make(m, d, next / per_block, true, &b));
		dirty_buffer(m, b, DIRECTORY, d);
	} else {
		TRY(cache_read(m, zone, &b));
	}
	s->room = (struct place){ b, b->block, next % per_block, 0 };
	s->appends = true;
	return 0;
}

void directory_enter(struct mount *m, struct inode *d, const struct search *s, const struct name *name, uint32_t inode)
{
	struct buffer *b = s->room.buffer;
	struct disk_entry *e = entry(b, s->room.slot);

	dirty_buffer(m, b, DIRECTORY, d);
	if (s->replaces) {
		*removal_of(m, &s->room) = m->removals[--m->removal_count];
		b->removed &= ~(1ULL << s->room.slot);
	} else {
		b->fresh |= 1ULL << s->room.slot;
	}
	e->inode = inode;
	memcpy(e->name, name->bytes, NAME_BYTES);
	if (s->appends)
		d->size = slots(d) * ENTRY + ENTRY;
	inode_modified(m, d);
}

void directory_replace(struct mount *m, struct inode *d, const struct place *p, uint32_t inode)
{
	dirty_buffer(m, p->buffer, DIRECTORY, d);
	entry(p->buffer, p->slot)->inode = inode;
	inode_modified(m, d);
}

void directory_remove(struct mount *m, struct inode *d, const struct place *p)
{
	uint64_t slot = 1ULL << p->slot;

	dirty_buffer(m, p->buffer, DIRECTORY, d);
	if (p->buffer->fresh & slot) {
		p->buffer->fresh &= ~slot;
	} else {
		/* The disk has an earlier file in this slot, which has lost its name; it does not know the new file. */
		uint32_t kept = is_fresh(&m->inodes_map, p->inode) ? 0 : p->inode;

		m->removals[m->removal_count++] = (struct removal){ p->block, p->slot, kept };
		p->buffer->removed |= slot;
	}
	entry(p->buffer, p->slot)->inode = 0;
	inode_modified(m, d);
}

int64_t directory_rename(struct mount *m, struct inode *d, const struct place *p, const struct name *name)
{
	struct disk_entry *e = entry(p->buffer, p->slot);
	uint32_t length;
	struct vacated v = { d->number, hash_of(e->name, NAME_BYTES, &length), p->block, p->slot };
	bool known = p->buffer->fresh >> p->slot & 1;

	if (was_vacated(m, d, name, p))
		return write_back_first(m);
	for (uint32_t at = 0; at < m->vacated_count; at++)
		known |= memcmp(&m->vacated[at], &v, sizeof(v)) == 0;
	/* committed */
	if (!known)
		m->vacated[m->vacated_count++] = v;
	memcpy(e->name, name->bytes, NAME_BYTES);
	dirty_buffer(m, p->buffer, DIRECTORY, d);
	inode_modified(m, d);
	return 0;
}

void directory_first(struct mount *m, struct inode *d, struct buffer *b, uint32_t parent)
{
	*entry(b, 0) = (struct disk_entry){ d->number, "." };
	*entry(b, 1) = (struct disk_entry){ parent, ".." };
	d->size = 2 * ENTRY;
	dirty_buffer(m, b, DIRECTORY, d);
	b->fresh |= 3;
}

int64_t directory_parent(struct mount *m, struct inode *d, struct place *p)
{
	struct disk_entry *e;

	if (slots(d) < 2)
		return -EIO;
	TRY(block_of(m, d, 0, &p->buffer));
	e = entry(p->buffer, 1);
	if (e->inode == 0 || !is_dots(e) || e->name[1] == 0)
		return -EIO;
	*p = (struct place){ p->buffer, p->buffer->block, 1, e->inode };
	return 0;
}

/* Writes an entry in getdents' format. Returns its length; 0: it does not fit. */
static uint32_t put_entry(const struct disk_entry *e, uint64_t next, uint8_t *to, uint64_t room)
{
	struct linux_dirent64 *out = (struct linux_dirent64 *)to;
	uint32_t length = 0, whole;

	while (length < NAME_BYTES && e->name[length])
		length++;
	whole = (uint32_t)(offsetof(struct linux_dirent64, name) + length + 1 + 7) & ~7U;
	if (whole > room)
		return 0;
	memset(to, 0, whole);
	out->inode = e->inode;
	out->next = (int64_t)next;
	out->length = (uint16_t)whole;
	out->type = DT_UNKNOWN;
	memcpy(out->name, e->name, length);
	return whole;
}

/* A position is a slot's offset in bytes, as on Linux. A call returns at most a page of entries. */
int64_t fs_entries(uint32_t mount, uint32_t directory, uint64_t position, struct grant to, uint64_t *next)
{
	static uint8_t out[PAGE];
	uint64_t done = 0, at = (position + ENTRY - 1) / ENTRY, room = MIN(to.length, sizeof(out));
	int64_t result = 0;
	struct mount *m;
	struct inode *d;

	TRY(mount_of(mount, &m));
	TRY(inode_directory(m, directory, &d));
	*next = position;
	if (position >= d->size)
		return 0;
	for (; at < slots(d); at++) {
		const struct disk_entry *e;
		uint32_t length;
		struct buffer *b;

		step_begin(m);
		result = block_of(m, d, (uint32_t)at / slots_in_block(m), &b);
		if (result < 0)
			break;
		e = entry(b, (uint32_t)at % slots_in_block(m));
		if (e->inode == 0)
			continue;
		length = put_entry(e, (at + 1) * ENTRY, out + done, room - done);
		if (length == 0) {
			result = -EINVAL;
			break;
		}
		done += length;
	}
	if (result < 0 && done == 0)
		return result;
	if (copy_out(to, 0, out, done) != 0)
		return -EFAULT;
	*next = at * ENTRY;
	touch_access(m, d);
	return (int64_t)done;
}
