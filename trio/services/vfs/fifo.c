/* fifo.c: FIFOs, pipes that stand at a name: their opening, which waits for the other side. */
#include "pipe.h"

/* Both sides wait for each other, unless O_RDWR or O_NONBLOCK. A waiter has no file yet and may be ended by a signal
 * at any time, so it is known by the queue alone; `…_opens` tells it, when it runs again, that it was met. */
static verdict side_open(struct request *r, struct file *f, struct pipe_side *own, struct pipe_side *other)
{
	bool met = is_waited_for(&other->opening);

	if (other->files == 0 && !met && (r->scratch[0] == 0 || r->scratch[0] == other->opens + 1ULL)) {
		if ((f->flags & O_NONBLOCK) == 0) {
			r->scratch[0] = other->opens + 1ULL;
			return park(&own->opening, r);
		}
		if (file_writes(f))
			return refuse(r, ENXIO);
	}
	/* For poll: no writer since. */
	if (other->files == 0 && r->scratch[0] == 0 && file_reads(f))
		f->position = other->opens;
	own->files++;
	own->opens++;
	own->expected = false;
	if (met) {
		other->expected = true;
		unpark(&other->opening);
	}
	return answer(r, 0);
}

verdict fifo_open(struct request *r, struct file *f)
{
	struct pipe *p = f->node->special;
	verdict how = ANSWERED;

	/* A pipe's, by /proc. */
	if (f->node->operations->open != NULL)
		return settle(r, f->node->operations->open(f->node, f));
	if (p == NULL && (p = f->node->special = pipe_make(r->task)) == NULL)
		return refuse(r, ENOMEM);
	p->has_name = true;
	if (file_reads(f) && file_writes(f)) {
		p->readers.files++;
		p->writers.files++;
		p->readers.opens++;
		p->writers.opens++;
		unpark(&p->readers.opening);
		unpark(&p->writers.opening);
		r->result = 0;
	} else if (file_reads(f)) {
		how = side_open(r, f, &p->readers, &p->writers);
	} else {
		how = side_open(r, f, &p->writers, &p->readers);
	}
	if (how == PARKED && r->scratch[1] == 0) {
		vfs.tasks[r->task].opening = node_hold(f->node);
		r->scratch[1] = 1;
	}
	if (how == PARKED || r->result != 0)
		return how;
	f->operations = &pipe_files;
	f->state = p;
	return ANSWERED;
}

void fifo_waited_drop(uint32_t task)
{
	struct node *n = vfs.tasks[task].opening;

	vfs.tasks[task].opening = NULL;
	if (n != NULL)
		node_drop(n);
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

struct node *fifo_waited_for(struct request *r)
{
	if (r->scratch[1] == 0)
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
