/* timers.h: signals at a time, of the clock's and of a process's own on the processor. */
#ifndef TRIO_PM_TIMERS_H
#define TRIO_PM_TIMERS_H

#include "pm_internal.h"

void timers_pass(void);
void timer_end(struct timer *timer);
/* Looks at the process's time, and says when to look again. */
void processor_check(struct process *p);

#endif
