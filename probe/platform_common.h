/* platform_common.h: what a system has unless its own header or the command line (-DHAVE_X=0) differs: where KM_POSIX
 * is 1, most of POSIX; where KM_LINUX is 1, what Linux alone has. The header for KM_MINIX34 sets everything itself. A
 * test checks that each default is KM_POSIX, KM_LINUX or 0, so that a build with KM_BARE has none. */
#ifndef KM_PLATFORM_COMMON_H
#define KM_PLATFORM_COMMON_H

#ifndef HAVE_AFFINITY
#define HAVE_AFFINITY KM_LINUX /* no two systems agree on it; the probe has Linux's and FreeBSD's */
#endif
#ifndef HAVE_AUXV
#define HAVE_AUXV 0 /* getauxval */
#endif
#ifndef HAVE_CLOCK_GETTIME
#define HAVE_CLOCK_GETTIME KM_POSIX
#endif
#ifndef HAVE_CLOCK_RAW
#define HAVE_CLOCK_RAW KM_POSIX /* CLOCK_MONOTONIC_RAW, where the headers know it */
#endif
#ifndef HAVE_CPUSET
#define HAVE_CPUSET 0 /* affinity is by cpuset_setaffinity, as on FreeBSD */
#endif
#ifndef HAVE_EPOLL
#define HAVE_EPOLL KM_LINUX
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
#define HAVE_GETRUSAGE KM_POSIX
#endif
#ifndef HAVE_INET_SOCKETS
#define HAVE_INET_SOCKETS KM_POSIX
#endif
#ifndef HAVE_MALLOPT
#define HAVE_MALLOPT 0
#endif
#ifndef HAVE_MINCORE
#define HAVE_MINCORE KM_LINUX
#endif
#ifndef HAVE_MMAP
#define HAVE_MMAP KM_POSIX
#endif
#ifndef HAVE_MPROTECT
#define HAVE_MPROTECT KM_POSIX
#endif
#ifndef HAVE_MQ_FORK
#define HAVE_MQ_FORK KM_POSIX /* a child has its parent's POSIX message queues */
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
#define HAVE_POLL KM_POSIX
#endif
#ifndef HAVE_POSIX_MQ
#define HAVE_POSIX_MQ 0
#endif
#ifndef HAVE_POSIX_SPAWN
#define HAVE_POSIX_SPAWN KM_POSIX
#endif
#ifndef HAVE_PROC
#define HAVE_PROC KM_LINUX /* Linux's /proc: stat, self/io, self/schedstat, cpuinfo */
#endif
#ifndef HAVE_PTHREAD
#define HAVE_PTHREAD KM_POSIX
#endif
#ifndef HAVE_SBRK
#define HAVE_SBRK KM_LINUX
#endif
#ifndef HAVE_SCHED_YIELD
#define HAVE_SCHED_YIELD KM_POSIX
#endif
#ifndef HAVE_SENDFILE
#define HAVE_SENDFILE KM_LINUX /* others have it with other arguments */
#endif
#ifndef HAVE_SETITIMER
#define HAVE_SETITIMER KM_POSIX
#endif
#ifndef HAVE_SETPGID
#define HAVE_SETPGID KM_POSIX
#endif
#ifndef HAVE_SHARED_MAP
#define HAVE_SHARED_MAP KM_POSIX /* MAP_SHARED | MAP_ANONYMOUS stays shared after fork */
#endif
#ifndef HAVE_STATFS_MAGIC
#define HAVE_STATFS_MAGIC KM_LINUX /* statfs tells the file system by a number */
#endif
#ifndef HAVE_STATVFS
#define HAVE_STATVFS KM_POSIX
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
#define HAVE_SYSV_MSG KM_POSIX
#endif
#ifndef HAVE_UNIX_SOCKETS
#define HAVE_UNIX_SOCKETS KM_POSIX
#endif
#ifndef HAVE_VFORK
#define HAVE_VFORK KM_POSIX
#endif

#endif
