/* epoll.c: a file that names other files, to wait for any of them. A wait looks at each file once, like poll; an
 * interest with EPOLLET is reported only after its file's watch has changed. An interest does not hold its file and
 * goes with it. */
#include "abi/poll.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* How deep epolls may nest, as on Linux (EP_MAX_NESTS). */
#define NESTS_MOST 4
#define EVENT_FLAGS (EPOLLONESHOT | EPOLLET)
#define NOT_YET UINT64_MAX

struct epoll {
	struct link interests;
	/* The link in io.epolls. */
	struct link all;
	struct watch watch;
	/* How deep epolls nest below it. */
	uint32_t height;
	/* The last poll that asked for its readiness, and the result: one poll may reach an epoll on many ways. */
	uint64_t poll;
	uint32_t ready;
};

struct interest {
	struct link link;
	struct file *file;
	int32_t fd;
	/* The watch's count of changes at the last report; NOT_YET: none. */
	uint64_t seen;
	/* The events to report. EPOLLONESHOT clears them after a report, until EPOLL_CTL_MOD. */
	struct linux_epoll_event event;
};

static const struct file_operations epoll_files;

static struct epoll *epoll_in(const struct file *f)
{
	return f->operations == &epoll_files ? f->state : NULL;
}

/* What to report now. vfs.changes is the watch's count of changes. */
static uint32_t interest_ready(const struct interest *i)
{
	uint32_t ready = file_ready(i->file) & i->event.events & ~EVENT_FLAGS;

	return (i->event.events & EPOLLET) != 0 && vfs.changes == i->seen ? 0 : ready;
}

static uint32_t epoll_poll(struct file *f)
{
	struct epoll *e = f->state;

	if (e->poll != vfs.polls) {
		e->poll = vfs.polls;
		e->ready = 0;
		LIST_EACH (struct interest, i, &e->interests, link)
			if (interest_ready(i) != 0)
				e->ready = READY_IN;
	}
	watch(&e->watch);
	return e->ready;
}

static void interest_end(struct interest *i)
{
	i->file->named--;
	list_remove(&i->link);
	heap_free(i, sizeof *i);
}

void epoll_forget(struct file *f)
{
	LIST_EACH (struct epoll, e, &io.epolls, all) {
		if (f->named == 0)
			return;
		LIST_EACH (struct interest, i, &e->interests, link)
			if (i->file == f)
				interest_end(i);
	}
}

static void epoll_release(struct file *f)
{
	struct epoll *e = f->state;

	watch_changed(&e->watch);
	LIST_EACH (struct interest, i, &e->interests, link)
		interest_end(i);
	list_remove(&e->all);
	heap_free(e, sizeof *e);
}

static const struct file_operations epoll_files = {
	.poll = epoll_poll,
	.kind = "anon_inode:[eventpoll]",
	.release = epoll_release,
};

verdict vfs_epoll_create(struct request *r, uint32_t flags)
{
	struct epoll *e;
	int64_t fd;

	if (flags & ~(uint32_t)EPOLL_CLOEXEC)
		return refuse(r, EINVAL);
	e = heap_allocate(sizeof *e);
	if (e == NULL)
		return refuse(r, ENOMEM);
	list_start(&e->interests);
	fd = place_one(r->task, &epoll_files, e, O_RDWR, flags & EPOLL_CLOEXEC ? O_CLOEXEC : 0);
	if (fd < 0)
		heap_free(e, sizeof *e);
	else
		list_add(&io.epolls, &e->all);
	return answer(r, fd);
}

/* Each epoll is at least one higher than those in it. After NESTS_MOST + 1 rounds all heights are final, except those
 * in a cycle, which grow in each round. */
static bool nests_too_deep(void)
{
	uint32_t highest = 0;

	LIST_EACH (struct epoll, e, &io.epolls, all)
		e->height = 0;
	for (unsigned round = 0; round <= NESTS_MOST; round++)
		LIST_EACH (struct epoll, e, &io.epolls, all)
			LIST_EACH (struct interest, i, &e->interests, link) {
				const struct epoll *inner = epoll_in(i->file);

				if (inner != NULL)
					e->height = MAX(e->height, inner->height + 1);
				highest = MAX(highest, e->height);
			}
	return highest > NESTS_MOST;
}

static struct interest *interest_of(const struct epoll *e, const struct file *f, int32_t fd)
{
	LIST_EACH (struct interest, i, &e->interests, link)
		if (i->file == f && i->fd == fd)
			return i;
	return NULL;
}

static int64_t interest_make(struct epoll *e, struct file *f, int32_t fd, struct interest **out)
{
	struct interest *i = heap_allocate(sizeof *i);

	if (i == NULL)
		return -ENOMEM;
	i->file = f;
	i->fd = fd;
	f->named++;
	list_add(&e->interests, &i->link);
	if (epoll_in(f) != NULL && nests_too_deep()) {
		interest_end(i);
		return -ELOOP;
	}
	*out = i;
	return 0;
}

verdict vfs_epoll_control(struct request *r, int32_t epoll, uint32_t operation, int32_t fd, struct grant event)
{
	struct file *ef = file_of(r->task, epoll), *f = file_of(r->task, fd);
	struct linux_epoll_event wanted = { 0, 0 };
	struct interest *i;
	struct epoll *e;

	if (operation != EPOLL_CTL_DEL && copy_in(&wanted, event, 0, sizeof wanted) != 0)
		return refuse(r, EFAULT);
	if (ef == NULL || f == NULL || (f->flags & O_PATH) != 0)
		return refuse(r, EBADF);
	/* Files that are always ready cannot be waited for. */
	if (f->operations->poll == NULL)
		return refuse(r, EPERM);
	e = epoll_in(ef);
	if (e == NULL || ef == f || operation - 1 > 2 || (wanted.events & EPOLLEXCLUSIVE))
		return refuse(r, EINVAL);
	i = interest_of(e, f, fd);
	if (operation == EPOLL_CTL_ADD && i != NULL)
		return refuse(r, EEXIST);
	if (operation == EPOLL_CTL_ADD)
		TRY_OR_WAIT(r, interest_make(e, f, fd, &i));
	if (i == NULL)
		return refuse(r, ENOENT);
	if (operation == EPOLL_CTL_DEL) {
		interest_end(i);
		return answer(r, 0);
	}
	i->event = wanted;
	i->event.events = (wanted.events & ~EPOLLWAKEUP) | POLLERR | POLLHUP;
	i->seen = NOT_YET;
	watch_changed(&e->watch);
	return answer(r, 0);
}

verdict vfs_epoll_wait(struct request *r, struct file *f, struct grant events, uint32_t count, uint64_t deadline)
{
	struct epoll *e = epoll_in(f);
	int64_t ready_count = 0;

	if (e == NULL || count > INT32_MAX / sizeof(struct linux_epoll_event))
		return refuse(r, EINVAL);
	poll_begin(r->task);
	/* Interests that are added during the wait count too. */
	watch(&e->watch);
	LIST_EACH (struct interest, i, &e->interests, link) {
		struct linux_epoll_event event = { interest_ready(i), i->event.data };

		if (event.events == 0)
			continue;
		if (copy_out(events, (uint64_t)ready_count * sizeof event, &event, sizeof event) != 0)
			return poll_end(r, ready_count > 0 ? ready_count : -EFAULT, 0);
		i->seen = vfs.changes;
		if ((i->event.events & EPOLLONESHOT) != 0)
			i->event.events = EPOLLONESHOT;
		if (++ready_count < count)
			continue;
		/* The next call begins behind this one, so that no file starves. */
		list_remove(&e->interests);
		list_add(i->link.next, &e->interests);
		break;
	}
	return poll_end(r, ready_count, deadline);
}
