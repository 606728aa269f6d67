/* pipe.h: what other parts need of pipes and fifos. */
#ifndef TRIO_VFS_PIPE_H
#define TRIO_VFS_PIPE_H

#include "vfs_internal.h"

struct pipe;

/* A write without readers: answers r->done, or EPIPE with a signal unless MSG_NOSIGNAL. */
verdict write_broken(struct request *r, uint32_t flags);
extern const struct file_operations pipe_files;
/* Opens `f`, which has no operations yet, on the pipe of another file's state, in the mode of its flags. */
void pipe_open(struct file *f, struct pipe *p);

/* Opens a fifo: sets file->operations and state, or parks. r->result is 0 or -errno. */
verdict fifo_open(struct request *r, struct file *f);
void fifo_forget(struct node *n);
/* The fifo that this open waited for, whose name may be gone by now. NULL: this is its first run. */
struct node *fifo_waited(struct request *r);
void fifo_waited_drop(uint32_t task);
/* Whether the task waits to open a fifo on that mount. It forgets a wait that a signal has ended. */
bool fifo_is_awaited(uint32_t task, const struct mount *m);

#endif
