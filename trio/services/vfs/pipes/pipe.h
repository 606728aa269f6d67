/* pipe.h: what others ask of pipes and fifos. */
#ifndef TRIO_VFS_PIPE_H
#define TRIO_VFS_PIPE_H

#include "vfs_internal.h"

struct pipe;

/* Nobody will read: what was written before counts, else EPIPE, with a signal unless MSG_NOSIGNAL. */
verdict write_broken(struct request *r, uint32_t flags);
extern const struct file_operations pipe_files;
/* `f`, which has no operations yet, is open on the pipe, a file's state, for what its flags say. */
void pipe_open(struct file *f, struct pipe *p);

/* A fifo is opened: sets file->operations and state, may park. r->result: 0 or -errno. */
verdict fifo_open(struct request *r, struct file *f);
void fifo_forget(struct node *n);
/* The fifo that this open waited for, whose name may be gone by now; NULL: this is its first run. */
struct node *fifo_waited(struct request *r);
void fifo_waited_drop(uint32_t task);
/* The task waits to open a fifo on that mount; what it waited for before a signal came is forgotten. */
bool fifo_is_awaited(uint32_t task, const struct mount *m);

#endif
