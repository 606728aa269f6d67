/* main.c: the service: which mount is meant, names and content taken from grants, and what the clock and the disk
 * start. What says AGAIN is begun anew at once: it has changed nothing. */
#include "minixfs.h"

#define LAZY_NS 5000000000ULL

struct fs fs;

static struct mount *mount_of(uint32_t number)
{
	struct mount *m = number < MOUNTS && fs.mounts[number].use == LIVE ? &fs.mounts[number] : NULL;

	if (m) {
		m->turn++;
		step_begin(m);
	}
	return m;
}

void alarm_wanted(struct mount *m)
{
	if (fs.alarm_set)
		return;
	fs.alarm_set = true;
	alarm_at(ENDPOINT_FS, now() + LAZY_NS);
}

#define CHANGE(m, call)                            \
	({                                         \
		int64_t result_;                   \
                                                   \
		do {                               \
			result_ = change_begin(m); \
			if (result_ == 0)          \
				result_ = (call);  \
		} while (result_ == AGAIN);        \
		result_;                           \
	})

/* An inode for a call that changes nothing. */
static int64_t inode_of(struct mount *m, uint32_t number, struct inode **i)
{
	int64_t result;

	do
		result = m ? inode_get(m, number, i) : -EINVAL;
	while (result == AGAIN);
	return result;
}

int64_t fs_mount(uint32_t device, uint32_t read_only)
{
	return super_mount(device, read_only != 0);
}

int64_t fs_unmount(uint32_t mount)
{
	struct mount *m = mount_of(mount);

	return m ? super_unmount(m) : -EINVAL;
}

int64_t fs_lookup(uint32_t mount, uint32_t directory, struct grant name, uint32_t *inode)
{
	struct mount *m = mount_of(mount);
	struct inode *d, *i;
	struct name n;
	struct search s;
	int64_t result = name_take(name, &n);

	if (result == 0)
		result = inode_of(m, directory, &d);
	if (result == 0 && !is_directory(d))
		result = -ENOTDIR;
	if (result == 0)
		result = directory_search(m, d, &n, false, &s);
	if (result == 0)
		result = s.found.inode ? inode_of(m, s.found.inode, &i) : -ENOENT;
	if (result != 0)
		return result == -ESTALE ? -EIO : result;
	inode_hold(m, i);
	*inode = s.found.inode;
	return 0;
}

int64_t fs_release(uint32_t mount, uint32_t inode)
{
	struct mount *m = mount_of(mount);
	uint32_t on = waits.on;
	struct inode *i;

	if (inode_of(m, inode, &i) == 0)
		inode_release(m, i);
	/* Whoever releases may be on the way out of a call that waits. */
	waits.on = on;
	return 0;
}

int64_t fs_attributes(uint32_t mount, uint32_t inode, struct grant to)
{
	struct mount *m = mount_of(mount);
	struct inode *i;
	int64_t result = inode_of(m, inode, &i);
	struct file_attributes a;
	bool special;

	if (result < 0)
		return result;
	special = S_ISCHR(i->mode) || S_ISBLK(i->mode);
	a = (struct file_attributes){ .inode = inode,
				      .size = i->size,
				      .blocks = special ? 0 : blocks_512(m, i),
				      .accessed = i->accessed * 1000000000LL,
				      .modified = i->modified * 1000000000LL,
				      .changed = i->changed * 1000000000LL,
				      .mode = i->mode,
				      .owner = i->owner,
				      .group = i->group,
				      .links = i->links,
				      .device = special ? i->zone[0] : 0,
				      .block_size = m->block_size };
	return copy_out(to, 0, &a, sizeof(a));
}

static int64_t set_attributes(struct mount *m, uint32_t inode, uint32_t which, const struct file_attributes *a)
{
	struct inode *i;
	int64_t result = inode_get(m, inode, &i);

	if (result < 0)
		return result;
	if (which & SET_MODE)
		i->mode = (uint16_t)((i->mode & S_IFMT) | (a->mode & ~(uint32_t)S_IFMT & 07777));
	if (which & SET_OWNER)
		i->owner = (uint16_t)MIN(a->owner, 65535U);
	if (which & SET_GROUP)
		i->group = (uint16_t)MIN(a->group, 65535U);
	if (which & SET_ACCESSED)
		i->accessed = (uint32_t)(a->accessed / 1000000000);
	if (which & SET_MODIFIED)
		i->modified = (uint32_t)(a->modified / 1000000000);
	i->changed = seconds();
	inode_dirty(m, i);
	return 0;
}

int64_t fs_set_attributes(uint32_t mount, uint32_t inode, uint32_t which, struct grant from)
{
	struct mount *m = mount_of(mount);
	struct file_attributes a;

	if (!m)
		return -EINVAL;
	if (copy_in(&a, from, 0, sizeof(a)) != 0)
		return -EFAULT;
	return CHANGE(m, set_attributes(m, inode, which, &a));
}

int64_t fs_read(uint32_t mount, uint32_t inode, uint64_t offset, struct grant to)
{
	struct mount *m = mount_of(mount);
	struct inode *i;
	int64_t result = inode_of(m, inode, &i);

	return result < 0 ? result : file_read(m, i, offset, to);
}

int64_t fs_write(uint32_t mount, uint32_t inode, uint64_t offset, struct grant from)
{
	struct mount *m = mount_of(mount);

	return m ? CHANGE(m, file_write(m, inode, offset, from)) : -EINVAL;
}

int64_t fs_truncate(uint32_t mount, uint32_t inode, uint64_t size)
{
	struct mount *m = mount_of(mount);

	return m ? CHANGE(m, file_truncate(m, inode, size)) : -EINVAL;
}

int64_t fs_create(uint32_t mount, uint32_t directory, uint32_t mode, uint32_t owner, uint32_t group, uint32_t device,
		  struct grant name, uint32_t *inode)
{
	struct mount *m = mount_of(mount);
	struct new_file f = { directory, mode & S_IFMT ? mode : mode | S_IFREG, owner, group, device };
	struct name n;
	int64_t result = name_take(name, &n);

	if (result < 0)
		return result;
	if (!m || S_ISLNK(mode) || mode > 0xffff || device > 0xffff)
		return -EINVAL;
	return CHANGE(m, name_create(m, &f, &n, NULL, 0, inode));
}

int64_t fs_symlink(uint32_t mount, uint32_t directory, uint32_t owner, uint32_t group, struct grant name,
		   struct grant target)
{
	struct mount *m = mount_of(mount);
	struct new_file f = { directory, S_IFLNK | 0777, owner, group, 0 };
	/* Not on the stack for its size; the service runs one call at a time. */
	static char text[PAGE];
	uint32_t inode, length = 0, n_text = (uint32_t)MIN(target.length, sizeof(text));
	struct name n;
	int64_t result = name_take(name, &n);

	if (result < 0)
		return result;
	if (!m)
		return -EINVAL;
	if (copy_in(text, target, 0, n_text) != 0)
		return -EFAULT;
	while (length < n_text && text[length])
		length++;
	if (length == 0 || length >= m->block_size)
		return length == 0 ? -ENOENT : -ENAMETOOLONG;
	result = CHANGE(m, name_create(m, &f, &n, text, length, &inode));
	if (result == 0)
		fs_release(mount, inode);
	return result;
}

int64_t fs_readlink(uint32_t mount, uint32_t inode, struct grant to)
{
	struct mount *m = mount_of(mount);
	struct inode *i;
	int64_t result = inode_of(m, inode, &i);

	return result < 0 ? result : file_readlink(m, i, to);
}

int64_t fs_link(uint32_t mount, uint32_t directory, uint32_t inode, struct grant name)
{
	struct mount *m = mount_of(mount);
	struct name n;
	int64_t result = m ? name_take(name, &n) : -EINVAL;

	return result < 0 ? result : CHANGE(m, name_link(m, directory, inode, &n));
}

int64_t fs_unlink(uint32_t mount, uint32_t directory, uint32_t directories, struct grant name)
{
	struct mount *m = mount_of(mount);
	struct name n;
	int64_t result = m ? name_take(name, &n) : -EINVAL;

	return result < 0 ? result : CHANGE(m, name_unlink(m, directory, directories != 0, &n));
}

int64_t fs_rename(uint32_t mount, uint32_t from, struct grant name, uint32_t to, struct grant new_name)
{
	struct mount *m = mount_of(mount);
	struct name old, new;
	int64_t result = m ? name_take(name, &old) : -EINVAL;

	if (result == 0)
		result = name_take(new_name, &new);
	return result < 0 ? result : CHANGE(m, name_rename(m, from, &old, to, &new));
}

int64_t fs_entries(uint32_t mount, uint32_t directory, uint64_t position, struct grant to, uint64_t *next)
{
	struct mount *m = mount_of(mount);
	struct inode *d;
	int64_t result = inode_of(m, directory, &d);

	if (result == 0 && !is_directory(d))
		result = -ENOTDIR;
	return result < 0 ? result : directory_list(m, d, position, to, next);
}

int64_t fs_numbers(uint32_t mount, struct grant to)
{
	struct mount *m = mount_of(mount);
	struct file_system_numbers n;

	if (!m)
		return -EINVAL;
	n = (struct file_system_numbers){ .type = MAGIC,
					  .block_size = m->block_size,
					  .blocks = m->zones - m->first_zone,
					  .blocks_free = m->zones_map.free,
					  .inodes = m->inodes_map.bits - 1,
					  .inodes_free = m->inodes_map.free,
					  .name_length = NAME_BYTES,
					  .flags = m->read_only ? MS_RDONLY : 0 };
	return copy_out(to, 0, &n, sizeof(n));
}

/* A file that was not changed since the last write-back ended is on the disk. */
int64_t fs_sync(uint32_t mount, uint32_t inode)
{
	struct mount *m = mount_of(mount);
	struct inode *i;
	int64_t result;

	if (!m)
		return -EINVAL;
	if (m->read_only)
		return 0;
	if (m->failed)
		return -EIO;
	if (inode != 0) {
		result = inode_of(m, inode, &i);
		if (result < 0 || i->batch != m->batch)
			return result;
	}
	inodes_reap(m);
	return m->phase != IDLE || has_changes(m) ? write_back(m) : 0;
}

static void go_on(struct mount *m)
{
	cache_poll(m);
	m->turn++;
	step_begin(m);
	if (m->phase != IDLE && !m->failed)
		write_back(m);
	inodes_reap(m);
}

void fs_notified(uint64_t bits)
{
	bool late = bits >> NOTIFY_ALARM & 1;

	if (late)
		fs.alarm_set = false;
	for (struct mount *m = fs.mounts; m < fs.mounts + MOUNTS; m++) {
		if (m->use != LIVE)
			continue;
		go_on(m);
		if (late && !m->failed && has_changes(m))
			write_back(m);
	}
	if (bits & NOTIFIED_FS_BLOCK_READY)
		has_come(ANYTHING);
}

void fs_start(void)
{
	memset(&fs, 0, sizeof fs);
}

const struct fs_service fs_service = FS_HANDLERS;
