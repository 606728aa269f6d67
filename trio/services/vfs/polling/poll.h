/* poll.h: watches, which wake those who wait for a change, and the readiness of files. */
#ifndef TRIO_VFS_POLL_H
#define TRIO_VFS_POLL_H

#include "vfs_internal.h"

/* From here to poll_end() watch() notes the task. */
static inline void poll_begin(uint32_t task)
{
	vfs.polling = 1ULL << task % 64;
	vfs.polls++;
}

/* Called by an operation `poll`: pollers look again when `w` changes. */
static inline void watch(struct watch *w)
{
	w->tasks |= vfs.polling;
	vfs.watches++;
	vfs.changes += w->changes;
}
void watch_wake(struct watch *w);
/* Wakes pollers only. */
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

/* The readiness of a file in all of Linux's bits. Sets vfs.changes to its watches' count of changes. */
uint32_t file_ready(struct file *f);
/* Ends what poll_begin() began: answers how many files were ready, or an errno. If none was, parks until a
 * watch changes or until the deadline; with deadline 0 it answers 0 at once. */
verdict poll_end(struct request *r, int64_t ready_count, nanoseconds deadline);

/* To be called when the file goes. */
void epoll_forget(struct file *f);

#endif
