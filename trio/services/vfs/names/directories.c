/* directories.c: reading directories, where a task stands, and what concerns a file system as a whole. */
#include "files/files.h"
#include "names/names.h"

/* More than programs ask for at a time. */
#define ENTRIES_BYTES (64UL << 10)

verdict vfs_entries(struct request *r, struct file *f, struct grant to)
{
	if (f->operations->entries == NULL)
		return refuse(r, ENOTDIR);
	return vfs_settle(r, f->operations->entries(f, grant_part(to, 0, ENTRIES_BYTES)));
}

/* The task stands at `n` from now on, if it may. `place` is its reference to where it stood. */
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
		TRY_ANSWER(r, find_node(r, AT_FDCWD, path, 0, &n));
	else if (f == NULL || f->node == NULL)
		return refuse(r, f == NULL ? EBADF : ENOTDIR);
	else
		n = node_hold(f->node);
	return settle(r, stand_at(r->task, n, &vfs.tasks[r->task].directories->current));
}

verdict vfs_chroot(struct request *r, struct grant path)
{
	HELD struct node *n = NULL;

	TRY_ANSWER(r, find_node(r, AT_FDCWD, path, 0, &n));
	return settle(r, stand_at(r->task, n, &vfs.tasks[r->task].directories->root));
}

verdict vfs_getcwd(struct request *r, struct grant to)
{
	const struct directories *f = vfs.tasks[r->task].directories;
	int64_t length = path_of(f->root, f->current, "(unreachable)", vfs.path, PATH_MAX);

	if (length < 0)
		return vfs_settle(r, length);
	if ((uint64_t)length + 1 > to.length)
		return refuse(r, ERANGE);
	TRY_ANSWER(r, copy_out(to, 0, vfs.path, (size_t)length + 1));
	return answer(r, length + 1);
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
	struct file_system_numbers n = { .name_length = NAME_MAX };
	struct linux_statfs s = { 0 };
	struct file *f = file_of(r->task, directory);
	const struct mount *m;
	HELD struct node *node = NULL;

	if (path.length == 0 && f != NULL && f->node == NULL)
		return refuse(r, ENOSYS);
	TRY_ANSWER(r, node_at(r, directory, path, 0, &node));
	m = node->mount;
	if (m->type->numbers != NULL)
		m->type->numbers(node->mount, &n);
	s.type = (int64_t)n.type;
	s.block_size = s.fragment_size = (int64_t)(n.block_size != 0 ? n.block_size : PAGE);
	s.blocks = n.blocks;
	s.blocks_free = s.blocks_available = n.blocks_free;
	s.files = n.inodes;
	s.files_free = n.inodes_free;
	s.name_length = (int64_t)n.name_length;
	/* Linux says that these flags are meant by a bit of their own. */
	s.flags = (int64_t)((m->flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)) | 0x20);
	return settle(r, copy_out(to, 0, &s, sizeof s));
}

int64_t vfs_write_back(void)
{
	int64_t worst = 0;

	for (uint32_t i = 0; i < MOUNTS; i++) {
		struct mount *m = &vfs.mounts[i];
		int64_t result = m->type == NULL || m->type->sync == NULL ? 0 : m->type->sync(m);

		if (result == -EWAIT || worst == 0)
			worst = result;
	}
	return worst;
}

verdict vfs_sync(struct request *r, int32_t fd, uint32_t all)
{
	struct file *f;
	struct node *n;
	int64_t result;

	if (fd == -1) {
		result = vfs_write_back();
		/* sync(2) has no errors. */
		return vfs_settle(r, result == -EWAIT ? result : 0);
	}
	f = file_of(r->task, fd);
	if (f == NULL || (f->flags & O_PATH) != 0)
		return refuse(r, EBADF);
	n = f->node;
	if (n == NULL)
		return all != 0 ? answer(r, 0) : refuse(r, EINVAL);
	if (all != 0)
		return vfs_settle(r, n->mount->type->sync == NULL ? 0 : n->mount->type->sync(n->mount));
	if (S_ISBLK(n->mode))
		return answer(r, 0);
	if (!S_ISREG(n->mode) && !S_ISDIR(n->mode))
		return refuse(r, EINVAL);
	return vfs_settle(r, n->operations->sync == NULL ? 0 : n->operations->sync(n));
}
