/* processor.h: set-up of the processor itself, and what of it changes with the task (switch.h: at each switch). */
#ifndef TRIO_PROCESSOR_H
#define TRIO_PROCESSOR_H

#include "core/task.h"
#include "x86/switch.h"

/* Segments, interrupt table, system calls; then what this processor has of SMEP, SMAP, UMIP, FSGSBASE, and global
 * pages. */
void processor_start(void);
/* `to`, a new task, gets FPU, thread pointers and selectors of `from`. */
void processor_copy(struct task *to, const struct task *from);
/* All of that as a program finds it at its start. */
void processor_fresh(struct task *t);
/* Of the present task or of one that does not run yet; the selector is 0 then. */
void processor_set_base(struct task *t, bool of_gs, uint64_t base);
/* Ports of the present task changed. */
void processor_set_ports(const struct task *t);
/* As a program finds them at its start. */
void processor_fpu_fresh(struct task *t);

#endif
