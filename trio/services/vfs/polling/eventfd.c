/* eventfd.c: a counter as a file: a write adds to it, a read takes all of it or, as a semaphore, 1. */
#include "abi/poll.h"
#include "files/files.h"
#include "polling/poll.h"

#define EVENT_MOST (UINT64_MAX - 1)

struct event {
	uint64_t value;
	bool semaphore;
	struct watch watch;
};

static verdict event_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	struct event *e = f->state;
	uint64_t taken = e->semaphore ? 1 : e->value;

	if (to.length < sizeof taken)
		return refuse(r, EINVAL);
	if (e->value == 0)
		return f->flags & O_NONBLOCK ? refuse(r, EAGAIN) : park(&e->watch.waiters, r);
	TRY_OR_WAIT(r, copy_out(to, 0, &taken, sizeof taken));
	e->value -= taken;
	watch_changed(&e->watch);
	return answer(r, sizeof taken);
}

static verdict event_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct event *e = f->state;
	uint64_t added;

	if (from.length < sizeof added)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, copy_in(&added, from, 0, sizeof added));
	if (added > EVENT_MOST)
		return refuse(r, EINVAL);
	if (added > EVENT_MOST - e->value)
		return f->flags & O_NONBLOCK ? refuse(r, EAGAIN) : park(&e->watch.waiters, r);
	e->value += added;
	watch_changed(&e->watch);
	return answer(r, sizeof added);
}

static uint32_t event_poll(struct file *f)
{
	struct event *e = f->state;

	watch(&e->watch);
	return (e->value > 0 ? READY_IN : 0) | (e->value < EVENT_MOST ? READY_OUT : 0);
}

static void event_release(struct file *f)
{
	struct event *e = f->state;

	watch_changed(&e->watch);
	heap_free(e, sizeof *e);
}

static const struct file_operations event_files = {
	.read = event_read,
	.write = event_write,
	.poll = event_poll,
	.kind = "anon_inode:[eventfd]",
	.release = event_release,
};

verdict vfs_eventfd(struct request *r, uint32_t value, uint32_t flags)
{
	struct event *e;
	int64_t error;

	if (flags & ~(uint32_t)(EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK))
		return refuse(r, EINVAL);
	e = heap_allocate(sizeof *e);
	if (e == NULL)
		return refuse(r, ENOMEM);
	e->value = value;
	e->semaphore = flags & EFD_SEMAPHORE;
	error = place_one(r->task, &event_files, e, O_RDWR | (flags & O_NONBLOCK), flags & O_CLOEXEC);
	if (error < 0)
		heap_free(e, sizeof *e);
	return answer(r, error);
}
