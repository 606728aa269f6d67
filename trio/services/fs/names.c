/* names.c: changes of names. Each finds all that it needs, checks, reserves room in the directory, an inode and its
 * first zone, and commits. */
#include "minixfs.h"

/* Finds the mount and reads the name for a change. */
static int64_t name_to_change(uint32_t mount, struct grant from, struct mount **m, struct name *name)
{
	TRY(mount_of(mount, m));
	TRY(name_take(from, name));
	return change_begin(*m);
}

/* Finds a directory and room for the name in it. Returns -EEXIST if the name exists. */
static int64_t find_room(struct mount *m, uint32_t number, const struct name *name, struct inode **d, struct search *s)
{
	TRY(inode_directory(m, number, d));
	TRY(directory_search(m, *d, name, true, s));
	return s->found.inode ? -EEXIST : 0;
}

struct new_file {
	uint32_t directory, mode, owner, group, device;
};

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

/* target: `length` bytes of a symbolic link, or NULL. The new file is held. */
static int64_t create(struct mount *m, const struct new_file *f, const struct name *name, const char *target,
		      uint32_t length, struct inode **out)
{
	struct inode *d, *i;
	struct search s;
	struct buffer *b = NULL;
	uint32_t zone = 0, number;

	TRY(find_room(m, f->directory, name, &d, &s));
	if (S_ISDIR(f->mode) && d->links >= LINKS_MOST)
		return -EMLINK;
	TRY(directory_reserve(m, d, name, &s));
	TRY(inode_reserve(m, &number, &i));
	if (S_ISDIR(f->mode) || target) {
		TRY(map_find(m, &m->zones_map, 0, &zone));
		TRY(cache_blank(m, zone, true, &b));
	}
	/* committed */
	inode_commit(m, i, number);
	fill_inode(i, f, d);
	if (zone) {
		map_take(m, &m->zones_map, zone);
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
	i->holds++;
	*out = i;
	return 0;
}

int64_t fs_create(uint32_t mount, uint32_t directory, uint32_t mode, uint32_t owner, uint32_t group, uint32_t device,
		  struct grant name, uint32_t *inode)
{
	struct new_file f = { directory, mode & S_IFMT ? mode : mode | S_IFREG, owner, group, device };
	struct mount *m;
	struct inode *i;
	struct name n;

	TRY(name_to_change(mount, name, &m, &n));
	if (S_ISLNK(mode) || mode > 0xffff || device > 0xffff)
		return -EINVAL;
	TRY(create(m, &f, &n, NULL, 0, &i));
	*inode = i->number;
	return 0;
}

int64_t fs_symlink(uint32_t mount, uint32_t directory, uint32_t owner, uint32_t group, struct grant name,
		   struct grant target)
{
	struct new_file f = { directory, S_IFLNK | 0777, owner, group, 0 };
	/* Too large for the stack; the service runs one call at a time. */
	static char text[PAGE];
	uint32_t length = 0, most = (uint32_t)MIN(target.length, sizeof(text));
	struct mount *m;
	struct inode *i;
	struct name n;

	TRY(mount_of(mount, &m));
	TRY(name_take(name, &n));
	if (copy_in(text, target, 0, most) != 0)
		return -EFAULT;
	while (length < most && text[length])
		length++;
	if (length == 0 || length >= m->block_size)
		return length == 0 ? -ENOENT : -ENAMETOOLONG;
	TRY(change_begin(m));
	TRY(create(m, &f, &n, text, length, &i));
	inode_release(m, i);
	return 0;
}

int64_t fs_link(uint32_t mount, uint32_t directory, uint32_t number, struct grant from)
{
	struct inode *d, *i;
	struct mount *m;
	struct search s;
	struct name name;

	TRY(name_to_change(mount, from, &m, &name));
	TRY(inode_get(m, number, &i));
	if (is_directory(i))
		return -EPERM;
	if (i->links == 0)
		return -ENOENT;
	if (i->links >= LINKS_MOST)
		return -EMLINK;
	TRY(find_room(m, directory, &name, &d, &s));
	TRY(directory_reserve(m, d, &name, &s));
	/* committed */
	i->links++;
	inode_changed(m, i);
	directory_enter(m, d, &s, &name, number);
	return 0;
}

/* Counts one name less. A directory also loses its own ".". */
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
	inode_changed(m, i);
	inode_settle(m, i);
}

/* Whether rmdir (`directories`) or unlink may remove the file's name. */
static int64_t may_lose(struct mount *m, struct inode *i, bool directories)
{
	struct search s;

	if (directories != is_directory(i))
		return directories ? -ENOTDIR : -EISDIR;
	if (i->number == ROOT)
		return -EBUSY;
	if (!directories)
		return 0;
	TRY(directory_search(m, i, NULL, false, &s));
	return s.found.inode ? -ENOTEMPTY : 0;
}

/* Returns 1 for ".", 2 for "..", 0 for others. */
static uint32_t dots(const struct name *name)
{
	return name->length <= 2 && memcmp(name->bytes, "..", name->length) == 0 ? name->length : 0;
}

int64_t fs_unlink(uint32_t mount, uint32_t directory, uint32_t directories, struct grant from)
{
	struct inode *d, *i;
	struct mount *m;
	struct place p;
	struct name name;

	TRY(name_to_change(mount, from, &m, &name));
	TRY(inode_directory(m, directory, &d));
	if (dots(&name))
		return !directories ? -EISDIR : dots(&name) == 1 ? -EINVAL : -ENOTEMPTY;
	TRY(directory_find(m, d, &name, &p, &i));
	TRY(may_lose(m, i, directories != 0));
	TRY(place_keep(m, &p));
	/* committed */
	directory_remove(m, d, &p);
	lose_name(m, i, d);
	return 0;
}

/* Returns -EINVAL if `d` is the directory `top` or below it. */
static int64_t is_outside(struct mount *m, uint32_t d, uint32_t top)
{
	for (uint32_t depth = 0; d != ROOT; depth++) {
		struct inode *i;
		struct place up;
		int64_t result;

		if (d == top)
			return -EINVAL;
		/* A path deeper than the number of inodes is a cycle. */
		if (depth >= m->inodes_map.bits)
			return -EIO;
		step_begin(m);
		result = inode_directory(m, d, &i);
		if (result == 0)
			result = directory_parent(m, i, &up);
		if (result != 0)
			return result == -EWAIT ? result : -EIO;
		d = up.inode;
	}
	return top == ROOT ? -EINVAL : 0;
}

/* The state of a rename. */
struct move {
	struct inode *from, *to;
	struct place old;
	struct search new;
	struct inode *file, *replaced;
	/* The entry ".." of a directory that gets another parent. */
	struct place up;
	bool moves_directory;
};

static int64_t move_find(struct mount *m, struct move *v, uint32_t from, const struct name *name, uint32_t to,
			 const struct name *new_name)
{
	TRY(inode_directory(m, from, &v->from));
	TRY(inode_directory(m, to, &v->to));
	TRY(directory_find(m, v->from, name, &v->old, &v->file));
	v->moves_directory = is_directory(v->file) && from != to;
	if (v->moves_directory)
		TRY(is_outside(m, to, v->file->number));
	TRY(directory_search(m, v->to, new_name, true, &v->new));
	return v->new.found.inode ? place_inode(m, &v->new.found, &v->replaced) : 0;
}

static int64_t move_check(struct mount *m, struct move *v)
{
	if (v->file->number == ROOT)
		return -EBUSY;
	if (v->replaced) {
		if (is_directory(v->file) && !is_directory(v->replaced))
			return -ENOTDIR;
		TRY(may_lose(m, v->replaced, is_directory(v->file)));
		/* The name passes to another inode at once, so the replaced file's new name must be on the disk
		 * first. */
		if (!is_directory(v->replaced) && v->replaced->links > 1 && v->replaced->batch == m->batch)
			return write_back_first(m);
	} else if (v->moves_directory && v->to->links >= LINKS_MOST) {
		return -EMLINK;
	}
	/* The search for one place may have dropped the other one's buffer. */
	TRY(place_keep(m, &v->old));
	TRY(place_keep(m, v->replaced ? &v->new.found : &v->new.room));
	return v->moves_directory ? directory_parent(m, v->file, &v->up) : 0;
}

static void move_commit(struct mount *m, struct move *v, const struct name *new_name)
{
	if (v->replaced)
		directory_replace(m, v->to, &v->new.found, v->file->number);
	else
		directory_enter(m, v->to, &v->new, new_name, v->file->number);
	directory_remove(m, v->from, &v->old);
	if (v->moves_directory) {
		directory_replace(m, v->file, &v->up, v->to->number);
		v->to->links++;
		if (v->from->links > 2)
			v->from->links--;
	}
	inode_changed(m, v->file);
	if (v->replaced)
		lose_name(m, v->replaced, v->to);
}

int64_t fs_rename(uint32_t mount, uint32_t from, struct grant name, uint32_t to, struct grant new_name)
{
	struct move v = { 0 };
	struct name old, new;
	struct mount *m;

	TRY(name_take(new_name, &new));
	TRY(name_to_change(mount, name, &m, &old));
	if (dots(&old) || dots(&new))
		return -EBUSY;
	TRY(move_find(m, &v, from, &old, to, &new));
	if (v.replaced == v.file)
		return 0;
	TRY(move_check(m, &v));
	/* Within one directory the entry is renamed in its slot, so that the file always has exactly one name. */
	if (from == to && !v.replaced && !v.new.replaces) {
		TRY(directory_rename(m, v.to, &v.old, &new));
		inode_changed(m, v.file);
		return 0;
	}
	if (!v.replaced)
		TRY(directory_reserve(m, v.to, &new, &v.new));
	/* committed */
	move_commit(m, &v, &new);
	return 0;
}
