/* processor.h: set-up of the processor itself, and what of it changes with the task. */
#ifndef TRIO_PROCESSOR_H
#define TRIO_PROCESSOR_H

#include "core/task.h"

/* Segments, interrupt table, system calls; then what this processor has of SMEP, SMAP, UMIP, FSGSBASE, and global
 * pages. */
void processor_start(void);
/* From `from` to `to`: FPU, thread pointer, ports, stack of the kernel, address space; whether that was another. */
bool processor_switch(struct task *from, struct task *to);
/* The thread pointers of the present task are those in its fields. */
void processor_set_bases(struct task *t);
/* Of the present task or of another: its thread pointer. */
uint64_t processor_fs_base(const struct task *t);
/* Ports of the present task changed. */
void processor_set_ports(struct task *t);
/* Saves the FPU's registers in the present task's own area; loads them from there. */
void processor_fpu_save(struct task *t);
void processor_fpu_load(const struct task *t);
/* As a program finds them at its start. */
void processor_fpu_fresh(struct task *t);
/* Until an interrupt comes. */
void processor_idle(void);

#endif
