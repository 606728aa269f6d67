/* open.c: open(2) with its flags, and opening a node that was found. */
#include "devices/devices.h"
#include "files/files.h"
#include "names/names.h"
#include "pipes/pipe.h"
#include "tmpfs/tmpfs.h"

/* Unknown flags are ignored, as on Linux. These stay in the file's flags: */
#define KEPT                                                                                                        \
	(O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | \
	 O_NOATIME | O_PATH)
/* With O_PATH other flags are ignored. */
#define WITH_PATH (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Includes the NUL, as on Linux. */
#define MEMORY_FILE_NAME 250

/* Checks the node's type and permissions against `flags`. */
static int64_t may_open(uint32_t task, const struct node *n, uint32_t flags)
{
	static const uint8_t access[] = { MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE, MAY_READ | MAY_WRITE };
	unsigned wanted = access[flags & O_ACCMODE] | ((flags & O_TRUNC) != 0 ? MAY_WRITE : 0);

	if (S_ISREG(n->mode) && (flags & (O_PATH | O_DIRECTORY | O_NOATIME)) == 0)
		return permitted(task, n, wanted);
	if (S_ISLNK(n->mode) && (flags & O_PATH) == 0)
		return -ELOOP;
	if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(n->mode))
		return -ENOTDIR;
	if ((flags & O_PATH) != 0)
		return 0;
	if (S_ISDIR(n->mode) && ((wanted & MAY_WRITE) != 0 || (flags & O_CREAT) != 0))
		return -EISDIR;
	if (S_ISSOCK(n->mode))
		return -ENXIO;
	if ((S_ISCHR(n->mode) || S_ISBLK(n->mode)) && (n->mount->flags & MS_NODEV) != 0)
		return -EACCES;
	if ((flags & O_NOATIME) != 0 && !is_owner(task, n))
		return -EPERM;
	return permitted(task, n, wanted);
}

static int64_t open_device(uint32_t task, struct file *f)
{
	const struct device *d = device_of(f->node->mode & S_IFMT, f->node->device);

	if (d == NULL)
		return -ENXIO;
	if (d->open != NULL)
		TRY(d->open(task, f));
	f->operations = d->operations;
	return 0;
}

/* Opens a regular file or a directory. */
static int64_t open_plain(struct file *f)
{
	struct node *n = f->node;

	if (file_writes(f) && S_ISREG(n->mode)) {
		if (n->writers < 0)
			return -ETXTBSY;
		n->writers++;
		f->flags |= FILE_COUNTS_AS_WRITER;
	}
	if (n->operations->open != NULL)
		TRY(n->operations->open(n, f));
	f->operations = n->files;
	return 0;
}

/* Sets the file's operations and state. Answers 0 or an errno, or parks. */
static verdict begin_file(struct request *r, struct file *f)
{
	uint32_t mode = f->node->mode;

	if ((f->flags & O_PATH) != 0)
		return answer(r, 0);
	if (S_ISREG(mode) || S_ISDIR(mode))
		return answer(r, open_plain(f));
	if (S_ISFIFO(mode))
		return fifo_open(r, f);
	return answer(r, open_device(r->task, f));
}

static verdict open_node(struct request *r, struct node *n, uint32_t flags)
{
	struct file *f;
	int64_t result;

	TRY_OR_WAIT(r, file_make(&nothing, NULL, flags & KEPT, n, &f));
	if (begin_file(r, f) == PARKED) {
		file_drop(f);
		return PARKED;
	}
	result = r->result;
	if (result == 0)
		result = descriptor_place(r->task, f, 0, flags);
	if (result < 0)
		file_drop(f);
	return answer_or_wait(r, result);
}

/* Finds the node for O_CREAT or makes it; `made` says which. A function of its own, so that opening an existing file
 * does not pay for its frame. */
static __attribute__((noinline)) int64_t find_or_make(struct request *r, int32_t directory, uint32_t flags,
						      uint32_t mode, struct node **out, bool *made)
{
	struct file_attributes as = { .mode = S_IFREG | (mode & 07777) };
	HELD_PLACE struct place p = { 0 };
	int64_t result = 0;

	TRY(walk_place(r->task, directory, vfs.path, (flags & (O_EXCL | O_NOFOLLOW)) != 0 ? AT_SYMLINK_NOFOLLOW : 0,
		       &p));
	*made = p.node == NULL;
	if (p.slash)
		result = p.node == NULL || S_ISDIR(p.node->mode) ? -EISDIR : -ENOTDIR;
	else if (p.node == NULL || (flags & O_EXCL) != 0)
		result = create_in(r->task, &p, &as, NULL);
	if (result == 0)
		*out = node_hold(p.node);
	/* Linux returns EACCES here. */
	return result == -EPERM ? -EACCES : result;
}

verdict vfs_open(struct request *r, int32_t directory, struct grant path, uint32_t flags, uint32_t mode)
{
	struct node *n = vfs.tasks[r->task].opening == NULL ? NULL : fifo_waited(r);
	bool made = false;
	int64_t result;
	verdict end;

	if (n != NULL) {
		end = open_node(r, n, flags);
		if (end != PARKED)
			fifo_waited_drop(r->task);
		return end;
	}
	result = path_in(path);
	if ((flags & O_PATH) != 0)
		flags &= WITH_PATH;
	/* O_TMPFILE includes O_DIRECTORY. */
	if ((flags & O_DIRECTORY) != 0 && (flags & O_TMPFILE) == O_TMPFILE)
		return refuse(r, EOPNOTSUPP);
	if ((flags & O_DIRECTORY) != 0 && (flags & O_CREAT) != 0)
		return refuse(r, EINVAL);
	if (result < 0)
		return answer(r, result);
	if ((flags & O_CREAT) != 0)
		result = find_or_make(r, directory, flags, mode, &n, &made);
	else
		result = walk(r->task, directory, vfs.path, (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0, &n);
	if (result != 0)
		return answer_or_wait(r, result);
	if (!made)
		result = may_open(r->task, n, flags);
	if (result == 0 && (flags & O_TRUNC) != 0 && !made && S_ISREG(n->mode)) {
		result = n->writers < 0 ? -ETXTBSY : 0;
		if (result == 0 && n->operations->truncate != NULL)
			result = n->operations->truncate(n, 0);
	}
	end = result == 0 ? open_node(r, n, flags) : answer_or_wait(r, result);
	node_drop(n);
	return end;
}

verdict vfs_memory_file(struct request *r, struct grant name, uint32_t flags)
{
	struct file_attributes as = { .mode = S_IFREG | 0777,
				      .owner = vfs.tasks[r->task].user,
				      .group = vfs.tasks[r->task].group };
	HELD struct node *n = NULL;
	/* The name is checked and not used. */
	int64_t result = copy_string(vfs.path, MEMORY_FILE_NAME, name);

	if ((flags & ~MFD_CLOEXEC) != 0 || result == -ENAMETOOLONG)
		return refuse(r, EINVAL);
	if (result < 0)
		return answer(r, result);
	TRY_OR_WAIT(r, tmpfs_make(vfs.mounts, &as, NULL, &n));
	n->links = 0;
	return open_node(r, n, O_RDWR | ((flags & MFD_CLOEXEC) != 0 ? O_CLOEXEC : 0));
}
