/* names.c: names made, removed and moved. Each handler finds its places, checks, and then has the file system do it. */
#include "names/names.h"

/* May `task` take the entry `n` from the folder: write there, and with the sticky bit own one of the two. */
static int64_t may_remove(uint32_t task, const struct node *folder, const struct node *n)
{
	TRY(permitted(task, folder, MAY_WRITE | MAY_EXECUTE));
	if ((folder->mode & S_ISVTX) != 0 && !is_owner(task, n) && !is_owner(task, folder))
		return -EPERM;
	return n->covered_by != NULL ? -EBUSY : 0;
}

static void owned_by(uint32_t task, const struct node *folder, struct file_attributes *as)
{
	const struct task_files *t = &vfs.tasks[task];

	as->owner = t->user;
	as->group = t->group;
	if ((folder->mode & S_ISGID) == 0)
		return;
	as->group = folder->group;
	if (S_ISDIR(as->mode))
		as->mode |= S_ISGID;
}

/* There is to be a new entry: nothing may stand there yet. */
static int64_t may_make(uint32_t task, const struct place *p, bool folder)
{
	if (p->special || p->node != NULL)
		return -EEXIST;
	if (p->slash && !folder)
		return -ENOENT;
	return permitted(task, p->folder, MAY_WRITE | MAY_EXECUTE);
}

int64_t create_in(uint32_t task, struct place *p, uint32_t mode, uint32_t device)
{
	struct file_attributes as = { .mode = mode & ~vfs.tasks[task].folders->umask, .device = device };
	struct node *n;

	if (p->folder->operations->create == NULL)
		return -EPERM;
	owned_by(task, p->folder, &as);
	TRY(p->folder->operations->create(p->folder, p->name, p->length, &as, &n));
	p->node = n;
	return 0;
}

int64_t make_at(uint32_t task, int32_t directory, const char *path, uint32_t mode, uint32_t device, struct node **out)
{
	struct place p;
	int64_t result;

	TRY(walk_place(task, directory, path, AT_SYMLINK_NOFOLLOW, &p));
	result = may_make(task, &p, S_ISDIR(mode));
	if (result == 0)
		result = create_in(task, &p, mode, device);
	if (result == 0 && out != NULL)
		*out = node_hold(p.node);
	place_drop(&p);
	return result;
}

verdict vfs_make(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t device)
{
	int64_t result;

	if ((mode & S_IFMT) == 0)
		mode |= S_IFREG;
	if (S_ISLNK(mode) || (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode) &&
			      !S_ISCHR(mode) && !S_ISBLK(mode)))
		return refuse(r, EINVAL);
	if ((S_ISCHR(mode) || S_ISBLK(mode)) && vfs.tasks[r->task].user != 0)
		return refuse(r, EPERM);
	mode &= S_ISDIR(mode) ? S_IFMT | 01777 : S_IFMT | 07777;
	result = path_in(path);
	if (result >= 0)
		result = make_at(r->task, directory, vfs.path, mode, S_ISCHR(mode) || S_ISBLK(mode) ? device : 0, NULL);
	return vfs_settle(r, result);
}

/* rmdir and unlink of what has no name of its own: `.`, `..` and `/`. */
static int64_t remove_special(bool folder)
{
	size_t length = strlen(vfs.path);

	if (!folder)
		return -EISDIR;
	while (length > 1 && vfs.path[length - 1] == '/')
		length--;
	if (length >= 2 && memcmp(vfs.path + length - 2, "..", 2) == 0)
		return -ENOTEMPTY;
	return vfs.path[length - 1] == '.' ? -EINVAL : -EBUSY;
}

static int64_t remove_place(uint32_t task, const struct place *p, bool folder)
{
	if (p->special)
		return remove_special(folder);
	if (p->node == NULL)
		return -ENOENT;
	TRY(may_remove(task, p->folder, p->node));
	if (folder && !S_ISDIR(p->node->mode))
		return -ENOTDIR;
	if (!folder && S_ISDIR(p->node->mode))
		return -EISDIR;
	if (!folder && p->slash)
		return -ENOTDIR;
	if (p->folder->operations->unlink == NULL)
		return -EPERM;
	return p->folder->operations->unlink(p->folder, p->name, p->length, p->node);
}

verdict vfs_remove(struct request *r, int32_t directory, struct grant path, uint32_t flags)
{
	struct place p;
	int64_t result;

	if ((flags & ~(uint32_t)AT_REMOVEDIR) != 0)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, find_place(r, directory, path, &p));
	result = remove_place(r->task, &p, (flags & AT_REMOVEDIR) != 0);
	place_drop(&p);
	return vfs_settle(r, result);
}

/* What the types of what moves and of what is replaced say, and the slashes. */
static int64_t types_allow(const struct place *from, const struct place *to, uint32_t flags)
{
	bool folder = S_ISDIR(from->node->mode);

	if (!folder && (from->slash || to->slash))
		return -ENOTDIR;
	if (to->node == NULL)
		return 0;
	if ((flags & RENAME_NOREPLACE) != 0)
		return -EEXIST;
	if (folder && !S_ISDIR(to->node->mode))
		return -ENOTDIR;
	return !folder && S_ISDIR(to->node->mode) ? -EISDIR : 0;
}

static int64_t rename_places(uint32_t task, struct place *from, struct place *to, uint32_t flags)
{
	if (from->special || to->special)
		return (flags & RENAME_NOREPLACE) != 0 && !from->special ? -EEXIST : -EBUSY;
	if (from->node == NULL)
		return -ENOENT;
	if (from->folder->mount != to->folder->mount)
		return -EXDEV;
	TRY(types_allow(from, to, flags));
	TRY(may_remove(task, from->folder, from->node));
	TRY(to->node != NULL ? may_remove(task, to->folder, to->node)
			     : permitted(task, to->folder, MAY_WRITE | MAY_EXECUTE));
	/* Its `..` is to change. */
	if (S_ISDIR(from->node->mode) && from->folder != to->folder)
		TRY(permitted(task, from->node, MAY_WRITE));
	if (from->node == to->node)
		return 0;
	if (from->folder->operations->rename == NULL)
		return -EPERM;
	return from->folder->operations->rename(from->folder, from->name, from->length, from->node, to->folder,
						to->name, to->length, to->node);
}

verdict vfs_rename(struct request *r, int32_t from, struct grant path, int32_t to, struct grant new_path,
		   uint32_t flags)
{
	struct place old, new;
	int64_t result;

	if ((flags & ~(uint32_t)RENAME_NOREPLACE) != 0)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, find_place(r, from, path, &old));
	result = find_place(r, to, new_path, &new);
	if (result == 0) {
		result = rename_places(r->task, &old, &new, flags);
		place_drop(&new);
	}
	place_drop(&old);
	return vfs_settle(r, result);
}

static int64_t link_place(uint32_t task, struct node *n, struct place *p)
{
	TRY(may_make(task, p, false));
	if (n->mount != p->folder->mount)
		return -EXDEV;
	if (S_ISDIR(n->mode) || p->folder->operations->link == NULL)
		return -EPERM;
	return p->folder->operations->link(p->folder, p->name, p->length, n);
}

verdict vfs_link(struct request *r, int32_t from, struct grant path, int32_t to, struct grant new_path, uint32_t flags)
{
	HELD struct node *n = NULL;
	struct place p;
	int64_t result;

	if ((flags & ~(uint32_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0)
		return refuse(r, EINVAL);
	flags = (flags & AT_EMPTY_PATH) | ((flags & AT_SYMLINK_FOLLOW) != 0 ? 0 : AT_SYMLINK_NOFOLLOW);
	TRY_ANSWER(r, node_at(r, from, path, flags, &n));
	TRY_ANSWER(r, find_place(r, to, new_path, &p));
	result = link_place(r->task, n, &p);
	place_drop(&p);
	return vfs_settle(r, result);
}

static int64_t symlink_place(uint32_t task, struct place *p, struct grant target)
{
	struct file_attributes as = { .mode = S_IFLNK | 0777 };
	int64_t length = copy_string(vfs.target, PATH_MAX, target);
	int64_t result = may_make(task, p, false);

	if (length <= 0)
		return length == 0 ? -ENOENT : length;
	if (result != 0)
		return result;
	if (p->folder->operations->symlink == NULL)
		return -EPERM;
	owned_by(task, p->folder, &as);
	return p->folder->operations->symlink(p->folder, p->name, p->length, &as, vfs.target, (size_t)length);
}

verdict vfs_symlink(struct request *r, struct grant target, int32_t directory, struct grant path)
{
	struct place p;
	int64_t result;

	TRY_ANSWER(r, find_place(r, directory, path, &p));
	result = symlink_place(r->task, &p, target);
	place_drop(&p);
	return vfs_settle(r, result);
}

verdict vfs_readlink(struct request *r, int32_t directory, struct grant path, struct grant to)
{
	HELD struct node *n = NULL;
	int64_t result;

	TRY_ANSWER(r, find_node(r, directory, path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, &n));
	/* An empty path is for a link that was opened with O_PATH. */
	if (!S_ISLNK(n->mode))
		return refuse(r, vfs.path[0] == '\0' ? ENOENT : EINVAL);
	result = n->operations->readlink(n, vfs.page, PAGE);
	if (result <= 0)
		return vfs_settle(r, result);
	return answer_with(r, MIN(result, (int64_t)to.length), to, vfs.page, (size_t)MIN((uint64_t)result, to.length));
}
