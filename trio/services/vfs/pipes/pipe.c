/* pipe.c: pipes and FIFOs. A FIFO is a pipe with a name; opening one waits for the other side. A pipe lives while a
 * file or a name holds it. */
#include "abi/signal.h"
#include "abi/socket.h"
#include "files/files.h"
#include "pipes/pipe.h"
#include "pipes/ring.h"
#include "polling/poll.h"

/* A write of up to this size is atomic. */
#define PIPE_BUF PAGE

/* The readers or the writers of a pipe. */
struct pipe_side {
	/* The number of open files. */
	uint32_t files;
	/* For a FIFO: the number of opens so far, and a queue of tasks that wait for the other side. `expected`: a
	 * waiter was met and is about to open, so the other side may already read or write. */
	uint32_t opens;
	bool expected;
	struct queue opening;
};

struct pipe {
	struct unnamed is;
	struct ring ring;
	struct pipe_side readers, writers;
	struct watch readable, writable;
	/* It is a FIFO, which is freed with its node. */
	bool has_name;
};

/* Has no readers and writers yet. Returns NULL if memory is short. */
static struct pipe *pipe_make(uint32_t task)
{
	struct pipe *p = heap_allocate(sizeof *p);

	if (p == NULL)
		return NULL;
	ring_begin(&p->ring);
	p->is = unnamed_by(task, S_IFIFO | 0600);
	return p;
}

static void pipe_end(struct pipe *p)
{
	ring_end(&p->ring);
	heap_free(p, sizeof *p);
}

static verdict pipe_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	struct pipe *p = f->state;
	uint32_t n = (uint32_t)MIN(to.length, p->ring.used);

	if (n == 0) {
		if (to.length == 0 || (p->writers.files == 0 && !p->writers.expected))
			return answer(r, 0);
		return f->flags & O_NONBLOCK ? refuse(r, EAGAIN) : park(&p->readable.waiters, r);
	}
	if (ring_look(&p->ring, to, 0, n) != 0)
		return refuse(r, EFAULT);
	ring_drop(&p->ring, n);
	/* With less room an atomic write might not succeed, and a long one would proceed in small pieces. */
	if (ring_room(&p->ring) >= PIPE_BUF)
		watch_changed(&p->writable);
	return answer(r, n);
}

verdict write_broken(struct request *r, uint32_t flags)
{
	if (r->done > 0)
		return answer(r, (int64_t)r->done);
	if ((flags & MSG_NOSIGNAL) == 0)
		raise_signal(r, SIGPIPE);
	return refuse(r, EPIPE);
}

static verdict pipe_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct pipe *p = f->state;
	uint64_t left = from.length - r->done;
	uint32_t room = ring_room(&p->ring);

	if (from.length == 0)
		return answer(r, 0);
	if (p->readers.files == 0 && !p->readers.expected)
		return write_broken(r, 0);
	/* For an atomic write r->done is 0. */
	if (from.length <= PIPE_BUF ? room >= left : room > 0) {
		int64_t n = ring_put(&p->ring, from, r->done, (uint32_t)MIN(left, room), from.length <= PIPE_BUF);

		if (n < 0)
			return answer(r, r->done > 0 ? (int64_t)r->done : n);
		r->done += (uint64_t)n;
		watch_changed(&p->readable);
		/* All is written, or only a part could be read from the caller. */
		if ((uint64_t)n == left || (uint32_t)n < room)
			return answer(r, (int64_t)r->done);
	}
	if ((f->flags & O_NONBLOCK) == 0)
		return park(&p->writable.waiters, r);
	return r->done > 0 ? answer(r, (int64_t)r->done) : refuse(r, EAGAIN);
}

static uint32_t pipe_poll(struct file *f)
{
	struct pipe *p = f->state;
	uint32_t ready = 0;

	if (file_reads(f)) {
		watch(&p->readable);
		if (p->ring.used > 0)
			ready |= READY_IN;
		/* A FIFO that had no writer since this file was opened has not been hung up. */
		if (p->writers.files == 0 && (!p->has_name || p->writers.opens != f->position))
			ready |= READY_HANG_UP;
	}
	if (file_writes(f)) {
		watch(&p->writable);
		if (ring_room(&p->ring) >= PIPE_BUF)
			ready |= READY_OUT;
		if (p->readers.files == 0)
			ready |= READY_ERROR;
	}
	return ready;
}

static int64_t pipe_readable(struct file *f)
{
	return ((const struct pipe *)f->state)->ring.used;
}

static int64_t pipe_control(struct file *f, uint32_t command, uint64_t argument)
{
	struct pipe *p = f->state;
	uint32_t size;

	if (command == F_GETPIPE_SZ)
		return p->ring.size;
	/* Linux cannot round a larger size up to a power of two. */
	if (argument > 1UL << 31)
		return -EINVAL;
	if (argument > RING_PAGES_MOST * PAGE)
		return -EPERM;
	size = (uint32_t)(pages_for(argument) * PAGE);
	TRY(ring_resize(&p->ring, size));
	watch_changed(&p->writable);
	return size;
}

static void pipe_release(struct file *f)
{
	struct pipe *p = f->state;

	p->readers.files -= file_reads(f);
	p->writers.files -= file_writes(f);
	/* The other side sees the end. A thread that waits on a descriptor closed by another one finds it gone. */
	watch_changed(&p->readable);
	watch_changed(&p->writable);
	if (p->readers.files > 0 || p->writers.files > 0)
		return;
	if (!p->has_name)
		pipe_end(p);
	else if (!p->readers.expected)
		ring_drop(&p->ring, p->ring.used);
}

const struct file_operations pipe_files = {
	.read = pipe_read,
	.write = pipe_write,
	.poll = pipe_poll,
	.readable = pipe_readable,
	.stat = unnamed_stat,
	.control = pipe_control,
	.kind = "pipe:[%lu]",
	.release = pipe_release,
};

verdict vfs_pipe(struct request *r, struct grant to, uint32_t flags)
{
	const uint32_t ends[2] = { O_RDONLY | (flags & O_NONBLOCK), O_WRONLY | (flags & O_NONBLOCK) };
	struct pipe *p;
	int32_t fds[2];
	int64_t error;

	if (flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK))
		return refuse(r, EINVAL);
	p = pipe_make(r->task);
	if (p == NULL)
		return refuse(r, ENOMEM);
	p->readers.files = p->writers.files = 1;
	error = place_two(r->task, &pipe_files, (void *[2]){ p, p }, ends, flags & O_CLOEXEC, fds, to);
	if (error != 0)
		pipe_end(p);
	return answer(r, error);
}

void pipe_open(struct file *f, struct pipe *p)
{
	p->readers.files += file_reads(f);
	p->writers.files += file_writes(f);
	f->operations = &pipe_files;
	f->state = p;
}

/* FIFOs ------------------------------------------------------------------------------------------------------------ */

/* Both sides wait for each other, unless O_RDWR or O_NONBLOCK is set. A waiter has no file yet and a signal may end it
 * at any time, so it is only known by the queue. When it runs again, `opens` tells it whether it was met. */
static verdict side_open(struct request *r, struct file *f, struct pipe_side *own, struct pipe_side *other)
{
	bool met = is_waited_for(&other->opening);

	if (other->files == 0 && !met && (r->scratch[0] == 0 || r->scratch[0] == other->opens + 1ULL)) {
		if ((f->flags & O_NONBLOCK) == 0) {
			if (r->scratch[0] == 0)
				vfs.tasks[r->task].opening = node_hold(f->node);
			r->scratch[0] = other->opens + 1ULL;
			return park(&own->opening, r);
		}
		if (file_writes(f))
			return refuse(r, ENXIO);
	}
	/* poll uses this to see whether there has been a writer since. */
	if (other->files == 0 && r->scratch[0] == 0 && file_reads(f))
		f->position = other->opens;
	own->expected = false;
	other->expected |= met;
	return answer(r, 0);
}

verdict fifo_open(struct request *r, struct file *f)
{
	struct pipe *p = f->node->special;
	verdict how = answer(r, 0);

	/* The node is one of /proc that stands for a pipe. */
	if (f->node->operations->open != NULL)
		return answer(r, f->node->operations->open(f->node, f));
	if (p == NULL && (p = f->node->special = pipe_make(r->task)) == NULL)
		return refuse(r, ENOMEM);
	p->has_name = true;
	if (!file_writes(f))
		how = side_open(r, f, &p->readers, &p->writers);
	else if (!file_reads(f))
		how = side_open(r, f, &p->writers, &p->readers);
	if (how == PARKED || r->result != 0)
		return how;

	/* committed */
	pipe_open(f, p);
	p->readers.opens += file_reads(f);
	p->writers.opens += file_writes(f);
	if (file_writes(f))
		unpark(&p->readers.opening);
	if (file_reads(f))
		unpark(&p->writers.opening);
	return ANSWERED;
}

void fifo_waited_drop(uint32_t task)
{
	HELD struct node *n = vfs.tasks[task].opening;

	vfs.tasks[task].opening = NULL;
}

bool fifo_is_awaited(uint32_t task, const struct mount *m)
{
	const struct node *n = vfs.tasks[task].opening;
	const struct pipe *p;

	if (n == NULL || n->mount != m)
		return false;
	p = n->special;
	if (is_waited_for(&p->readers.opening) || is_waited_for(&p->writers.opening))
		return true;
	fifo_waited_drop(task);
	return false;
}

struct node *fifo_waited(struct request *r)
{
	if (r->scratch[0] == 0)
		fifo_waited_drop(r->task);
	return vfs.tasks[r->task].opening;
}

void fifo_forget(struct node *n)
{
	struct pipe *p = n->special;

	if (p == NULL)
		return;
	unpark(&p->readers.opening);
	unpark(&p->writers.opening);
	n->special = NULL;
	pipe_end(p);
}
