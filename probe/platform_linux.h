/* platform_linux.h: Linux, with glibc, musl or another C library. Included before any system header. */
#ifndef KM_PLATFORM_LINUX_H
#define KM_PLATFORM_LINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#define KM_PLATFORM "linux"
#define KM_LINUX 1
#define KM_POSIX 1
#include <features.h>
#if !defined(HAVE_POSIX_MQ) && !(__GLIBC__ == 2 && __GLIBC_MINOR__ < 34)
#define HAVE_POSIX_MQ 1 /* not in librt, which a bare `cc probe.c` does not link */
#endif
#if !defined(HAVE_MALLOPT) && defined(__GLIBC__)
#define HAVE_MALLOPT 1
#endif
/* A C library may lack the kernel's headers; glibc has <sys/auxv.h> from 2.16 on. */
#ifdef __has_include
#if !defined(HAVE_AUXV) && __has_include(<sys/auxv.h>)
#define HAVE_AUXV 1
#endif
#if !defined(HAVE_FRAME_BUFFER) && __has_include(<linux/fb.h>)
#define HAVE_FRAME_BUFFER 1
#endif
#if !defined(HAVE_PERF_EVENT) && __has_include(<linux/perf_event.h>)
#define HAVE_PERF_EVENT 1
#endif
#elif !defined(HAVE_AUXV) && (__GLIBC__ > 2 || __GLIBC__ == 2 && __GLIBC_MINOR__ >= 16)
#define HAVE_AUXV 1
#endif

#endif
