/* main.c: the service's calls that are not about names or contents, and what alarms and the disk start. */
#include "minixfs.h"

#define LAZY_NS 5000000000ULL

struct fs fs;
struct waits waits;

/* If the disk never made anybody wait, nobody is notified. */
void has_come(uint32_t thing)
{
	if (!(waits.ever >> thing & 1))
		return;
	waits.came |= 1ULL << thing;
	notify(ENDPOINT_VFS, VFS_DISK_READY);
}

int64_t fs_waited(uint32_t *out_on)
{
	*out_on = waits.on;
	return 0;
}

int64_t fs_came(uint64_t *out_what, uint32_t *out_room, uint32_t *out_starts)
{
	*out_starts = fs.starts;
	*out_what = waits.came;
	*out_room = 0;
	for (const struct mount *m = fs.mounts; m < fs.mounts + MOUNTS; m++)
		if (m->use != FREE)
			*out_room += TRANSFERS - m->transfer_count;
	waits.came = 0;
	return 0;
}

int64_t mount_of(uint32_t number, struct mount **out)
{
	struct mount *m = number < MOUNTS ? &fs.mounts[number] : NULL;

	if (!m || m->use < RETURNING)
		return -EINVAL;
	if (m->use == RETURNING)
		TRY(mount_return(m));
	m->turn++;
	step_begin(m);
	*out = m;
	return 0;
}

int64_t file_of(uint32_t mount, uint32_t number, struct mount **m, struct inode **i)
{
	TRY(mount_of(mount, m));
	return inode_get(*m, number, i);
}

int64_t file_to_change(uint32_t mount, uint32_t number, struct mount **m, struct inode **i)
{
	TRY(mount_of(mount, m));
	TRY(change_begin(*m));
	return inode_get(*m, number, i);
}

void alarm_wanted(void)
{
	if (fs.alarm_set)
		return;
	fs.alarm_set = true;
	alarm_at(ENDPOINT_FS, now() + LAZY_NS);
}

int64_t fs_lookup(uint32_t mount, uint32_t directory, struct grant name, uint32_t *inode)
{
	struct inode *d, *i;
	struct mount *m;
	struct name n;
	struct place p;

	TRY(mount_of(mount, &m));
	TRY(name_take(name, &n));
	TRY(inode_directory(m, directory, &d));
	TRY(directory_find(m, d, &n, &p, &i));
	i->holds++;
	*inode = p.inode;
	return 0;
}

int64_t fs_release(uint32_t mount, uint32_t inode)
{
	uint32_t on = waits.on;
	struct mount *m;
	struct inode *i;

	if (file_of(mount, inode, &m, &i) == 0)
		inode_release(m, i);
	/* The caller may release during a call that waits. */
	waits.on = on;
	return 0;
}

int64_t fs_hold(uint32_t mount, uint32_t inode)
{
	struct mount *m;
	struct inode *i;

	TRY(file_of(mount, inode, &m, &i));
	if (i->links == 0)
		return -ESTALE;
	i->holds++;
	return 0;
}

int64_t fs_attributes(uint32_t mount, uint32_t inode, struct grant to)
{
	struct mount *m;
	struct inode *i;
	struct file_attributes a;
	bool special;

	TRY(file_of(mount, inode, &m, &i));
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

int64_t fs_set_attributes(uint32_t mount, uint32_t inode, uint32_t which, struct grant from)
{
	struct file_attributes a;
	struct mount *m;
	struct inode *i;

	TRY(file_to_change(mount, inode, &m, &i));
	if (copy_in(&a, from, 0, sizeof(a)) != 0)
		return -EFAULT;
	if (which & SET_MODE)
		i->mode = (uint16_t)((i->mode & S_IFMT) | (a.mode & ~(uint32_t)S_IFMT & 07777));
	if (which & SET_OWNER)
		i->owner = (uint16_t)MIN(a.owner, 65535U);
	if (which & SET_GROUP)
		i->group = (uint16_t)MIN(a.group, 65535U);
	if (which & SET_ACCESSED)
		i->accessed = (uint32_t)(a.accessed / 1000000000);
	if (which & SET_MODIFIED)
		i->modified = (uint32_t)(a.modified / 1000000000);
	inode_changed(m, i);
	return 0;
}

int64_t fs_numbers(uint32_t mount, struct grant to)
{
	struct linux_statfs n;
	struct mount *m;

	TRY(mount_of(mount, &m));
	n = (struct linux_statfs){ .type = MAGIC,
				   .block_size = m->block_size,
				   .blocks = m->zones - m->first_zone,
				   .blocks_free = m->zones_map.free,
				   .files = m->inodes_map.bits - 1,
				   .files_free = m->inodes_map.free,
				   .name_length = NAME_BYTES };
	return copy_out(to, 0, &n, sizeof(n));
}

/* A file that has not changed since the last write-back is on the disk. */
int64_t fs_sync(uint32_t mount, uint32_t inode, uint32_t *out_starts)
{
	struct mount *m;
	struct inode *i;

	*out_starts = fs.starts;
	TRY(mount_of(mount, &m));
	if (m->read_only)
		return 0;
	if (m->failed)
		return -EIO;
	if (inode != 0) {
		TRY(inode_get(m, inode, &i));
		if (i->batch != m->batch)
			return 0;
	}
	inodes_reap(m);
	return m->phase != IDLE || has_changes(m) ? write_back(m) : 0;
}

void fs_notified(uint64_t bits)
{
	bool late = bits >> NOTIFY_ALARM & 1;

	if (late)
		fs.alarm_set = false;
	for (struct mount *m = fs.mounts; m < fs.mounts + MOUNTS; m++) {
		if (bits & NOTIFIED_FS_BLOCK_READY && (m->transfer_count > 0 || m->phase != IDLE))
			(void)round_begins(m);
		if (m->use != LIVE)
			continue;
		cache_poll(m);
		m->turn++;
		step_begin(m);
		if (m->phase != IDLE)
			write_back(m);
		inodes_reap(m);
		if (late && has_changes(m))
			write_back(m);
	}
	if (bits & NOTIFIED_FS_BLOCK_READY)
		has_come(ANYTHING);
}

void fs_start(void)
{
	memset(&fs, 0, sizeof fs);
	mounts_return();
}

const struct fs_service fs_service = FS_HANDLERS;
