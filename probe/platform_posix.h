/* platform_posix.h: any other POSIX system: what POSIX.1-2001 has, and what the system's name tells. */
#ifndef KM_PLATFORM_POSIX_H
#define KM_PLATFORM_POSIX_H

#define _FILE_OFFSET_BITS 64
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#define KM_PLATFORM "darwin"
#elif defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__) || defined(__DragonFly__)
#define KM_PLATFORM "bsd"
#elif defined(__GNU__)
#define _GNU_SOURCE
#define KM_PLATFORM "hurd"
#else
#define _XOPEN_SOURCE 700
#define KM_PLATFORM "posix"
#endif

#ifndef HAVE_CLOCK_GETTIME
#define HAVE_CLOCK_GETTIME 1
#endif
#ifndef HAVE_CLOCK_RAW
#define HAVE_CLOCK_RAW 1 /* CLOCK_MONOTONIC_RAW, where the headers know it */
#endif
#ifndef HAVE_MMAP
#define HAVE_MMAP 1
#endif
#ifndef HAVE_MPROTECT
#define HAVE_MPROTECT 1
#endif
#ifndef HAVE_GETRUSAGE
#define HAVE_GETRUSAGE 1
#endif
#ifndef HAVE_POSIX_SPAWN
#define HAVE_POSIX_SPAWN 1
#endif
#ifndef HAVE_PTHREAD
#define HAVE_PTHREAD 1
#endif
#ifndef HAVE_VFORK
#define HAVE_VFORK 1
#endif
#ifndef HAVE_SYSCALL
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__DragonFly__)
#define HAVE_SYSCALL 1
#else
#define HAVE_SYSCALL 0
#endif
#endif
#ifndef HAVE_FADVISE
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__GNU__)
#define HAVE_FADVISE 1
#else
#define HAVE_FADVISE 0
#endif
#endif
#ifndef HAVE_AFFINITY
#define HAVE_AFFINITY 0 /* no two systems agree on it; Linux's is the one that is written */
#endif
#ifndef HAVE_SCHED_YIELD
#define HAVE_SCHED_YIELD 1
#endif
#ifndef HAVE_SETPGID
#define HAVE_SETPGID 1
#endif
#ifndef HAVE_POLL
#define HAVE_POLL 1
#endif
#ifndef HAVE_SETITIMER
#define HAVE_SETITIMER 1
#endif
#ifndef HAVE_UNIX_SOCKETS
#define HAVE_UNIX_SOCKETS 1
#endif
#ifndef HAVE_INET_SOCKETS
#define HAVE_INET_SOCKETS 1
#endif
#ifndef HAVE_SYSV_MSG
#if defined(__OpenBSD__) || defined(__GNU__)
#define HAVE_SYSV_MSG 0
#else
#define HAVE_SYSV_MSG 1
#endif
#endif
#ifndef HAVE_POSIX_MQ
#if defined(__FreeBSD__) || defined(__NetBSD__)
#define HAVE_POSIX_MQ 1
#else
#define HAVE_POSIX_MQ 0
#endif
#endif
#ifndef HAVE_EVENTFD
#define HAVE_EVENTFD 0
#endif
#ifndef HAVE_AUXV
#define HAVE_AUXV 0
#endif
#ifndef HAVE_FUTEX
#define HAVE_FUTEX 0
#endif
#ifndef HAVE_SHARED_MAP
#define HAVE_SHARED_MAP 1
#endif
#ifndef HAVE_FRAME_BUFFER
#define HAVE_FRAME_BUFFER 0
#endif
#ifndef HAVE_PROC
#define HAVE_PROC 0
#endif
#ifndef HAVE_PDEATHSIG
#define HAVE_PDEATHSIG 0
#endif
#ifndef HAVE_PERF_EVENT
#define HAVE_PERF_EVENT 0
#endif
#ifndef HAVE_NOHUGEPAGE
#define HAVE_NOHUGEPAGE 0
#endif
#ifndef HAVE_MINCORE
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__APPLE__)
#define HAVE_MINCORE 1
#else
#define HAVE_MINCORE 0
#endif
#endif
#ifndef HAVE_STATVFS
#define HAVE_STATVFS 1
#endif
#ifndef HAVE_STATFS_MAGIC
#define HAVE_STATFS_MAGIC 0
#endif
#ifndef HAVE_SYNCFS
#define HAVE_SYNCFS 0
#endif
#ifndef HAVE_STATVFS_NAME /* statvfs tells the file system by name */
#if defined(__NetBSD__)
#define HAVE_STATVFS_NAME 1
#else
#define HAVE_STATVFS_NAME 0
#endif
#endif
#ifndef HAVE_SBRK
#define HAVE_SBRK 0
#endif
#ifndef HAVE_MALLOPT
#define HAVE_MALLOPT 0
#endif

#endif
