/* directories.c: reading directories, the current and the root directory, and calls for a whole file system. */
#include "files/files.h"
#include "names/names.h"

/* Programs ask for less at a time. */
#define ENTRIES_BYTES (64UL << 10)

verdict vfs_entries(struct request *r, struct file *f, struct grant to)
{
	if (f->operations->entries == NULL)
		return refuse(r, ENOTDIR);
	return answer_or_wait(r, f->operations->entries(f, grant_part(to, 0, ENTRIES_BYTES)));
}

/* Replaces the directory `place` of the task by `n`, if permitted. */
static int64_t stand_at(uint32_t task, struct node *n, struct node **place)
{
	if (!S_ISDIR(n->mode))
		return -ENOTDIR;
	TRY(permitted(task, n, MAY_EXECUTE));
	if (place == &vfs.tasks[task].directories->root && vfs.tasks[task].user != 0)
		return -EPERM;
	node_hold(n);
	node_drop(*place);
	*place = n;
	return 0;
}

verdict vfs_chdir(struct request *r, int32_t directory, struct grant path)
{
	const struct file *f = file_of(r->task, directory);
	HELD struct node *n = NULL;

	if (path.length != 0)
		TRY_OR_WAIT(r, find_node(r, AT_FDCWD, path, 0, &n));
	else if (f == NULL || f->node == NULL)
		return refuse(r, f == NULL ? EBADF : ENOTDIR);
	else
		n = node_hold(f->node);
	return answer(r, stand_at(r->task, n, &vfs.tasks[r->task].directories->current));
}

verdict vfs_chroot(struct request *r, struct grant path)
{
	HELD struct node *n = NULL;

	TRY_OR_WAIT(r, find_node(r, AT_FDCWD, path, 0, &n));
	return answer(r, stand_at(r->task, n, &vfs.tasks[r->task].directories->root));
}

verdict vfs_getcwd(struct request *r, struct grant to)
{
	const struct directories *f = vfs.tasks[r->task].directories;
	int64_t length = path_of(f->root, f->current, "(unreachable)", vfs.path, PATH_MAX);

	if (length < 0)
		return answer_or_wait(r, length);
	if ((uint64_t)length + 1 > to.length)
		return refuse(r, ERANGE);
	return answer_with(r, length + 1, to, vfs.path, (size_t)length + 1);
}

verdict vfs_umask(struct request *r, uint32_t mask)
{
	struct directories *f = vfs.tasks[r->task].directories;
	uint32_t old = f->umask;

	f->umask = mask & 0777;
	return answer(r, old);
}

verdict vfs_statfs(struct request *r, int32_t directory, struct grant path, struct grant to)
{
	struct linux_statfs s = { .block_size = PAGE, .name_length = NAME_MAX };
	struct file *f = file_of(r->task, directory);
	struct mount *m;
	HELD struct node *node = NULL;

	if (path.length == 0 && f != NULL && f->node == NULL)
		return refuse(r, ENOSYS);
	TRY_OR_WAIT(r, node_at(r, directory, path, 0, &node));
	m = node->mount;
	m->type->numbers(m, &s);
	s.fragment_size = s.block_size;
	s.blocks_available = s.blocks_free;
	/* Bit 0x20 says that these flags are valid, as on Linux. */
	s.flags = (int64_t)((m->flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)) | 0x20);
	return answer(r, copy_out(to, 0, &s, sizeof s));
}

static int64_t mount_sync(struct mount *m)
{
	return m->type == NULL || m->type->sync == NULL ? 0 : m->type->sync(m);
}

int64_t vfs_write_back(void)
{
	int64_t worst = 0;

	for (uint32_t i = 0; i < MOUNTS; i++) {
		int64_t result = mount_sync(&vfs.mounts[i]);

		if (result == -EWAIT || worst == 0)
			worst = result;
	}
	return worst;
}

verdict vfs_sync(struct request *r, int32_t fd, uint32_t all)
{
	struct file *f;
	struct node *n;

	/* sync(2) has no errors. */
	if (fd == -1)
		return answer_or_wait(r, vfs_write_back() == -EWAIT ? -EWAIT : 0);
	f = file_at(r, fd);
	if (f == NULL)
		return ANSWERED;
	n = f->node;
	if (all != 0)
		return answer_or_wait(r, n == NULL ? 0 : mount_sync(n->mount));
	if (n == NULL || (!S_ISREG(n->mode) && !S_ISDIR(n->mode) && !S_ISBLK(n->mode)))
		return refuse(r, EINVAL);
	return answer_or_wait(r, S_ISBLK(n->mode) || n->operations->sync == NULL ? 0 : n->operations->sync(n));
}
