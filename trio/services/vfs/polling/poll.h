/* poll.h: who waits for a change is told of it: watches, and the readiness of files. */
#ifndef TRIO_VFS_POLL_H
#define TRIO_VFS_POLL_H

#include "vfs_internal.h"

/* Until poll_end() watch() notes the task. */
static inline void poll_begin(uint32_t task)
{
	vfs.polling = 1ULL << task % 64;
	vfs.polls++;
}

/* In an operation `poll`: who polls is to look again when `w` changes. */
static inline void watch(struct watch *w)
{
	w->tasks |= vfs.polling;
	vfs.watches++;
	vfs.changes += w->changes;
}
void watch_wake(struct watch *w);
/* Those who poll alone look again. */
static inline void watch_polled(struct watch *w)
{
	w->changes++;
	if (w->tasks != 0)
		watch_wake(w);
}
static inline void watch_changed(struct watch *w)
{
	unpark(&w->waiters);
	watch_polled(w);
}

/* Readiness of a file in all of Linux's bits; in vfs.changes is how often its watches have changed. */
uint32_t file_ready(struct file *f);
/* After poll_begin(): the answer is how many were `found` ready, or an errno. Where none was, parks who polls until a
 * watch changes; 0 is the answer at the deadline, 0: at once. */
verdict poll_end(struct request *r, int64_t found, nanoseconds deadline);

/* The file goes. */
void epoll_forget(struct file *f);

#endif
