/* route_pm.h: the process service's routes are in three files; their table is in route_pm.c. */
#ifndef TRIO_ROUTE_PM_H
#define TRIO_ROUTE_PM_H

#include "abi/abi.h"
#include "pm_client.h"

typedef int64_t route_function(struct task *t, const uint64_t *a);

/* route_programs.c */
route_function run_execve, run_execveat, run_wait4, run_waitid;
/* route_signals.c */
route_function run_rt_sigprocmask, run_rt_sigreturn, run_pause, run_rt_sigpending, run_rt_sigtimedwait,
	run_rt_sigqueueinfo, run_rt_tgsigqueueinfo, run_rt_sigsuspend, run_sigaltstack, run_alarm, run_getitimer,
	run_setitimer;

#endif
