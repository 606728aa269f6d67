/* platform_sys.h: calls that enter the kernel past libc: past its caches (getpid), its fast paths (gettimeofday) and
 * its cancellation points (read, write). Without syscall(2), libc's own function replaces those calls that no libc
 * answers itself; for the others HAVE_SYS_X tells that there is no way. Included by platform.h. */
#ifndef KM_PLATFORM_SYS_H
#define KM_PLATFORM_SYS_H

#if HAVE_SYSCALL
#define km_sys_getppid() ((long)syscall(SYS_getppid))
#define km_sys_getpgid() ((long)syscall(SYS_getpgid, 0))
#define km_sys_getpid() ((long)syscall(SYS_getpid))
#define km_sys_read(fd, to, n) ((long)syscall(SYS_read, fd, to, n))
#define km_sys_write(fd, from, n) ((long)syscall(SYS_write, fd, from, n))
#else
#define km_sys_getppid() ((long)getppid())
#define km_sys_getpgid() ((long)getpgrp()) /* the one that MINIX 3 has */
#define km_sys_getpid() ((long)getpid())   /* some libcs cache it */
#define km_sys_read(fd, to, n) ((long)read(fd, to, n))
#define km_sys_write(fd, from, n) ((long)write(fd, from, n))
#endif

/* Not on 32-bit systems whose time_t outgrew the call (which may still have a number: Debian 13's Arm), nor on NetBSD,
 * which renamed it. */
#if HAVE_SYSCALL && defined(SYS_gettimeofday)
#define HAVE_SYS_GETTIMEOFDAY (sizeof(time_t) <= sizeof(long))
#define km_sys_gettimeofday(to) ((int)syscall(SYS_gettimeofday, to, NULL))
#else
#define HAVE_SYS_GETTIMEOFDAY 0
#define km_sys_gettimeofday(to) ((void)(to), -1)
#endif

#endif
