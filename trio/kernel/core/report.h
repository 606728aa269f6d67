/* report.h: what the kernel tells of tasks, of the machine, and of what happened. */
#ifndef TRIO_REPORT_H
#define TRIO_REPORT_H

#include "core/task.h"

/* Nanoseconds on the processor so far, divided as its ticks were. */
void task_times(struct task *t, uint64_t *user, uint64_t *system);

#endif
