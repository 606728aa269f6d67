/* process.h: Linux's numbers and structures for making, ending, waiting for and limiting processes, as on x86-64. */
#ifndef TRIO_ABI_PROCESS_H
#define TRIO_ABI_PROCESS_H

#include "abi/time.h"

/* clone: the low byte is the signal that the child sends at its end. */
#define CSIGNAL 0x000000ffUL
#define CLONE_VM 0x00000100UL
#define CLONE_FS 0x00000200UL
#define CLONE_FILES 0x00000400UL
#define CLONE_SIGHAND 0x00000800UL
#define CLONE_PTRACE 0x00002000UL
#define CLONE_VFORK 0x00004000UL
#define CLONE_PARENT 0x00008000UL
#define CLONE_THREAD 0x00010000UL
#define CLONE_SYSVSEM 0x00040000UL
#define CLONE_SETTLS 0x00080000UL
#define CLONE_PARENT_SETTID 0x00100000UL
#define CLONE_CHILD_CLEARTID 0x00200000UL
#define CLONE_DETACHED 0x00400000UL
#define CLONE_UNTRACED 0x00800000UL
#define CLONE_CHILD_SETTID 0x01000000UL
#define CLONE_IO 0x80000000UL

#define WNOHANG 0x00000001
#define WUNTRACED 0x00000002
#define WEXITED 0x00000004
#define WCONTINUED 0x00000008
#define WNOWAIT 0x01000000
#define WNOTHREAD 0x20000000
#define WALL 0x40000000
#define WCLONE 0x80000000U

/* waitid's type. */
#define P_ALL 0
#define P_PID 1
#define P_PGID 2

/* Limits. */
#define RLIMIT_CPU 0
#define RLIMIT_FSIZE 1
#define RLIMIT_DATA 2
#define RLIMIT_STACK 3
#define RLIMIT_CORE 4
#define RLIMIT_NPROC 6
#define RLIMIT_NOFILE 7
#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS 9
#define RLIMIT_SIGPENDING 11
#define RLIMIT_MSGQUEUE 12
#define RLIMIT_NICE 13
#define RLIMIT_RTPRIO 14
#define RLIMITS 16
#define RLIM_INFINITY UINT64_MAX

#define RUSAGE_SELF 0
#define RUSAGE_CHILDREN (-1)
#define RUSAGE_THREAD 1

struct linux_rusage {
	struct linux_timeval user, system;
	/* KiB. */
	int64_t resident;
	int64_t unused_1[3];
	int64_t faults_minor, faults_major;
	int64_t unused_2[6];
	int64_t switches_voluntary, switches_involuntary;
};
_Static_assert(sizeof(struct linux_rusage) == 144, "rusage is Linux's");

#define ITIMER_REAL 0
#define ITIMER_VIRTUAL 1
#define ITIMER_PROF 2

#define PRIO_PROCESS 0
#define PRIO_PGRP 1
#define PRIO_USER 2

#define PR_SET_PDEATHSIG 1
#define PR_GET_PDEATHSIG 2
#define PR_GET_DUMPABLE 3
#define PR_SET_DUMPABLE 4
#define PR_SET_NAME 15
#define PR_GET_NAME 16
#define PR_SET_NO_NEW_PRIVS 38
#define PR_GET_NO_NEW_PRIVS 39

#define REBOOT_MAGIC 0xfee1deadU
#define REBOOT_MAGIC_2A 672274793U
#define REBOOT_MAGIC_2B 85072278U
#define REBOOT_MAGIC_2C 369367448U
#define REBOOT_MAGIC_2D 537993216U
#define REBOOT_RESTART 0x01234567U
#define REBOOT_HALT 0xcdef0123U
#define REBOOT_CAD_ON 0x89abcdefU
#define REBOOT_CAD_OFF 0U
#define REBOOT_POWER_OFF 0x4321fedcU

/* What a new program finds above its environment: pairs of a type and a value. */
#define AT_NULL 0
#define AT_PHDR 3
#define AT_PHENT 4
#define AT_PHNUM 5
#define AT_PAGESZ 6
#define AT_BASE 7
#define AT_FLAGS 8
#define AT_ENTRY 9
#define AT_UID 11
#define AT_EUID 12
#define AT_GID 13
#define AT_EGID 14
#define AT_HWCAP 16
#define AT_CLKTCK 17
#define AT_SECURE 23
#define AT_RANDOM 25
#define AT_HWCAP2 26
#define AT_EXECFN 31

/* Ticks a second, in times() and elsewhere. */
#define CLOCK_TICKS 100
#define NS_PER_TICK (1000000000UL / CLOCK_TICKS)

#endif
