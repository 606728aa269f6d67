/* semaphore.h: Linux's numbers and structures for System V semaphores, as on x86-64. */
#ifndef TRIO_ABI_SEMAPHORE_H
#define TRIO_ABI_SEMAPHORE_H

#include <stdint.h>

#define IPC_PRIVATE 0
#define IPC_CREAT 01000U
#define IPC_EXCL 02000U
#define IPC_NOWAIT 04000
#define SEM_UNDO 0x1000

/* semctl's commands. */
#define IPC_RMID 0U
#define IPC_SET 1U
#define IPC_STAT 2U
#define IPC_INFO 3U
#define GETPID 11U
#define GETVAL 12U
#define GETALL 13U
#define GETNCNT 14U
#define GETZCNT 15U
#define SETVAL 16U
#define SETALL 17U
#define SEM_STAT 18U
#define SEM_INFO 19U
#define SEM_STAT_ANY 20U

/* Limits: sets, semaphores of a set and in all, operations of a call, the greatest value and the greatest
 * adjustment. */
#define SEMMNI 32000U
#define SEMMSL 32000U
#define SEMMNS (SEMMNI * SEMMSL)
#define SEMOPM 500U
#define SEMVMX 32767
#define SEMAEM 32767

struct linux_sembuf {
	uint16_t number;
	int16_t operation, flags;
};

struct linux_ipc_perm {
	int32_t key;
	uint32_t uid, gid, cuid, cgid, mode;
	uint16_t sequence, pad;
	uint32_t pad_2;
	uint64_t unused[2];
};

struct linux_semid_ds {
	struct linux_ipc_perm perm;
	int64_t operated;
	uint64_t unused;
	int64_t changed;
	uint64_t unused_2, count, unused_3[2];
};

struct linux_seminfo {
	int32_t map, sets, semaphores, undos, of_a_set, operations, undos_of_a_process, undo_bytes, greatest,
		adjustment;
};

#endif
