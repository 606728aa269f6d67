/* cpuset.h: FreeBSD's <sys/cpuset.h>, played on Linux: as much of it as the probe takes. REFUSED: its errno, or 0. */
#ifndef STRANGE_CPUSET_H
#define STRANGE_CPUSET_H

#include <errno.h>
#include <sched.h>

typedef cpu_set_t cpuset_t;
enum { CPU_LEVEL_WHICH = 3, CPU_WHICH_TID = 1 };

static inline int cpuset_getaffinity(int level, int which, int id, size_t n, cpuset_t *set)
{
	return level == CPU_LEVEL_WHICH && which == CPU_WHICH_TID && id == -1 ? sched_getaffinity(0, n, set) : -1;
}

static inline int cpuset_setaffinity(int level, int which, int id, size_t n, const cpuset_t *set)
{
	errno = REFUSED;
	if (REFUSED)
		return -1;
	return level == CPU_LEVEL_WHICH && which == CPU_WHICH_TID && id == -1 ? sched_setaffinity(0, n, set) : -1;
}

#endif
