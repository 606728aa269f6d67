/* names.c: makes, removes and moves names. Each handler looks up places, checks permissions, calls the file system. */
#include "names/names.h"

/* Whether `task` may add and remove entries of the directory. -EPERM: nobody may. */
static int64_t may_change(uint32_t task, const struct node *directory)
{
	TRY(permitted(task, directory, MAY_WRITE | MAY_EXECUTE));
	return directory->operations->create == NULL ? -EPERM : 0;
}

/* Whether `task` may remove the entry `n`: the directory is writable and, with the sticky bit, one of both its own. */
static int64_t may_remove(uint32_t task, const struct node *directory, const struct node *n)
{
	TRY(may_change(task, directory));
	if ((directory->mode & S_ISVTX) != 0 && !is_owner(task, n) && !is_owner(task, directory))
		return -EPERM;
	return n->covered_by != NULL ? -EBUSY : 0;
}

/* Checks that a new entry may be made. */
static int64_t may_make(uint32_t task, const struct place *p, bool directory)
{
	if (p->special || p->node != NULL)
		return -EEXIST;
	if (p->slash && !directory)
		return -ENOENT;
	return may_change(task, p->directory);
}

int64_t create_in(uint32_t task, struct place *p, struct file_attributes *as, const char *target)
{
	const struct task_files *t = &vfs.tasks[task];

	TRY(may_make(task, p, S_ISDIR(as->mode)));
	if (target == NULL)
		as->mode &= ~t->directories->umask;
	as->owner = t->user;
	as->group = t->group;
	if ((p->directory->mode & S_ISGID) != 0) {
		as->group = p->directory->group;
		as->mode |= S_ISDIR(as->mode) ? S_ISGID : 0;
	}
	return p->directory->operations->create(p, as, target);
}

int64_t make_at(uint32_t task, int32_t directory, const char *path, uint32_t mode, uint32_t device, struct node **out)
{
	struct file_attributes as = { .mode = mode, .device = device };
	HELD_PLACE struct place p = { 0 };

	TRY(walk_place(task, directory, path, AT_SYMLINK_NOFOLLOW, &p));
	TRY(create_in(task, &p, &as, NULL));
	if (out != NULL)
		*out = node_hold(p.node);
	return 0;
}

verdict vfs_make(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t device)
{
	bool special = S_ISCHR(mode) || S_ISBLK(mode);

	if ((mode & S_IFMT) == 0)
		mode |= S_IFREG;
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode) && !special)
		return refuse(r, EINVAL);
	if (special && vfs.tasks[r->task].user != 0)
		return refuse(r, EPERM);
	mode &= S_ISDIR(mode) ? S_IFMT | 01777 : S_IFMT | 07777;
	TRY_OR_WAIT(r, path_in(path));
	return answer_or_wait(r, make_at(r->task, directory, vfs.path, mode, special ? device : 0, NULL));
}

/* rmdir and unlink of `.`, `..` and `/`. */
static int64_t remove_special(bool directory)
{
	size_t length = strlen(vfs.path);

	if (!directory)
		return -EISDIR;
	while (length > 1 && vfs.path[length - 1] == '/')
		length--;
	if (length >= 2 && memcmp(vfs.path + length - 2, "..", 2) == 0)
		return -ENOTEMPTY;
	return vfs.path[length - 1] == '.' ? -EINVAL : -EBUSY;
}

verdict vfs_remove(struct request *r, int32_t directory, struct grant path, uint32_t flags)
{
	bool is_rmdir = (flags & AT_REMOVEDIR) != 0;
	HELD_PLACE struct place p = { 0 };

	if ((flags & ~(uint32_t)AT_REMOVEDIR) != 0)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, find_place(r, directory, path, &p));
	if (p.special)
		return answer(r, remove_special(is_rmdir));
	if (p.node == NULL)
		return refuse(r, ENOENT);
	TRY_OR_WAIT(r, may_remove(r->task, p.directory, p.node));
	if (is_rmdir != S_ISDIR(p.node->mode))
		return refuse(r, is_rmdir ? ENOTDIR : EISDIR);
	if (!is_rmdir && p.slash)
		return refuse(r, ENOTDIR);
	return answer_or_wait(r, p.directory->operations->unlink(&p));
}

static int64_t may_rename(uint32_t task, const struct place *from, const struct place *to, uint32_t flags)
{
	bool directory, replaces = to->node != NULL;

	if (from->special || to->special)
		return (flags & RENAME_NOREPLACE) != 0 && !from->special ? -EEXIST : -EBUSY;
	if (from->node == NULL)
		return -ENOENT;
	if (from->directory->mount != to->directory->mount)
		return -EXDEV;
	directory = S_ISDIR(from->node->mode);
	if (!directory && (from->slash || to->slash))
		return -ENOTDIR;
	if (replaces && (flags & RENAME_NOREPLACE) != 0)
		return -EEXIST;
	if (replaces && directory != S_ISDIR(to->node->mode))
		return directory ? -ENOTDIR : -EISDIR;
	TRY(may_remove(task, from->directory, from->node));
	TRY(replaces ? may_remove(task, to->directory, to->node) : may_change(task, to->directory));
	/* Its entry `..` will change. */
	return directory && from->directory != to->directory ? permitted(task, from->node, MAY_WRITE) : 0;
}

verdict vfs_rename(struct request *r, int32_t from, struct grant path, int32_t to, struct grant new_path,
		   uint32_t flags)
{
	HELD_PLACE struct place old = { 0 }, new = { 0 };

	if ((flags & ~(uint32_t)RENAME_NOREPLACE) != 0)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, find_place(r, from, path, &old));
	TRY_OR_WAIT(r, find_place(r, to, new_path, &new));
	TRY_OR_WAIT(r, may_rename(r->task, &old, &new, flags));
	return answer_or_wait(r, old.node == new.node ? 0 : old.directory->operations->rename(&old, &new));
}

verdict vfs_link(struct request *r, int32_t from, struct grant path, int32_t to, struct grant new_path, uint32_t flags)
{
	HELD struct node *n = NULL;
	HELD_PLACE struct place p = { 0 };

	if ((flags & ~(uint32_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0)
		return refuse(r, EINVAL);
	flags = (flags & AT_EMPTY_PATH) | ((flags & AT_SYMLINK_FOLLOW) != 0 ? 0 : AT_SYMLINK_NOFOLLOW);
	TRY_OR_WAIT(r, node_at(r, from, path, flags, &n));
	TRY_OR_WAIT(r, find_place(r, to, new_path, &p));
	TRY_OR_WAIT(r, may_make(r->task, &p, false));
	if (n->mount != p.directory->mount)
		return refuse(r, EXDEV);
	if (S_ISDIR(n->mode))
		return refuse(r, EPERM);
	return answer_or_wait(r, p.directory->operations->link(&p, n));
}

verdict vfs_symlink(struct request *r, struct grant target, int32_t directory, struct grant path)
{
	struct file_attributes as = { .mode = S_IFLNK | 0777 };
	HELD_PLACE struct place p = { 0 };
	int64_t length;

	TRY_OR_WAIT(r, find_place(r, directory, path, &p));
	TRY_OR_WAIT(r, length = copy_string(vfs.target, PATH_MAX, target));
	if (length == 0)
		return refuse(r, ENOENT);
	as.size = (uint64_t)length;
	return answer_or_wait(r, create_in(r->task, &p, &as, vfs.target));
}

verdict vfs_readlink(struct request *r, int32_t directory, struct grant path, struct grant to)
{
	HELD struct node *n = NULL;
	int64_t result;

	TRY_OR_WAIT(r, find_node(r, directory, path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, &n));
	/* An empty path is for a link that was opened with O_PATH. */
	if (!S_ISLNK(n->mode))
		return refuse(r, vfs.path[0] == '\0' ? ENOENT : EINVAL);
	result = n->operations->readlink(n, vfs.page, PAGE);
	if (result <= 0)
		return answer_or_wait(r, result);
	return answer_with(r, MIN(result, (int64_t)to.length), to, vfs.page, (size_t)MIN((uint64_t)result, to.length));
}
