/* processes.h: tables of threads and processes, how they begin and end, their credentials, limits and usage. */
#ifndef TRIO_PM_PROCESSES_H
#define TRIO_PM_PROCESSES_H

#include "pm_internal.h"

/* table.c: once a slot has been taken, nothing here waits or fails. */
void table_start(void);
/* Returns a slot, or -EAGAIN. */
int32_t slot_take(void);
void slot_give(uint32_t slot);
/* Returns a free number, with one use counted (thread_add's). One is always free. */
int32_t number_take(void);
/* Replaces the number in `*user` and moves the count of its use. A number without uses is free. */
void number_set(int32_t *user, int32_t number);
/* These return NULL if there is none. */
struct thread *thread_numbered(int32_t number);
struct process *process_numbered(int32_t number);
/* Tells vfs the thread's numbers and name, for /proc. A new thread has its maker's name without this. */
void thread_identify(const struct thread *t);
/* Tells vfs of all threads. A slot that the first thread has left shows a zombie until it is waited for, as on
 * Linux. */
void process_identify(struct process *p);
/* Makes a process without threads, as a child of `parent` (NULL for the first process). */
struct process *process_add(uint32_t slot, int32_t number, struct process *parent);
void process_remove(struct process *p);
struct thread *thread_add(struct process *p, uint32_t slot, int32_t number);
void thread_remove(struct thread *t);

/* fork.c: the child no longer uses the memory of its parent, which waits for that in vfork. */
void vfork_end(struct process *child);

/* exit.c: a marked thread attends before it is in user mode again, and leaves. `except` is the calling thread, which
 * attends or leaves anyway. `status` is in wait4's format. */
void thread_end(struct thread *t);
void threads_end(struct process *p, const struct thread *except);
void process_end(struct process *p, uint32_t status, struct thread *except);
verdict thread_leave(struct thread *t, struct request *r);
/* `status` is in wait4's format. This removes a process that has ended if its parent does not wait for children. */
void parent_tell(struct process *p, uint32_t status);
void shut_down(void);

/* programs/exec.c: the first process executes a program, which must not be on a disk. Returns 0 or a negative errno. */
int64_t execute_first(struct thread *t, const char *path);
/* The thread ends during its execve. */
void image_drop(struct thread *t);

/* groups.c: whether no member has a parent in another group of the same session. */
bool group_is_orphaned(int32_t group);

/* people/credentials.c */
bool may_signal(const struct process *from, const struct process *to, uint32_t signal);
/* Tells vfs the process's credentials. */
void credentials_tell(struct process *p);

/* people/limits.c: sets the limits that Linux gives to its first process. */
void limits_start(struct process *p);
/* Whether the process may have one more thread. */
bool may_fork(const struct process *p);

/* people/usage.c */
void usage_add(struct usage *to, const struct usage *more);
struct usage thread_usage(const struct thread *t);
/* Includes the threads that have ended. */
struct usage process_usage(const struct process *p);
int64_t usage_write(struct grant to, const struct usage *from);

/* time/timers.c: sends the signals of all timers that have expired. */
void timers_pass(void);
void timers_end(struct process *p);
/* To be called when RLIMIT_CPU has changed or the process is new. */
void timers_limit(struct process *p);
static inline struct linux_timeval timeval_of(uint64_t ns)
{
	return (struct linux_timeval){ (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND / 1000) };
}

#endif
