/* attributes.c: the stat family, and calls that change mode, owner, times and size. */
#include "abi/signal.h"
#include "abi/time.h"
#include "files/files.h"
#include "names/names.h"

int64_t node_at(const struct request *r, int32_t directory, struct grant path, uint32_t flags, struct node **out)
{
	const struct file *f;

	if (path.length != 0)
		return find_node(r, directory, path, flags, out);
	f = file_of(r->task, directory);
	if (directory != AT_FDCWD && (f == NULL || (f->flags & O_PATH) != 0))
		return -EBADF;
	return walk(r->task, directory, "", flags | AT_EMPTY_PATH, out);
}

/* Added to a time, this many seconds make it non-negative: an unsigned division is shorter. */
#define SECONDS_BEFORE (INT64_MAX / NS_PER_SECOND)

static void time_put(int64_t time, uint64_t *seconds, uint64_t *rest)
{
	uint64_t whole = (uint64_t)time + SECONDS_BEFORE * NS_PER_SECOND;

	*seconds = whole / NS_PER_SECOND - SECONDS_BEFORE;
	*rest = whole % NS_PER_SECOND;
}

void stat_of_node(const struct node *n, struct linux_stat *s)
{
	s->device = n->mount->device;
	s->inode = n->inode;
	s->links = n->links;
	s->mode = n->mode;
	s->owner = n->owner;
	s->group = n->group;
	s->special = n->device;
	s->size = (int64_t)n->size;
	s->pad = 0;
	s->block_size = PAGE;
	s->blocks = (int64_t)n->blocks;
	s->unused[0] = s->unused[1] = s->unused[2] = 0;
	time_put(n->accessed, &s->access_s, &s->access_ns);
	time_put(n->modified, &s->modify_s, &s->modify_ns);
	time_put(n->changed, &s->change_s, &s->change_ns);
}

static int64_t stat_now(struct node *n, struct linux_stat *s)
{
	TRY(n->operations->refresh == NULL ? 0 : n->operations->refresh(n));
	stat_of_node(n, s);
	return 0;
}

static int64_t stat_of_file(struct file *f, struct linux_stat *s)
{
	if (f == NULL)
		return -EBADF;
	if (f->node != NULL)
		return stat_now(f->node, s);
	*s = (struct linux_stat){ .mode = 0600, .links = 1, .block_size = PAGE };
	if (f->operations->stat != NULL)
		f->operations->stat(f, s);
	return 0;
}

/* Takes a path, or the descriptor if there is no path. */
static int64_t stat_of(uint32_t task, int32_t directory, struct grant path, uint32_t flags, struct linux_stat *s)
{
	HELD struct node *n = NULL;
	int64_t result;

	if (path.length == 0)
		return stat_of_file(file_of(task, directory), s);
	TRY(result = path_in(path));
	if ((flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE)) != 0)
		return -EINVAL;
	if (result == 0 && (flags & AT_EMPTY_PATH) != 0 && directory != AT_FDCWD)
		return stat_of_file(file_of(task, directory), s);
	TRY(walk(task, directory, vfs.path, flags, &n));
	return stat_now(n, s);
}

verdict vfs_stat(struct request *r, int32_t directory, struct grant path, uint32_t flags, struct grant to)
{
	struct linux_stat s;
	int64_t result = stat_of(r->task, directory, path, flags, &s);

	return answer_or_wait(r, result != 0 ? result : copy_out(to, 0, &s, sizeof s));
}

verdict vfs_statx(struct request *r, int32_t directory, struct grant path, uint32_t flags, uint32_t mask,
		  struct grant to)
{
	struct linux_stat s = { 0 };
	struct linux_statx x;

	if ((mask & (1U << 31)) != 0)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, stat_of(r->task, directory, path, flags, &s));
	x = (struct linux_statx){ .mask = STATX_BASIC_STATS,
				  .block_size = (uint32_t)s.block_size,
				  .links = (uint32_t)s.links,
				  .owner = s.owner,
				  .group = s.group,
				  .mode = (uint16_t)s.mode,
				  .inode = s.inode,
				  .size = (uint64_t)s.size,
				  .blocks = (uint64_t)s.blocks,
				  .accessed = { (int64_t)s.access_s, (uint32_t)s.access_ns, 0 },
				  .modified = { (int64_t)s.modify_s, (uint32_t)s.modify_ns, 0 },
				  .changed = { (int64_t)s.change_s, (uint32_t)s.change_ns, 0 },
				  .special_major = DEVICE_MAJOR(s.special),
				  .special_minor = DEVICE_MINOR(s.special),
				  .device_major = DEVICE_MAJOR(s.device),
				  .device_minor = DEVICE_MINOR(s.device) };
	return answer(r, copy_out(to, 0, &x, sizeof x));
}

verdict vfs_access(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t flags)
{
	struct task_files *t = &vfs.tasks[r->task];
	uint32_t user = t->user, group = t->group;
	HELD struct node *n = NULL;
	int64_t result;

	if ((mode & ~7U) != 0 || (flags & ~(uint32_t)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
		return refuse(r, EINVAL);
	/* access() asks for the real user, not for the one whose rights the program has. */
	if ((flags & AT_EACCESS) == 0) {
		t->user = t->real_user;
		t->group = t->real_group;
	}
	result = node_at(r, directory, path, flags, &n);
	if (result == 0 && mode != 0)
		result = permitted(r->task, n, mode);
	t->user = user;
	t->group = group;
	return answer_or_wait(r, result);
}

/* Sets the attributes in `which`, on the disk too. */
static int64_t node_set(struct node *n, unsigned which, const struct file_attributes *to)
{
	TRY(n->operations->set == NULL ? 0 : n->operations->set(n, which, to));
	if ((which & SET_MODE) != 0)
		n->mode = (n->mode & S_IFMT) | (to->mode & 07777);
	if ((which & SET_OWNER) != 0)
		n->owner = to->owner;
	if ((which & SET_GROUP) != 0)
		n->group = to->group;
	if ((which & SET_ACCESSED) != 0)
		n->accessed = to->accessed;
	if ((which & SET_MODIFIED) != 0)
		n->modified = to->modified;
	n->changed = vfs_time();
	return 0;
}

/* Finds and holds the node whose attributes are to change. Returns -EINVAL for flags that node_at does not have; -EROFS
 * comes before permission errors. */
static int64_t node_to_set(const struct request *r, int32_t directory, struct grant path, uint32_t flags,
			   struct node **out)
{
	if ((flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
		return -EINVAL;
	TRY(node_at(r, directory, path, flags, out));
	return ((*out)->mount->flags & MS_RDONLY) != 0 ? -EROFS : 0;
}

verdict vfs_chmod(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t flags)
{
	struct file_attributes to = { .mode = mode & 07777 };
	HELD struct node *n = NULL;

	TRY_OR_WAIT(r, node_to_set(r, directory, path, flags, &n));
	if (S_ISLNK(n->mode))
		return refuse(r, EOPNOTSUPP);
	if (!is_owner(r->task, n))
		return refuse(r, EPERM);
	if (!is_in_group(&vfs.tasks[r->task], n->group))
		to.mode &= ~(uint32_t)S_ISGID;
	return answer_or_wait(r, node_set(n, SET_MODE, &to));
}

verdict vfs_chown(struct request *r, int32_t directory, struct grant path, uint32_t owner, uint32_t group,
		  uint32_t flags)
{
	const struct task_files *t = &vfs.tasks[r->task];
	struct file_attributes to = { .owner = owner, .group = group };
	unsigned which = (owner != UINT32_MAX ? SET_OWNER : 0) | (group != UINT32_MAX ? SET_GROUP : 0);
	HELD struct node *n = NULL;

	TRY_OR_WAIT(r, node_to_set(r, directory, path, flags, &n));
	if (t->user != 0 && (((which & SET_OWNER) != 0 && (owner != n->owner || t->user != n->owner)) ||
			     ((which & SET_GROUP) != 0 && (t->user != n->owner || !is_in_group(t, group)))))
		return refuse(r, EPERM);
	if (!S_ISDIR(n->mode) && which != 0) {
		to.mode = n->mode & ~(uint32_t)(S_ISUID | ((n->mode & 010) != 0 ? S_ISGID : 0));
		which |= SET_MODE;
	}
	return answer_or_wait(r, node_set(n, which, &to));
}

/* Converts a time to nanoseconds since 1970. Times out of range become the nearest one in range, as on Linux's file
 * systems. */
static int64_t instant(int64_t seconds, int64_t rest)
{
	const int64_t most = INT64_MAX / (int64_t)NS_PER_SECOND - 1;

	if (seconds > most || seconds < -most)
		return seconds < 0 ? -most * (int64_t)NS_PER_SECOND : most * (int64_t)NS_PER_SECOND;
	return seconds * (int64_t)NS_PER_SECOND + rest;
}

/* Reads two times of seconds and a fraction in units of `unit` nanoseconds, or of seconds alone if `unit` is 0.
 * UTIME_NOW and UTIME_OMIT are out of a fraction's range. Without times both are now. Sets `which`. Returns 1 if both
 * are now, otherwise 0 or -errno. */
static int64_t times_get(struct grant from, int64_t unit, struct file_attributes *to, unsigned *which)
{
	int64_t *const times[] = { &to->accessed, &to->modified };
	int64_t given[4] = { 0 };
	unsigned present = 0;

	if (from.length != 0)
		TRY(copy_in(given, from, 0, MIN(from.length, sizeof given)));
	for (unsigned i = 0; i < 2; i++) {
		int64_t seconds = given[unit == 0 ? i : 2 * i], rest = unit == 0 ? 0 : given[2 * i + 1];

		if (unit == 1 && rest == UTIME_OMIT)
			continue;
		*which |= i == 0 ? SET_ACCESSED : SET_MODIFIED;
		if (from.length == 0 || (unit == 1 && rest == UTIME_NOW)) {
			*times[i] = vfs_time();
			present++;
		} else if (rest >= 0 && rest < (int64_t)NS_PER_SECOND / MAX(unit, 1)) {
			*times[i] = instant(seconds, rest * unit);
		} else {
			return -EINVAL;
		}
	}
	return present == 2;
}

verdict vfs_set_times(struct request *r, int32_t directory, struct grant path, struct grant times, uint32_t unit,
		      uint32_t flags)
{
	struct file_attributes to = { 0 };
	unsigned which = 0;
	int64_t both_now = times_get(times, unit, &to, &which);
	HELD struct node *n = NULL;

	/* If no time is set the path is not even looked up. */
	if (both_now < 0 || which == 0)
		return answer(r, both_now);
	TRY_OR_WAIT(r, node_to_set(r, directory, path, flags, &n));
	/* A writer may set both times to now. */
	if (!is_owner(r->task, n))
		TRY_OR_WAIT(r, both_now ? permitted(r->task, n, MAY_WRITE) : -EPERM);
	return answer_or_wait(r, node_set(n, which, &to));
}

/* The node is a regular file that may be written. */
static int64_t resize(struct request *r, struct node *n, int64_t size)
{
	if (size < 0 || !S_ISREG(n->mode) || n->operations->truncate == NULL)
		return -EINVAL;
	if ((uint64_t)size > vfs.tasks[r->task].size_most && (uint64_t)size > n->size) {
		raise_signal(r, SIGXFSZ);
		return -EFBIG;
	}
	return n->operations->truncate(n, (uint64_t)size);
}

verdict vfs_truncate(struct request *r, struct grant path, int64_t size)
{
	HELD struct node *n = NULL;

	TRY_OR_WAIT(r, find_node(r, AT_FDCWD, path, 0, &n));
	if (S_ISDIR(n->mode))
		return refuse(r, EISDIR);
	if (n->writers < 0)
		return refuse(r, ETXTBSY);
	TRY_OR_WAIT(r, permitted(r->task, n, MAY_WRITE));
	return answer_or_wait(r, resize(r, n, size));
}

verdict vfs_ftruncate(struct request *r, struct file *f, int64_t size)
{
	if (f->node == NULL || !file_writes(f))
		return refuse(r, EINVAL);
	return answer_or_wait(r, resize(r, f->node, size));
}

verdict vfs_allocate(struct request *r, struct file *f, uint32_t mode, int64_t from, int64_t length)
{
	struct node *n = f->node;
	int64_t end, next, result;
	bool keep;

	if (!file_writes(f))
		return refuse(r, EBADF);
	if (from < 0 || length <= 0)
		return refuse(r, EINVAL);
	if ((mode & ~(uint32_t)FALLOC_FL_KEEP_SIZE) != 0)
		return refuse(r, EOPNOTSUPP);
	if (n == NULL)
		return refuse(r, ESPIPE);
	if (!S_ISREG(n->mode))
		return refuse(r, ENODEV);
	if (__builtin_add_overflow(from, length, &end) || (uint64_t)end > vfs.tasks[r->task].size_most)
		return refuse(r, EFBIG);
	if (n->operations->allocate == NULL)
		return refuse(r, EOPNOTSUPP);
	if (r->again)
		from = (int64_t)r->scratch[0];
	next = from + MIN(end - from, (int64_t)(SHARE_PAGES * PAGE));
	/* Only the last share changes the size. */
	keep = (mode & FALLOC_FL_KEEP_SIZE) != 0 || next < end;
	result = n->operations->allocate(n, (uint64_t)from, (uint64_t)(next - from), keep);
	r->scratch[0] = (uint64_t)next;
	return result == 0 && next < end ? give_way(r, BY_THE_END) : answer(r, result);
}
