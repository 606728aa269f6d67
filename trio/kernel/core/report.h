/* report.h: what the kernel tells of tasks, of the machine, and of what happened. */
#ifndef TRIO_REPORT_H
#define TRIO_REPORT_H

#include "core/task.h"

/* Nanoseconds on the processor so far, divided as its ticks were. */
void task_times(struct task *t, uint64_t *user, uint64_t *system);

/* Calls that read and that wrote so far, 0 where nothing is counted. */
uint64_t counters_reads(const struct counters *c);
uint64_t counters_writes(const struct counters *c);

#endif
