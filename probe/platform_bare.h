/* platform_bare.h: KM_BARE, a build with every capability switched off: what remains on an old POSIX system such as
 * MINIX 3.1, and the start of a port, which switches on one after another (-DHAVE_X=1). It needs POSIX.1-1990, select,
 * gettimeofday and snprintf alone; docs/portability.md lists the functions. Included before any system header. */
#ifndef KM_PLATFORM_BARE_H
#define KM_PLATFORM_BARE_H

#define _XOPEN_SOURCE 600 /* and no _FILE_OFFSET_BITS: files are as large as off_t is by itself */
#define KM_PLATFORM "bare"
#define KM_LINUX 0
#define KM_POSIX 0

#endif
