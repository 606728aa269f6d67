/* platform_posix.h: any other POSIX system: what POSIX.1-2001 has, and what the system's name implies. */
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

#define KM_LINUX 0
#define KM_POSIX 1
#if !defined(HAVE_SYSCALL) && (defined(__FreeBSD__) || defined(__NetBSD__) || defined(__DragonFly__))
#define HAVE_SYSCALL 1
#endif
#if !defined(HAVE_FADVISE) && (defined(__FreeBSD__) || defined(__NetBSD__) || defined(__GNU__))
#define HAVE_FADVISE 1
#endif
#if !defined(HAVE_SYSV_MSG) && defined(__GNU__)
#define HAVE_SYSV_MSG 0
#endif
#if !defined(HAVE_POSIX_MQ) && (defined(__FreeBSD__) || defined(__NetBSD__))
#define HAVE_POSIX_MQ 1
#endif
#if !defined(HAVE_MQ_FORK) && defined(__FreeBSD__)
#define HAVE_MQ_FORK 0
#endif
#if !defined(HAVE_AFFINITY) && defined(__FreeBSD__)
#define HAVE_AFFINITY 1
#define HAVE_CPUSET 1
#endif
#if !defined(HAVE_MINCORE) && (defined(__FreeBSD__) || defined(__NetBSD__) || defined(__APPLE__))
#define HAVE_MINCORE 1
#endif
#if !defined(HAVE_STATVFS_NAME) && defined(__NetBSD__)
#define HAVE_STATVFS_NAME 1
#endif
#if !defined(HAVE_FUTEX) && defined(__OpenBSD__)
#define HAVE_FUTEX 1
#define KM_FUTEX_CALL 1
#endif
#if !defined(KM_SETTLE) && defined(__OpenBSD__)
#define KM_SETTLE 5 /* a thread clears an eighth of the free memory, whenever a row's processes wait */
#endif
#if !defined(KM_TOUCH_CODE) && (defined(__OpenBSD__) || defined(__FreeBSD__))
#define KM_TOUCH_CODE 1
#endif
#if !defined(HAVE_VFORK) && defined(__APPLE__)
#define HAVE_VFORK 0 /* deprecated: the compiler warns */
#endif

#endif
