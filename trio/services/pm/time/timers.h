/* timers.h: signals at a time, of the clock's and of a process's own on the processor. */
#ifndef TRIO_PM_TIMERS_H
#define TRIO_PM_TIMERS_H

#include "pm_internal.h"

/* Those whose time has come send their signals. */
void timers_pass(void);
void timers_end(struct process *p);
/* RLIMIT_CPU is another one, or the process new. */
void timers_limit(struct process *p);

static inline struct linux_timeval timeval_of(uint64_t ns)
{
	return (struct linux_timeval){ (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND / 1000) };
}

#endif
