/* platform_linux.h: Linux, with glibc, musl or another C library. Included before any system header. */
#ifndef KM_PLATFORM_LINUX_H
#define KM_PLATFORM_LINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#define KM_PLATFORM "linux"
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
#define HAVE_SYSCALL 1
#endif
#ifndef HAVE_FADVISE
#define HAVE_FADVISE 1
#endif
#ifndef HAVE_AFFINITY
#define HAVE_AFFINITY 1
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
#define HAVE_SYSV_MSG 1
#endif
#include <features.h>
#ifndef HAVE_POSIX_MQ
#define HAVE_POSIX_MQ 1
#if defined(__GLIBC__)
#if __GLIBC__ == 2 && __GLIBC_MINOR__ < 34 /* in librt then, with which a bare `cc probe.c` does not link */
#undef HAVE_POSIX_MQ
#define HAVE_POSIX_MQ 0
#endif
#endif
#endif
#ifndef HAVE_EVENTFD
#define HAVE_EVENTFD 1
#endif
#ifndef HAVE_AUXV /* getauxval: glibc from 2.16 on, musl */
#if defined(__GLIBC__)
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 16
#define HAVE_AUXV 1
#endif
#elif defined(__has_include)
#if __has_include(<sys/auxv.h>)
#define HAVE_AUXV 1
#endif
#endif
#endif
#ifndef HAVE_AUXV
#define HAVE_AUXV 0
#endif
#ifndef HAVE_FUTEX
#define HAVE_FUTEX 1
#endif
#ifndef HAVE_SHARED_MAP
#define HAVE_SHARED_MAP 1 /* MAP_SHARED | MAP_ANONYMOUS stays shared after fork */
#endif
#ifndef HAVE_FRAME_BUFFER /* /dev/fb0; its structures come with the kernel's headers */
#if defined(__has_include)
#if __has_include(<linux/fb.h>)
#define HAVE_FRAME_BUFFER 1
#endif
#endif
#endif
#ifndef HAVE_FRAME_BUFFER
#define HAVE_FRAME_BUFFER 0
#endif
#ifndef HAVE_PROC
#define HAVE_PROC 1 /* Linux's /proc: stat, self/io, self/schedstat, cpuinfo */
#endif
#ifndef HAVE_PDEATHSIG
#define HAVE_PDEATHSIG 1
#endif
#ifndef HAVE_PERF_EVENT /* its structure comes with the kernel's headers, which a C library may lack */
#if defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#define HAVE_PERF_EVENT 1
#endif
#endif
#endif
#ifndef HAVE_PERF_EVENT
#define HAVE_PERF_EVENT 0
#endif
#ifndef HAVE_NOHUGEPAGE
#define HAVE_NOHUGEPAGE 1 /* madvise: MADV_NOHUGEPAGE, MADV_HUGEPAGE */
#endif
#ifndef HAVE_MINCORE
#define HAVE_MINCORE 1
#endif
#ifndef HAVE_STATVFS
#define HAVE_STATVFS 1
#endif
#ifndef HAVE_STATFS_MAGIC
#define HAVE_STATFS_MAGIC 1 /* statfs tells the file system by a number */
#endif
#ifndef HAVE_SYNCFS
#define HAVE_SYNCFS 1
#endif
#ifndef HAVE_STATVFS_NAME
#define HAVE_STATVFS_NAME 0
#endif
#ifndef HAVE_SBRK
#define HAVE_SBRK 1
#endif
#ifndef HAVE_MALLOPT
#if defined(__GLIBC__)
#define HAVE_MALLOPT 1
#else
#define HAVE_MALLOPT 0
#endif
#endif

#endif
