/* people.h: whose a process is, what it may, and what it used. */
#ifndef TRIO_PM_PEOPLE_H
#define TRIO_PM_PEOPLE_H

#include "pm_internal.h"

/* credentials.c */
bool may_signal(const struct process *from, const struct process *to, uint32_t signal);
/* Tells vfs. */
void credentials_tell(struct process *p);

/* limits.c: as Linux gives them to its first process. */
void limits_start(struct process *p);
/* Whether it may have one more thread. */
bool may_fork(const struct process *p);

/* usage.c */
void usage_add(struct usage *to, const struct usage *more);
struct usage thread_usage(const struct thread *t);
/* Of its threads, those that have ended too. */
struct usage process_usage(const struct process *p);
int64_t usage_write(struct grant to, const struct usage *from);

#endif
