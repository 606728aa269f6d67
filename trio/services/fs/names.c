/* names.c: changes of names. Each finds all that it needs, checks, reserves room in the directory, then an inode and
 * its first zone, and commits. */
#include "minixfs.h"

/* A directory that a name is to be put into, and room in it. -EEXIST where the name is there. */
static int64_t find_room(struct mount *m, uint32_t number, const struct name *name, struct inode **d, struct search *s)
{
	int64_t result = inode_directory(m, number, d);

	if (result == 0)
		result = directory_search(m, *d, name, true, s);
	if (result == 0 && s->found.inode)
		result = -EEXIST;
	return result;
}

/* A zone, with a buffer of zeros, for what a new directory or symbolic link holds. */
static int64_t first_zone(struct mount *m, uint32_t *zone, struct buffer **b)
{
	int64_t result = zone_find(m, 0, zone);

	return result == 0 ? cache_blank(m, *zone, true, b) : result;
}

static void fill_inode(struct inode *i, const struct new_file *f, const struct inode *d)
{
	bool inherits = d->mode & S_ISGID;

	i->mode = (uint16_t)f->mode;
	i->owner = (uint16_t)MIN(f->owner, 65535U);
	i->group = inherits ? d->group : (uint16_t)MIN(f->group, 65535U);
	if (inherits && S_ISDIR(f->mode))
		i->mode |= S_ISGID;
	if (S_ISCHR(f->mode) || S_ISBLK(f->mode))
		i->zone[0] = f->device;
}

int64_t name_create(struct mount *m, const struct new_file *f, const struct name *name, const char *target,
		    uint32_t length, uint32_t *inode)
{
	struct inode *d, *i;
	struct search s;
	struct buffer *b = NULL;
	uint32_t zone = 0, number;
	int64_t result = find_room(m, f->directory, name, &d, &s);

	if (result < 0)
		return result;
	if (S_ISDIR(f->mode) && d->links >= LINKS_MOST)
		return -EMLINK;
	result = directory_reserve(m, d, name, &s);
	if (result == 0)
		result = inode_reserve(m, &number, &i);
	if (result == 0 && (S_ISDIR(f->mode) || target))
		result = first_zone(m, &zone, &b);
	if (result != 0)
		return result;
	/* committed */
	inode_commit(m, i, number);
	fill_inode(i, f, d);
	if (zone) {
		zone_take(m, zone);
		i->zone[0] = zone;
	}
	if (target) {
		memcpy(b->bytes, target, length);
		i->size = length;
		dirty_buffer(m, b, DATA, NULL);
	} else if (zone) {
		directory_first(m, i, b, d->number);
		i->links = 2;
		d->links++;
	}
	directory_enter(m, d, &s, name, number);
	inode_hold(m, i);
	*inode = number;
	return 0;
}

int64_t name_link(struct mount *m, uint32_t directory, uint32_t number, const struct name *name)
{
	struct inode *d, *i;
	struct search s;
	int64_t result = inode_get(m, number, &i);

	if (result < 0)
		return result;
	if (is_directory(i))
		return -EPERM;
	if (i->links == 0)
		return -ENOENT;
	if (i->links >= LINKS_MOST)
		return -EMLINK;
	result = find_room(m, directory, name, &d, &s);
	if (result == 0)
		result = directory_reserve(m, d, name, &s);
	if (result < 0)
		return result;
	/* committed */
	i->links++;
	i->changed = seconds();
	inode_dirty(m, i);
	directory_enter(m, d, &s, name, number);
	return 0;
}

/* A file has a name less. A directory has lost its own "." with it. */
static void lose_name(struct mount *m, struct inode *i, struct inode *parent)
{
	if (is_directory(i)) {
		i->links = 0;
		if (parent->links > 2)
			parent->links--;
		inode_dirty(m, parent);
	} else if (i->links > 0) {
		i->links--;
	}
	i->changed = seconds();
	inode_dirty(m, i);
	inode_settle(m, i);
}

/* May that file lose its name to rmdir (`directories`) or unlink. */
static int64_t may_lose(struct mount *m, struct inode *i, bool directories)
{
	if (directories != is_directory(i))
		return directories ? -ENOTDIR : -EISDIR;
	if (i->number == ROOT)
		return -EBUSY;
	return directories ? directory_is_empty(m, i) : 0;
}

static bool is_dot(const struct name *name)
{
	return name->length == 1 && name->bytes[0] == '.';
}

static bool is_dot_dot(const struct name *name)
{
	return name->length == 2 && name->bytes[0] == '.' && name->bytes[1] == '.';
}

/* What an entry names. A damaged disk's may name anything. */
static int64_t named_inode(struct mount *m, const struct place *p, struct inode **i)
{
	int64_t result = inode_get(m, p->inode, i);

	return result == -ESTALE ? -EIO : result;
}

int64_t name_unlink(struct mount *m, uint32_t directory, bool directories, const struct name *name)
{
	struct inode *d, *i;
	struct search s;
	int64_t result = inode_directory(m, directory, &d);

	if (result == 0 && (is_dot(name) || is_dot_dot(name)))
		return !directories ? -EISDIR : is_dot(name) ? -EINVAL : -ENOTEMPTY;
	if (result == 0)
		result = directory_search(m, d, name, false, &s);
	if (result == 0)
		result = s.found.inode ? named_inode(m, &s.found, &i) : -ENOENT;
	if (result == 0)
		result = may_lose(m, i, directories);
	if (result != 0)
		return result;
	/* committed */
	directory_remove(m, d, &s.found);
	lose_name(m, i, d);
	return 0;
}

/* -EINVAL: `d` is in the directory `top`, or that itself. */
static int64_t is_outside(struct mount *m, uint32_t d, uint32_t top)
{
	for (uint32_t depth = 0; d != ROOT; depth++) {
		struct inode *i;
		struct place up;
		int64_t result;

		if (d == top)
			return -EINVAL;
		/* Deeper than there are inodes: a circle. */
		if (depth >= m->inodes_map.bits)
			return -EIO;
		step_begin(m);
		result = inode_directory(m, d, &i);
		if (result == 0)
			result = directory_parent(m, i, &up);
		if (result != 0)
			return result == -EWAIT || result == AGAIN ? result : -EIO;
		d = up.inode;
	}
	return top == ROOT ? -EINVAL : 0;
}

/* A rename under way. */
struct move {
	struct inode *from, *to;
	struct search old, new;
	struct inode *file, *replaced;
	/* The file's "..", where that changes. */
	struct place up;
	bool moves_directory;
};

static int64_t move_find(struct mount *m, struct move *v, uint32_t from, const struct name *name, uint32_t to,
			 const struct name *new_name)
{
	int64_t result = inode_directory(m, from, &v->from);

	if (result == 0)
		result = inode_directory(m, to, &v->to);
	if (result == 0)
		result = directory_search(m, v->from, name, false, &v->old);
	if (result == 0)
		result = v->old.found.inode ? named_inode(m, &v->old.found, &v->file) : -ENOENT;
	v->moves_directory = result == 0 && is_directory(v->file) && from != to;
	if (v->moves_directory)
		result = is_outside(m, to, v->file->number);
	if (result == 0)
		result = directory_search(m, v->to, new_name, true, &v->new);
	if (result == 0 && v->new.found.inode)
		result = named_inode(m, &v->new.found, &v->replaced);
	return result;
}

static int64_t move_check(struct mount *m, struct move *v)
{
	int64_t result = 0;

	if (v->file->number == ROOT)
		return -EBUSY;
	if (v->replaced) {
		if (is_directory(v->file) && !is_directory(v->replaced))
			return -ENOTDIR;
		result = may_lose(m, v->replaced, is_directory(v->file));
		/* The name goes over to another inode at once; another name of it must be on the disk first. */
		if (result == 0 && !is_directory(v->replaced) && v->replaced->links > 1 &&
		    v->replaced->batch == m->batch)
			return write_back_first(m);
	} else if (v->moves_directory && v->to->links >= LINKS_MOST) {
		return -EMLINK;
	}
	/* Both places may have been found with other buffers needed since. */
	if (result == 0)
		result = place_keep(m, &v->old.found);
	if (result == 0)
		result = place_keep(m, v->replaced ? &v->new.found : &v->new.room);
	if (result == 0 && v->moves_directory)
		result = directory_parent(m, v->file, &v->up);
	return result;
}

static void move_commit(struct mount *m, struct move *v, const struct name *new_name)
{
	if (v->replaced)
		directory_replace(m, v->to, &v->new.found, v->file->number);
	else
		directory_enter(m, v->to, &v->new, new_name, v->file->number);
	directory_remove(m, v->from, &v->old.found);
	if (v->moves_directory) {
		directory_replace(m, v->file, &v->up, v->to->number);
		v->to->links++;
		if (v->from->links > 2)
			v->from->links--;
	}
	v->file->changed = seconds();
	inode_dirty(m, v->file);
	if (v->replaced)
		lose_name(m, v->replaced, v->to);
}

int64_t name_rename(struct mount *m, uint32_t from, const struct name *name, uint32_t to, const struct name *new_name)
{
	struct move v = { 0 };
	int64_t result;

	if (is_dot(name) || is_dot_dot(name) || is_dot(new_name) || is_dot_dot(new_name))
		return -EBUSY;
	result = move_find(m, &v, from, name, to, new_name);
	if (result == 0 && v.replaced == v.file)
		return 0;
	if (result == 0)
		result = move_check(m, &v);
	if (result < 0)
		return result;
	/* Within one directory the entry gets another name where it stands: at no moment two, or none. */
	if (from == to && !v.replaced && !v.new.replaces) {
		result = directory_rename(m, v.to, &v.old.found, new_name);
		if (result == 0) {
			v.file->changed = seconds();
			inode_dirty(m, v.file);
		}
		return result;
	}
	if (!v.replaced)
		result = directory_reserve(m, v.to, new_name, &v.new);
	if (result < 0)
		return result;
	/* committed */
	move_commit(m, &v, new_name);
	return 0;
}
