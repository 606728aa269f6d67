/* processes.h: who there is, in slots and by numbers, how processes begin and end, whose they are and what they use. */
#ifndef TRIO_PM_PROCESSES_H
#define TRIO_PM_PROCESSES_H

#include "pm_internal.h"

/* table.c: nothing here waits or fails once a slot has been taken. */
void table_start(void);
/* A slot, or -EAGAIN. */
int32_t slot_take(void);
void slot_give(uint32_t slot);
/* A number that nobody has, used once from now on, as thread_add's; there is always one. */
int32_t number_take(void);
/* What has the number `*user`, or none, has another; a number that nobody has is free. */
void number_set(int32_t *user, int32_t number);
/* NULL: there is none. */
struct thread *thread_numbered(int32_t number);
struct process *process_numbered(int32_t number);
/* Tells vfs who a thread is and its name, which are in /proc too. A new thread has its maker's name untold. */
void thread_identify(const struct thread *t);
/* All its threads; where the first has left its slot is a zombie, as Linux shows it, until it is waited for. */
void process_identify(struct process *p);
/* A process without threads, as a child of `parent`, NULL: the first. */
struct process *process_add(uint32_t slot, int32_t number, struct process *parent);
void process_remove(struct process *p);
struct thread *thread_add(struct process *p, uint32_t slot, int32_t number);
void thread_remove(struct thread *t);

/* fork.c: the child, which a parent waits for, uses its memory no more. */
void vfork_end(struct process *child);

/* exit.c. A thread sees it before it is in user mode again, and leaves. `except` is the caller's own, that attends or
 * leaves anyway; `status`: as wait4 tells it. */
void thread_end(struct thread *t);
void threads_end(struct process *p, const struct thread *except);
void process_end(struct process *p, uint32_t status, struct thread *except);
verdict thread_leave(struct thread *t, struct request *r);
/* `status`: as wait4 tells it. One that has ended, and that its parent does not wait for, is no more then. */
void parent_tell(struct process *p, uint32_t status);
void shut_down(void);

/* programs/exec.c: the first process executes a program, which must not be on a disk. 0 or a negative errno. */
int64_t execute_first(struct thread *t, const char *path);
/* The thread ends in the midst of an execve. */
void image_drop(struct thread *t);

/* groups.c: nobody in the group has a parent in another group of the same session. */
bool group_is_orphaned(int32_t group);

/* people/credentials.c */
bool may_signal(const struct process *from, const struct process *to, uint32_t signal);
/* Tells vfs. */
void credentials_tell(struct process *p);

/* people/limits.c: as Linux gives them to its first process. */
void limits_start(struct process *p);
/* Whether it may have one more thread. */
bool may_fork(const struct process *p);

/* people/usage.c */
void usage_add(struct usage *to, const struct usage *more);
struct usage thread_usage(const struct thread *t);
/* Of its threads, those that have ended too. */
struct usage process_usage(const struct process *p);
int64_t usage_write(struct grant to, const struct usage *from);

/* time/timers.c: those whose time has come send their signals. */
void timers_pass(void);
void timers_end(struct process *p);
/* RLIMIT_CPU is another one, or the process new. */
void timers_limit(struct process *p);
static inline struct linux_timeval timeval_of(uint64_t ns)
{
	return (struct linux_timeval){ (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND / 1000) };
}

#endif
