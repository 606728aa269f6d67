/* processor.h: set-up of the processor itself, and what of it changes with the task. */
#ifndef TRIO_PROCESSOR_H
#define TRIO_PROCESSOR_H

#include "core/task.h"

/* Segments, interrupt table, system calls; then what this processor has of SMEP, SMAP, UMIP, FSGSBASE, and global
 * pages. */
void processor_start(void);
/* From `from` to `to`: FPU, thread pointers, selectors, ports, stack of the kernel, address space. */
void processor_switch(struct task *from, struct task *to);
/* `to`, a new task, gets FPU, thread pointers and selectors of `from`. */
void processor_copy(struct task *to, const struct task *from);
/* All of that as a program finds it at its start. */
void processor_fresh(struct task *t);
/* Of the present task, which may have moved its thread pointers itself: into its fields. */
void processor_save_bases(struct task *t);
/* Of the present task or of one that does not run yet; the selector is 0 then. */
void processor_set_base(struct task *t, bool of_gs, uint64_t base);
/* Ports of the present task changed. */
void processor_set_ports(const struct task *t);
/* Saves the FPU's registers in the present task's own area; loads them from there. */
void processor_fpu_save(struct task *t);
void processor_fpu_load(const struct task *t);
/* As a program finds them at its start. */
void processor_fpu_fresh(struct task *t);

#endif
