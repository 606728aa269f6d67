/* switches.h: decisions of a kernel's design that can be made the other way, each for a claim of the literature. All
 * are off unless the structure's name says so (`micro+with=by-queue`, tools/structures.py). */
#ifndef TRIO_SWITCHES_H
#define TRIO_SWITCHES_H

/* fork-copies: a child has copies of all pages that may be written, at once; else they are shared until somebody
 * writes. "MINIX 3 forks 182 times as slowly, for want of copy-on-write" (Miao 2011). */
#ifndef FORK_COPIES
#define FORK_COPIES 0
#endif

/* pages-at-once: what is mapped is there at once, as a program's segments are; else a page comes when it is touched.
 * MINIX 3.1 had no paging on demand. */
#ifndef PAGES_AT_ONCE
#define PAGES_AT_ONCE 0
#endif

/* files-uncached: fs asks the disk's driver for a file's bytes at each read, reads nothing ahead, and first writes what
 * is not written yet. Else it caches them, as it always caches what describes files. "Each read crosses from
 * file server to driver and back" (Chorus, XNU). */
#ifndef FILES_UNCACHED
#define FILES_UNCACHED 0
#endif

/* by-queue: a message makes its receiver ready, and the scheduler runs it; else the sender switches to it. Void in
 * mono. "Direct process switch" (Liedtke 1993: Improving IPC by kernel design). */
#ifndef BY_QUEUE
#define BY_QUEUE 0
#endif

/* in-memory: the words of a message are copied from memory to memory; else short ones go in registers. Void in mono.
 * "Short messages in registers" (Liedtke 1993). */
#ifndef IN_MEMORY
#define IN_MEMORY 0
#endif

/* by-mapping: a page of a program's is mapped into the server that copies from or to it, and taken away again; else the
 * kernel copies. Void where no server is a process. "Map, grant and flush" (Liedtke 1995: On micro-kernel
 * construction). */
#ifndef BY_MAPPING
#define BY_MAPPING 0
#endif

/* decoded-by-services: the kernel passes a system call's registers on as they are to the service that has it, which
 * asks for grants of what they point to; else the kernel makes the service's arguments of them, with grants. Not of a
 * call with an iovec, a time, conditions or more than two pointers. Void in mono. An emulation library or server beside
 * the kernel (Mach, L4Linux). */
#ifndef DECODED_BY_SERVICES
#define DECODED_BY_SERVICES 0
#endif

/* scattered: a process's text, data and stack are each where they happen to be, in pages of 4 KiB that a switch of
 * address spaces drops from the TLB; else all spaces have its text, and its data and stack are in one page of 2 MiB.
 * Only tools/domains.py reads it. "Small working sets" (Liedtke 1996: Toward real microkernels). */
#ifndef SCATTERED
#define SCATTERED 0
#endif

/* heartbeats: rs asks each process twice a second whether it is alive, and ends one that has not answered by the next
 * time; else only the clock's ticks show that one does not return. MINIX 3's reincarnation server (Herder 2006). */
#ifndef HEARTBEATS
#define HEARTBEATS 0
#endif

/* checksums: /dev/ram0 is behind the service checksum, as /dev/checked is; else vfs and fs call its driver. A filter
 * that finds a driver's wrong answers costs up to 28 % (Herder 2009: Dealing with driver failures in the storage
 * stack). */
#ifndef CHECKSUMS
#define CHECKSUMS 0
#endif

/* parking-counted: no decision but a count of what handlers in the kernel do twice, since they begin anew once they are
 * unparked. A kernel whose calls sleep where they are would not do it twice. */
#ifndef PARKING_COUNTED
#define PARKING_COUNTED 0
#endif

#endif
