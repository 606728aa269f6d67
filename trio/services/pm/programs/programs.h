/* programs.h: how a process comes to execute a program. */
#ifndef TRIO_PM_PROGRAMS_H
#define TRIO_PM_PROGRAMS_H

#include "pm_internal.h"

/* The first process does; the program must not be on a disk. 0 or a negative errno. */
int64_t execute_first(struct thread *t, const char *path);
/* The thread ends in the midst of an execve. */
void image_drop(struct thread *t);

#endif
