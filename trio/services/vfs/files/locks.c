/* locks.c: record locks, which belong to a process (fcntl), and whole-file locks, which belong to an open file (flock).
 * Both are listed at the node. All waiters are parked in one queue and try again whenever a lock goes, so that
 * deadlocks can be found in that queue. */
#include "files/files.h"

#define END INT64_MAX

struct lock {
	struct lock *next;
	/* Exactly one is set: the process of a record lock, or the file of a flock. */
	uint32_t process;
	const struct file *file;
	/* The first and the last byte. */
	int64_t first, last;
	bool exclusive;
};

static bool same_owner(const struct lock *a, const struct lock *b)
{
	return a->process == b->process && a->file == b->file;
}

/* Finds the first lock of another owner that conflicts with `wanted`. */
static struct lock *conflict(const struct node *n, const struct lock *wanted)
{
	struct lock *first = NULL;

	for (struct lock *l = n->locks; l != NULL; l = l->next)
		if ((l->file == NULL) == (wanted->file == NULL) && !same_owner(l, wanted) && l->first <= wanted->last &&
		    l->last >= wanted->first && (l->exclusive || wanted->exclusive) &&
		    (first == NULL || l->first < first->first))
			first = l;
	return first;
}

/* Removes the owner's locks from the range. If a lock's middle is removed, `spare` becomes its second half; otherwise
 * `spare` is returned. */
static struct lock *clear(struct node *n, const struct lock *range, struct lock *spare)
{
	struct lock **at = &n->locks, *l;

	while ((l = *at) != NULL) {
		if (!same_owner(l, range) || l->first > range->last || l->last < range->first) {
			at = &l->next;
		} else if (l->first < range->first && l->last > range->last) {
			*spare = *l;
			spare->first = range->last + 1;
			l->last = range->first - 1;
			l->next = spare;
			return NULL;
		} else if (l->first < range->first) {
			l->last = range->first - 1;
			at = &l->next;
		} else if (l->last > range->last) {
			l->first = range->last + 1;
			at = &l->next;
		} else {
			*at = l->next;
			heap_free(l, sizeof *l);
		}
	}
	return spare;
}

/* Sets or removes a lock. Returns 0 or -ENOMEM. */
static int64_t apply(struct node *n, const struct lock *wanted, bool unlock)
{
	struct lock *spare = heap_allocate(sizeof *spare), *new = unlock ? spare : heap_allocate(sizeof *new);

	if (spare == NULL || new == NULL) {
		if (spare != NULL || new != NULL)
			heap_free(spare != NULL ? spare : new, sizeof *new);
		return -ENOMEM;
	}
	/* committed */
	spare = clear(n, wanted, spare);
	if (spare != NULL)
		heap_free(spare, sizeof *spare);
	if (!unlock) {
		*new = *wanted;
		new->next = n->locks;
		n->locks = new;
	}
	unpark(&vfs.lock_waiters);
	return 0;
}

/* Wakes waiters only if a lock was removed. Otherwise two waiters in flock() would wake each other forever. */
void locks_drop(struct node *n, uint32_t process, const struct file *f)
{
	struct lock all = { .process = process, .file = f, .last = END };
	const struct lock *l = n->locks;

	while (l != NULL && !same_owner(l, &all))
		l = l->next;
	if (l == NULL)
		return;
	clear(n, &all, NULL);
	unpark(&vfs.lock_waiters);
}

/* Converts struct flock's range into the first and the last byte. */
static int64_t range_of(const struct file *f, uint32_t whence, int64_t start, int64_t length, struct lock *to)
{
	int64_t base = whence == SEEK_SET ? 0 : (int64_t)(whence == SEEK_CUR ? f->position : f->node->size);

	if (whence > SEEK_END)
		return -EINVAL;
	if (__builtin_add_overflow(base, start, &to->first))
		return -EOVERFLOW;
	to->last = END;
	if (length > 0 && __builtin_add_overflow(to->first, length - 1, &to->last))
		return -EOVERFLOW;
	if (length < 0) {
		to->last = to->first - 1;
		to->first += length;
	}
	return to->first < 0 ? -EINVAL : 0;
}

/* The process that `process` waits for; 0: none. */
static uint32_t waits_for(uint32_t process)
{
	if (!is_waited_for(&vfs.lock_waiters))
		return 0;
	LIST_EACH (struct request, r, &vfs.lock_waiters.head, link)
		if (vfs.tasks[r->task].process == process)
			return (uint32_t)r->scratch[0];
	return 0;
}

/* Waits for a record lock of `other`, unless `other` waits, perhaps through further processes, for this one. */
static verdict wait_for(struct request *r, uint32_t process, uint32_t other)
{
	uint32_t each = other;

	for (uint32_t steps = 0; each != 0 && steps < TASKS; steps++) {
		if (each == process)
			return refuse(r, EDEADLK);
		each = waits_for(each);
	}
	r->scratch[0] = other;
	return park(&vfs.lock_waiters, r);
}

static verdict tell(struct request *r, struct grant to, struct linux_flock *asked, const struct lock *l)
{
	asked->type = F_UNLCK;
	if (l != NULL) {
		asked->type = l->exclusive ? F_WRLCK : F_RDLCK;
		asked->whence = SEEK_SET;
		asked->start = l->first;
		asked->length = l->last == END ? 0 : l->last - l->first + 1;
		asked->pid = (int32_t)l->process;
	}
	return answer_with(r, 0, to, asked, sizeof *asked);
}

verdict vfs_lock(struct request *r, struct file *f, uint32_t command, struct grant at)
{
	struct lock wanted = { .process = vfs.tasks[r->task].process };
	const struct lock *other;
	struct linux_flock asked;
	int16_t type;

	TRY_OR_WAIT(r, copy_in(&asked, at, 0, sizeof asked));
	type = asked.type;
	wanted.exclusive = type == F_WRLCK;
	if (f->node == NULL || type < F_RDLCK || type > F_UNLCK || (command == F_GETLK && type == F_UNLCK))
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, range_of(f, (uint32_t)asked.whence, asked.start, asked.length, &wanted));
	if (command != F_GETLK && ((type == F_RDLCK && !file_reads(f)) || (type == F_WRLCK && !file_writes(f))))
		return refuse(r, EBADF);
	other = type == F_UNLCK ? NULL : conflict(f->node, &wanted);
	if (command == F_GETLK)
		return tell(r, at, &asked, other);
	if (other == NULL)
		return answer(r, apply(f->node, &wanted, type == F_UNLCK));
	return command == F_SETLKW ? wait_for(r, wanted.process, other->process) : refuse(r, EAGAIN);
}

verdict vfs_flock(struct request *r, struct file *f, uint32_t operation)
{
	uint32_t what = operation & ~(uint32_t)LOCK_NB;
	struct lock wanted = { .file = f, .last = END, .exclusive = what == LOCK_EX };

	if (f->node == NULL || (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN))
		return refuse(r, EINVAL);
	if (what == LOCK_UN) {
		locks_drop(f->node, 0, f);
		return answer(r, 0);
	}
	if (conflict(f->node, &wanted) == NULL)
		return answer(r, apply(f->node, &wanted, false));
	if ((operation & LOCK_NB) != 0)
		return refuse(r, EAGAIN);
	/* flock() gives up the current lock before it waits for another one. */
	locks_drop(f->node, 0, f);
	return park(&vfs.lock_waiters, r);
}

#define CHANGEABLE (O_APPEND | O_NONBLOCK | O_DIRECT | O_ASYNC | O_NOATIME)

verdict vfs_control(struct request *r, int32_t fd, uint32_t command, uint64_t argument)
{
	struct file *f = file_of(r->task, fd);

	/* With O_PATH only commands on the descriptor itself are allowed, which have the lowest numbers. */
	if (f == NULL || ((f->flags & O_PATH) != 0 && command > F_GETFL && command != F_DUPFD_CLOEXEC))
		return refuse(r, EBADF);
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return vfs_duplicate(r, fd, (uint32_t)MIN(argument, UINT32_MAX), command == F_DUPFD ? 0 : O_CLOEXEC);
	case F_GETFD:
		return answer(r, descriptor_is_marked(vfs.tasks[r->task].descriptors, (uint32_t)fd));
	case F_SETFD:
		descriptor_mark(vfs.tasks[r->task].descriptors, (uint32_t)fd, (argument & FD_CLOEXEC) != 0);
		return answer(r, 0);
	case F_GETFL:
		return answer(r, f->flags & ~FILE_COUNTS_AS_WRITER);
	case F_SETFL:
		/* SIGIO is not implemented. */
		if ((argument & ~(uint64_t)f->flags & O_ASYNC) != 0)
			return refuse(r, EINVAL);
		f->flags = (f->flags & ~(uint32_t)CHANGEABLE) | (uint32_t)(argument & CHANGEABLE);
		return answer(r, 0);
	case F_GETOWN:
		return answer(r, f->owner);
	case F_SETOWN:
		f->owner = (int32_t)argument;
		return answer(r, 0);
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
		return f->operations->control == NULL ? refuse(r, EBADF)
						      : answer(r, f->operations->control(f, command, argument));
	}
	return refuse(r, EINVAL);
}

verdict vfs_advise(struct request *r, struct file *f, uint32_t advice)
{
	if (f->node == NULL || S_ISFIFO(f->node->mode))
		return refuse(r, ESPIPE);
	return advice > 5 ? refuse(r, EINVAL) : answer(r, 0);
}
