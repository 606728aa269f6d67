/* platform_minix34.h: MINIX 3.4 as found: what links there, not what its headers declare (semaphore.h, mqueue.h, aio.h,
 * sched.h and sys/msg.h declare functions that do not exist). Included before any system header.
 *
 * With KM_MINIX34 another system stands in for it in tests: the same capabilities, one CPU, clocks of 1/60 s, and a
 * shared anonymous mapping that succeeds but is not shared. */
#ifndef KM_PLATFORM_MINIX34_H
#define KM_PLATFORM_MINIX34_H

#define _FILE_OFFSET_BITS 64
#if defined(__minix)
#define _NETBSD_SOURCE 1
#define KM_PLATFORM "minix"
#else
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* vfork, MAP_ANONYMOUS */
#define KM_PLATFORM "minix 3.4, played"
#define KM_ONLINE_CPUS 1
#define KM_CLOCK_TICKS_PER_S 60         /* the unit of every clock of the system */
#define KM_SHARED_ANONYMOUS MAP_PRIVATE /* what such a mapping really is */
#endif

#define KM_LINUX 0

#define HAVE_AFFINITY 0
#define HAVE_AUXV 0
#define HAVE_CLOCK_GETTIME 1
#define HAVE_CLOCK_RAW 0 /* it has only CLOCK_REALTIME and CLOCK_MONOTONIC */
#define HAVE_CPUSET 0
#define HAVE_EPOLL 0
#define HAVE_EVENTFD 0
#define HAVE_FADVISE 0
#define HAVE_FRAME_BUFFER 0
#define HAVE_FUTEX 0
#define HAVE_GETRUSAGE 1
#define HAVE_INET_SOCKETS 1
#define HAVE_MALLOPT 0
#define HAVE_MINCORE 0
#define HAVE_MMAP 1
#define HAVE_MPROTECT 0 /* declared, but does not link */
#define HAVE_MQ_FORK 0
#define HAVE_NOHUGEPAGE 0
#define HAVE_PDEATHSIG 0
#define HAVE_PERF_EVENT 0
#define HAVE_POLL 1
#define HAVE_POSIX_MQ 0
#define HAVE_POSIX_SPAWN 1
#define HAVE_PROC 0 /* its /proc has other files than Linux's */
#define HAVE_PTHREAD 0
#define HAVE_SBRK 0
#define HAVE_SCHED_YIELD 0
#define HAVE_SENDFILE 0
#define HAVE_SETITIMER 1
#define HAVE_SETPGID 1
#ifndef HAVE_SHARED_MAP   /* overridable, to test that a workload notices */
#define HAVE_SHARED_MAP 0 /* MAP_SHARED | MAP_ANON succeeds but is not shared after fork */
#endif
#define HAVE_STATFS_MAGIC 0
#define HAVE_STATVFS 1
#if defined(__minix)
#define HAVE_STATVFS_NAME 1
#else
#define HAVE_STATVFS_NAME 0
#endif
#define HAVE_SYNCFS 0
#define HAVE_SYSCALL 0
#define HAVE_SYSV_MSG 0
#define HAVE_UNIX_SOCKETS 1 /* if their server is started; otherwise the row is unsupported */
#define HAVE_VFORK 1

#endif
