/* processor.h: the processor's set-up, and those of its registers that change with the task (switch.h: at each
 * switch). */
#ifndef TRIO_PROCESSOR_H
#define TRIO_PROCESSOR_H

#include "core/task.h"
#include "x86/switch.h"

/* Sets up segments, the interrupt table, system calls; then SMEP, SMAP, UMIP, FSGSBASE and global pages, if this
 * processor has them. */
void processor_start(void);
/* Gives `to`, a new task, the FPU, thread pointers and selectors of `from`. */
void processor_copy(struct task *to, const struct task *from);
/* Sets all of that to what a program finds at its start. */
void processor_fresh(struct task *t);
/* Sets a thread pointer of the present task, or of one that does not run yet; its selector becomes 0. */
void processor_set_base(struct task *t, bool of_gs, uint64_t base);
/* The ports of the present task have changed. */
void processor_set_ports(const struct task *t);
/* Sets the FPU to what a program finds at its start. */
void processor_fpu_fresh(struct task *t);

#endif
