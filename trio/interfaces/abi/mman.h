/* mman.h: Linux's numbers of mmap and its like, and of futexes. */
#ifndef TRIO_ABI_MMAN_H
#define TRIO_ABI_MMAN_H

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define PROT_ALL 7

#define MAP_SHARED 0x1
#define MAP_PRIVATE 0x2
#define MAP_SHARED_VALIDATE 0x3
#define MAP_TYPE 0xf
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_32BIT 0x40
#define MAP_GROWSDOWN 0x100
#define MAP_DENYWRITE 0x800
#define MAP_EXECUTABLE 0x1000
#define MAP_LOCKED 0x2000
#define MAP_NORESERVE 0x4000
#define MAP_POPULATE 0x8000
#define MAP_NONBLOCK 0x10000
#define MAP_STACK 0x20000
#define MAP_HUGETLB 0x40000
#define MAP_SYNC 0x80000
#define MAP_FIXED_NOREPLACE 0x100000
/* The flags that MAP_SHARED_VALIDATE accepts for a file: those that are older than it, and sizes of huge pages. */
#define MAP_VALID 0xfc07f973U

#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED 2

#define MADV_NORMAL 0
#define MADV_RANDOM 1
#define MADV_SEQUENTIAL 2
#define MADV_WILLNEED 3
#define MADV_DONTNEED 4
#define MADV_FREE 8
#define MADV_DONTFORK 10
#define MADV_DOFORK 11
#define MADV_HUGEPAGE 14
#define MADV_NOHUGEPAGE 15
#define MADV_DONTDUMP 16
#define MADV_DODUMP 17
#define MADV_COLD 20
#define MADV_PAGEOUT 21

#define MS_ASYNC 1
#define MS_INVALIDATE 2
#define MS_SYNC 4

#define MCL_CURRENT 1
#define MCL_FUTURE 2
#define MCL_ONFAULT 4
#define MLOCK_ONFAULT 1UL

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAKE_BITSET 10
#define FUTEX_PRIVATE_FLAG 128U
#define FUTEX_CLOCK_REALTIME 256U
#define FUTEX_BITSET_ALL 0xffffffffu
#define FUTEX_IS(operation, command) (((uint32_t)(operation) & ~FUTEX_PRIVATE_FLAG) == (command))
#define FUTEX_IS_OWN(operation) (((uint32_t)(operation) & FUTEX_PRIVATE_FLAG) != 0)

#endif
