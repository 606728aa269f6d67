/* platform_bare.h: KM_BARE, a build with every capability switched off: what remains on an old POSIX system such as
 * MINIX 3.1, and the start of a port. It needs POSIX.1-1990, select, gettimeofday and snprintf alone;
 * docs/portability.md lists the functions. Included before any system header. */
#ifndef KM_PLATFORM_BARE_H
#define KM_PLATFORM_BARE_H

#define _XOPEN_SOURCE 600 /* and no _FILE_OFFSET_BITS: files are as large as off_t is by itself */
#define KM_PLATFORM "bare"

/* One a line, none conditional: a test compares this list with every HAVE_X in the probe's headers. */
#define HAVE_AFFINITY 0
#define HAVE_AUXV 0
#define HAVE_CLOCK_GETTIME 0
#define HAVE_CLOCK_RAW 0
#define HAVE_EVENTFD 0
#define HAVE_FADVISE 0
#define HAVE_FRAME_BUFFER 0
#define HAVE_FUTEX 0
#define HAVE_GETRUSAGE 0
#define HAVE_INET_SOCKETS 0
#define HAVE_MALLOPT 0
#define HAVE_MINCORE 0
#define HAVE_MMAP 0
#define HAVE_MPROTECT 0
#define HAVE_NOHUGEPAGE 0
#define HAVE_PDEATHSIG 0
#define HAVE_PERF_EVENT 0
#define HAVE_POLL 0
#define HAVE_POSIX_MQ 0
#define HAVE_POSIX_SPAWN 0
#define HAVE_PROC 0
#define HAVE_PTHREAD 0
#define HAVE_SBRK 0
#define HAVE_SCHED_YIELD 0
#define HAVE_SETITIMER 0
#define HAVE_SETPGID 0
#define HAVE_SHARED_MAP 0
#define HAVE_STATFS_MAGIC 0
#define HAVE_STATVFS 0
#define HAVE_STATVFS_NAME 0
#define HAVE_SYNCFS 0
#define HAVE_SYSCALL 0
#define HAVE_SYSV_MSG 0
#define HAVE_UNIX_SOCKETS 0
#define HAVE_VFORK 0

#endif
