/* platform.h: what this platform has. The only place for #ifdef, together with platform_*.h (one file a family).
 *
 * Each feature is HAVE_X, 0 or 1, set here by the system's name; the command line overrides it (-DHAVE_X=0). With
 * -DKM_BARE all of them are 0, with -DKM_MINIX34 they are as on MINIX 3.4. A missing feature makes its workloads
 * unsupported, with the reason; a stub never returns success. */
#ifndef KM_PLATFORM_H
#define KM_PLATFORM_H

#if defined(KM_BARE)
#include "platform_bare.h"
#elif defined(KM_MINIX34) || defined(__minix)
#include "platform_minix34.h"
#elif defined(__linux__)
#include "platform_linux.h"
#else
#include "platform_posix.h"
#endif
#include "platform_common.h" /* outside of #if: the one-file probe has a header's text where it is first included */

#include <sys/types.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if HAVE_MMAP
#include <sys/mman.h>
#endif
#ifndef KM_SHARED_ANONYMOUS /* MAP_PRIVATE where such a mapping succeeds but is not shared after fork */
#define KM_SHARED_ANONYMOUS MAP_SHARED
#endif
#ifndef KM_FUTEX_CALL /* 1 where libc has futex(2), and it needs no syscall(2) */
#define KM_FUTEX_CALL 0
#endif
#ifndef KM_SETTLE /* s, of idling before a guest is saved: until a kernel has done what it does after it has booted */
#define KM_SETTLE 0
#endif
#ifndef KM_TOUCH_CODE /* 1 where each page of a program faults when it is first executed: BSDs map few around it */
#define KM_TOUCH_CODE 0
#endif
#if HAVE_GETRUSAGE
#include <sys/resource.h>
#endif
#if HAVE_POSIX_SPAWN
#include <spawn.h>
#else
#define posix_spawn(pid, path, actions, attributes, argv, env) \
	((void)(pid), (void)(path), (void)(actions), (void)(attributes), (void)(argv), (void)(env), ENOSYS)
#endif
#if HAVE_PTHREAD
#include <pthread.h>
#else
struct km_no_thread {
	int none;
};
#define pthread_t struct km_no_thread
#define pthread_create(thread, attributes, body, state) \
	((void)(thread), (void)(attributes), (void)(body), (void)(state), ENOSYS)
#define pthread_join(thread, result) ((void)(thread), (void)(result), ENOSYS)
#define pthread_mutex_t struct km_no_thread
#define pthread_cond_t struct km_no_thread
#define pthread_mutex_init(mutex, attributes) ((void)(mutex), (void)(attributes), ENOSYS)
#define pthread_mutex_lock(mutex) ((void)(mutex), ENOSYS)
#define pthread_mutex_unlock(mutex) ((void)(mutex), ENOSYS)
#define pthread_cond_init(cond, attributes) ((void)(cond), (void)(attributes), ENOSYS)
#define pthread_cond_signal(cond) ((void)(cond), ENOSYS)
#define pthread_cond_wait(cond, mutex) ((void)(cond), (void)(mutex), ENOSYS)
#endif
#if !HAVE_VFORK
#define vfork() (errno = ENOSYS, (pid_t) - 1)
#endif
#if !HAVE_SETITIMER /* its types may be missing too */
struct km_no_timer {
	struct timeval it_interval, it_value;
};
#define itimerval km_no_timer
#undef ITIMER_REAL
#define ITIMER_REAL 0
#define setitimer(which, value, old) ((void)(which), (void)(value), (void)(old), errno = ENOSYS, -1)
#endif
/* Where it is unknown, fcntl marks a descriptor that must not be inherited, a moment later. */
#if !defined(O_CLOEXEC)
#define O_CLOEXEC 0
#endif
#if HAVE_CLOCK_RAW && !defined(CLOCK_MONOTONIC_RAW)
#undef HAVE_CLOCK_RAW
#define HAVE_CLOCK_RAW 0
#endif
/* A cycle counter that user mode may read: clock.c reads it. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
#define KM_CYCLES 1
#else
#define KM_CYCLES 0
#endif
#ifndef KM_PROC /* where they are: tests use their own */
#define KM_PROC "/proc"
#endif
#ifndef KM_SYS
#define KM_SYS "/sys"
#endif
#if HAVE_CPUSET
#include <sys/param.h>
#include <sys/cpuset.h>
#define KM_PIN_CALL "cpuset_setaffinity"
#else
#define KM_PIN_CALL "sched_setaffinity"
#endif
#if HAVE_AFFINITY && !HAVE_CPUSET
#include <sched.h>
#endif
#if defined(O_DIRECT) /* reads and writes a file past the kernel's cache; 0: no such flag here */
#define KM_O_DIRECT O_DIRECT
#else
#define KM_O_DIRECT 0
#endif
#if HAVE_SYSCALL
#include <sys/syscall.h>
#endif
#include "platform_sys.h"

/* What a workload may need. platform.c has the sentence that reports a missing one. */
enum {
	CAP_MMAP = 1 << 0,
	CAP_MPROTECT = 1 << 1,
	CAP_GETRUSAGE = 1 << 2,
	CAP_POSIX_SPAWN = 1 << 3,
	CAP_PTHREAD = 1 << 4,
	CAP_VFORK = 1 << 5,
	CAP_SYSCALL = 1 << 6, /* syscall(2): the kernel entered past libc's caches and fast paths */
	CAP_FADVISE = 1 << 7,
	CAP_AFFINITY = 1 << 8,
	CAP_SELF = 1 << 9, /* the program's own path, to execute itself */
	CAP_MSYNC = 1 << 10,
	CAP_CYCLES = 1 << 11, /* a cycle counter that user mode may read */
	CAP_SCHED_YIELD = 1 << 12,
	CAP_SETITIMER = 1 << 13,
	CAP_UNIX_SOCKETS = 1 << 14,
	CAP_INET_SOCKETS = 1 << 15,
	CAP_SYSV_MSG = 1 << 16,
	CAP_POSIX_MQ = 1 << 17,
	CAP_EVENTFD = 1 << 18,
	CAP_FUTEX = 1 << 19,
	CAP_SHARED_MAP = 1 << 20, /* memory that stays shared after fork */
	CAP_FRAME_BUFFER = 1 << 21,
	CAP_CLOCK_GETTIME = 1 << 22,
	CAP_CLOCK_RAW = 1 << 23,
	CAP_EPOLL = 1 << 24,
	CAP_SENDFILE = 1 << 25,
	CAP_STATVFS = 1 << 26
};

#if defined(__GNUC__) || defined(__clang__)
#define KM_NORETURN __attribute__((noreturn))
#define KM_PRINTF(string, first) __attribute__((__format__(__printf__, string, first)))
#if defined(__clang__)
#define KM_NOINLINE __attribute__((noinline))
#else /* also without copies for constant arguments */
#define KM_NOINLINE __attribute__((noinline, noclone))
#endif
#define KM_UNUSED __attribute__((unused))
#define KM_UNREACHABLE __builtin_unreachable()
#else
#define KM_NORETURN
#define KM_PRINTF(string, first)
#define KM_NOINLINE
#define KM_UNUSED
#define KM_UNREACHABLE ((void)0)
#endif

/* The widest words that the compiler may load at once (-mavx2 and the like): vectors of GCC and clang, or one word. */
#if defined(__AVX512F__)
#define KM_WIDE_BYTES 64
#elif defined(__AVX__)
#define KM_WIDE_BYTES 32
#elif defined(__SSE2__) || defined(__ARM_NEON)
#define KM_WIDE_BYTES 16
#elif ULONG_MAX > 0xffffffff
#define KM_WIDE_BYTES 8
#else
#define KM_WIDE_BYTES 4
#endif
#if KM_WIDE_BYTES > 8
typedef unsigned long km_wide __attribute__((vector_size(KM_WIDE_BYTES)));
#else
typedef unsigned long km_wide;
#endif

/* A function that the platform lacks: it fails with ENOSYS. */
#define KM_LACKS(type, name, parameters, failure) \
	type name parameters                      \
	{                                         \
		errno = ENOSYS;                   \
		return failure;                   \
	}

/* Makes the compiler compute `value` (an integer) here, and assume nothing about memory afterwards. */
#if defined(__GNUC__) || defined(__clang__)
#define KM_KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")
/* The same, and it may assume nothing about the variable afterwards: GCC 14 unrolls a loop that it can count. */
#define KM_UNKNOWN(variable) __asm__ volatile("" : "+r"(variable) : : "memory")
#else
extern volatile uintptr_t km_kept;
#define KM_KEEP(value) (km_kept = (uintptr_t)(value))
#define KM_UNKNOWN(variable) ((variable) = KM_KEEP(variable))
#endif
/* The same for a double. */
extern volatile double km_kept_double;
#define KM_KEEP_DOUBLE(value) (km_kept_double = (value))

/* platform_memory.c: mappings, the page cache, free space. What the platform does not have fails with ENOSYS. */
/* Fresh private memory, zero-filled at the first touch, in ordinary (never huge) pages where the system takes such a
 * request; NULL with errno. Without `writable` every write to it faults. */
void *km_map_fresh(size_t bytes, int writable);
/* Why huge pages are not available; or NULL, and the size of one. */
const char *km_huge_missing(size_t *page);
/* Fresh private memory for writing, at a huge page's start, in huge pages if any are free; NULL with errno. */
void *km_map_huge(size_t bytes, size_t page);
long km_huge_bytes(const void *at); /* of the mapping that begins there, in huge pages; -1: unknown */
/* The same as km_map_fresh for writing, in pages of the system's choice. */
void *km_map_plain(size_t bytes);
/* A file, shared, for reading; replaces what is mapped at `where`, or anywhere if that is NULL. NULL with errno. */
void *km_map_file(void *where, int fd, off_t offset, size_t bytes);
int km_unmap(void *, size_t bytes);                 /* 0, or -1 with errno */
int km_protect(void *, size_t bytes, int writable); /* for reading, and for writing too: 0, or -1 */
/* Moves the end of the heap there by Linux's brk: where it is now, NULL with errno. NULL moves nothing. */
void *km_break(void *to);
int km_cache_drop(int fd);                            /* asks the kernel to drop the file's cached pages: 0, or -1 */
long km_cache_resident(int fd, size_t bytes);         /* the file's pages in memory; -1: unknown */
int km_free_space(const char *path, uint64_t *bytes); /* of the file system, for this user: 0, or -1 with errno */
int km_file_limit(uint64_t *bytes);                   /* the largest file that this process may write: 0, or -1 */
int km_limit_memory(uint64_t bytes);                  /* this process's address space, from now on: 0, or -1 */
/* Limits how many processes this user may have: 0, or -1. A superuser, who has no limit, becomes nobody first. */
int km_limit_processes(uint64_t most);
long km_faults(void); /* of this process, with and without I/O; -1: unknown */
/* The file system's name, "" if unknown: figures of files depend on it. */
void km_file_system(const char *path, char *to, size_t n);
/* Is this on a file system of that kind ("ext4"; "minix": version 3)? 1, 0, or -1: unknown. */
int km_on_file_system(const char *path, const char *kind);
void km_sync(const char *path); /* its file system writes everything to the disk */
int km_fix_malloc(void);        /* fixes malloc's threshold for mmap at 128 KiB: 1 if it could */
void km_trim_malloc(void);      /* malloc returns free memory to the kernel, where it can */
int km_from_heap(void *);       /* whether malloc took this block from the brk heap; -1: unknown */

/* platform_fb.c: the first frame buffer, by Linux's interface; elsewhere ENOSYS. */
#define KM_FB "/dev/fb0"
struct km_fb {
	char driver[17]; /* its own name */
	unsigned width, height, bits;
	unsigned shift[3];   /* red, green, blue within a pixel */
	size_t pitch;        /* bytes from line to line */
	size_t start, bytes; /* where the visible part begins; all of its memory */
	const char *unusual; /* NULL: pixels of 32 bits, 8 for each colour, one after another; else how they differ */
};
int km_fb_info(int fd, struct km_fb *);                      /* two ioctls: 0, or -1 with errno */
void *km_fb_map(int fd, const struct km_fb *);               /* for reading and writing, shared; NULL with errno */
ssize_t km_fb_read(int fd, void *, size_t n, size_t offset); /* as pread and pwrite */
ssize_t km_fb_write(int fd, const void *, size_t n, size_t offset);

/* For tests: makes the probe slower by a known amount, to test that such a difference is found with the right size. So
 * many iterations of the empty loop are added to every iteration of a workload. The loop alone is timed beside it. */
#ifndef KM_HANDICAP
#define KM_HANDICAP 0
#endif

/* 0: reads nothing of what happened and what disturbed, to measure the cost of reading it. */
#ifndef KM_METER
#define KM_METER 1
#endif

/* 0: runs no empty loop between samples, to measure the loop's effect on them. */
#ifndef KM_BESIDE
#define KM_BESIDE 1
#endif

/* 0: checks nothing, to measure the cost of checking. The compiler takes every check as passed and omits it: a row that
 * fails with checks must not be run without them. */
#ifndef KM_VERIFY
#define KM_VERIFY 1
#endif

#endif
