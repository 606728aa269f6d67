/* platform_common.h: what a system has unless its own header or the command line (-DHAVE_X=0) differs: most of POSIX,
 * and, where KM_LINUX is 1, what Linux alone has. The headers for KM_BARE and KM_MINIX34 set everything themselves. */
#ifndef KM_PLATFORM_COMMON_H
#define KM_PLATFORM_COMMON_H

#ifndef HAVE_AFFINITY
#define HAVE_AFFINITY KM_LINUX /* no two systems agree on it; the probe has Linux's */
#endif
#ifndef HAVE_AUXV
#define HAVE_AUXV 0 /* getauxval */
#endif
#ifndef HAVE_CLOCK_GETTIME
#define HAVE_CLOCK_GETTIME 1
#endif
#ifndef HAVE_CLOCK_RAW
#define HAVE_CLOCK_RAW 1 /* CLOCK_MONOTONIC_RAW, where the headers know it */
#endif
#ifndef HAVE_EVENTFD
#define HAVE_EVENTFD KM_LINUX
#endif
#ifndef HAVE_FADVISE
#define HAVE_FADVISE KM_LINUX
#endif
#ifndef HAVE_FRAME_BUFFER
#define HAVE_FRAME_BUFFER 0 /* /dev/fb0 */
#endif
#ifndef HAVE_FUTEX
#define HAVE_FUTEX KM_LINUX
#endif
#ifndef HAVE_GETRUSAGE
#define HAVE_GETRUSAGE 1
#endif
#ifndef HAVE_INET_SOCKETS
#define HAVE_INET_SOCKETS 1
#endif
#ifndef HAVE_MALLOPT
#define HAVE_MALLOPT 0
#endif
#ifndef HAVE_MINCORE
#define HAVE_MINCORE KM_LINUX
#endif
#ifndef HAVE_MMAP
#define HAVE_MMAP 1
#endif
#ifndef HAVE_MPROTECT
#define HAVE_MPROTECT 1
#endif
#ifndef HAVE_NOHUGEPAGE
#define HAVE_NOHUGEPAGE KM_LINUX /* madvise: MADV_NOHUGEPAGE, MADV_HUGEPAGE */
#endif
#ifndef HAVE_PDEATHSIG
#define HAVE_PDEATHSIG KM_LINUX
#endif
#ifndef HAVE_PERF_EVENT
#define HAVE_PERF_EVENT 0
#endif
#ifndef HAVE_POLL
#define HAVE_POLL 1
#endif
#ifndef HAVE_POSIX_MQ
#define HAVE_POSIX_MQ 0
#endif
#ifndef HAVE_POSIX_SPAWN
#define HAVE_POSIX_SPAWN 1
#endif
#ifndef HAVE_PROC
#define HAVE_PROC KM_LINUX /* Linux's /proc: stat, self/io, self/schedstat, cpuinfo */
#endif
#ifndef HAVE_PTHREAD
#define HAVE_PTHREAD 1
#endif
#ifndef HAVE_SBRK
#define HAVE_SBRK KM_LINUX
#endif
#ifndef HAVE_SCHED_YIELD
#define HAVE_SCHED_YIELD 1
#endif
#ifndef HAVE_SETITIMER
#define HAVE_SETITIMER 1
#endif
#ifndef HAVE_SETPGID
#define HAVE_SETPGID 1
#endif
#ifndef HAVE_SHARED_MAP
#define HAVE_SHARED_MAP 1 /* MAP_SHARED | MAP_ANONYMOUS stays shared after fork */
#endif
#ifndef HAVE_STATFS_MAGIC
#define HAVE_STATFS_MAGIC KM_LINUX /* statfs tells the file system by a number */
#endif
#ifndef HAVE_STATVFS
#define HAVE_STATVFS 1
#endif
#ifndef HAVE_STATVFS_NAME
#define HAVE_STATVFS_NAME 0 /* statvfs tells the file system by name */
#endif
#ifndef HAVE_SYNCFS
#define HAVE_SYNCFS KM_LINUX
#endif
#ifndef HAVE_SYSCALL
#define HAVE_SYSCALL KM_LINUX
#endif
#ifndef HAVE_SYSV_MSG
#define HAVE_SYSV_MSG 1
#endif
#ifndef HAVE_UNIX_SOCKETS
#define HAVE_UNIX_SOCKETS 1
#endif
#ifndef HAVE_VFORK
#define HAVE_VFORK 1
#endif

#endif
