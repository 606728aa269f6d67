/* vfs_internal.h: what all parts of the file service share beside nodes and files (node.h): its state, its data for
 * each task, mounts. What one part offers the others is in its directory's header.
 *
 * A handler runs to completion. Operations that may have to wait get the request and return a verdict (they park it and
 * return). The handler then runs again from its start, so a run may not leave changes that the next one would repeat,
 * unless r->done and r->scratch note them. Operations below a file system return -EWAIT instead; their callers pass
 * every result to answer_or_wait(), which parks the request until the disk has answered. */
#ifndef TRIO_VFS_INTERNAL_H
#define TRIO_VFS_INTERNAL_H

#include "abi/machine.h"
#include "node.h"
#include "vfs_serve.h"

/* Descriptors ------------------------------------------------------------------------------------------------------ */

#define DESCRIPTORS_MOST 4096

/* Shared by threads. `size` is 64, 512 or DESCRIPTORS_MOST. No descriptor below `lowest` is free; `used` are in use. */
struct descriptors {
	struct file **files;
	uint32_t size, lowest, references, used;
	uint64_t close_on_exec[DESCRIPTORS_MOST / 64];
};

/* Root, working directory and umask; shared with CLONE_FS. */
struct directories {
	struct node *root, *current;
	uint32_t umask, references;
};

#define GROUPS_MOST 32

/* A program's arguments, each with its NUL, for /proc/PID/cmdline. Tasks made by fork share it. */
struct command {
	uint32_t references, length;
	char text[];
};

#define VFS_TASK TASKS

/* What vfs knows of each task, by number. Without a task `descriptors` is NULL; then `process` is the number of a
 * zombie or 0. */
struct task_files {
	/* Kept for a zombie: the effective user and group, the name, the counts of reads and writes, with those of
	 * children that were waited for. */
	uint32_t user, group;
	char name[16];
	uint64_t reads, writes;
	/* The numbers that programs see; the first thread has its process's number. */
	uint32_t thread, process, process_group, session, parent;
	int8_t nice;
	char state;
	uint16_t group_count;
	struct descriptors *descriptors;
	struct directories *directories;
	/* access(2) uses these. */
	uint32_t real_user, real_group;
	uint32_t groups[GROUPS_MOST];
	/* RLIMIT_NOFILE, at most DESCRIPTORS_MOST; RLIMIT_FSIZE. */
	uint32_t files_most;
	uint64_t size_most;
	/* The program that it executes, held; NULL: none. */
	struct node *program;
	/* Its arguments; NULL: not known. */
	struct command *command;
	/* The fifo (held) that it waits to open, or waited to open when a signal came; see fifo_waited(). */
	struct node *opening;
};

/* Mounts and types of file systems --------------------------------------------------------------------------------- */

struct file_system {
	const char *name;
	/* Makes the mount's root, held for the mount; `source` and `options` are mount(2)'s. Returns 0 or -errno. */
	int64_t (*mount)(struct mount *m, const char *source, const char *options);
	/* Returns -EBUSY if anything but the root is held. */
	int64_t (*unmount)(struct mount *m);
	/* Fills in all except `flags` and the fields that follow from others. */
	void (*numbers)(struct mount *m, struct linux_statfs *to);
	int64_t (*sync)(struct mount *m);
};

#define MOUNTS 32

struct mount {
	const struct file_system *type;
	/* `users` counts open files and bound sockets on it. `flags` has MS_ bits. stat and statx report `device`. */
	struct node *root, *covers;
	uint32_t users, flags, device;
	/* Belongs to the file system. */
	void *state;
	char source[64];
};

extern const struct file_system tmpfs, device_file_system, empty_file_system, disk_file_system, proc_file_system;

/* The state -------------------------------------------------------------------------------------------------------- */

/* Wakes those who wait for a change: requests in the queue, and pollers, by a bit for each task's number modulo 64. A
 * stale bit makes a poller look once in vain; in return, a poll that a signal ends leaves nothing to clean up.
 * `changes` is counted for EPOLLET. */
struct watch {
	struct queue waiters;
	uint64_t tasks, changes;
};

struct vfs {
	/* The last one is vfs itself, as root of everything: VFS_TASK. */
	struct task_files tasks[TASKS + 1];
	struct mount mounts[MOUNTS];
	/* The topmost root; NULL before begin(). */
	struct node *root;
	/* Requests that wait for a disk, by thing (fs.waited); for a disk's special file; for a lock. */
	struct queue disk_waiters[FS_THINGS], block_waiters, lock_waiters;
	/* For polling/poll.h: requests in poll, select and epoll_wait, by task number modulo 64; the bit that watch()
	 * notes; the number of this poll; how many watches a file's poll named and the sum of their changes. `any` is
	 * for files without a watch. */
	struct queue pollers[64];
	uint64_t polling, polls, watches, changes;
	struct watch any;
	/* The time from 1970 to the machine's start. */
	int64_t epoch;
	uint32_t files;
	/* The task of the present or last walk, for /proc/self. */
	uint32_t walker;
	struct linux_utsname names;
	/* /proc/sys/kernel/random/boot_id. */
	uint8_t boot_id[16];
	/* Used by the running handler: the path of the walk, a link's target, a page for any use, and the names of two
	 * places, of which `newest` is the last one found. */
	char path[PATH_MAX], target[PATH_MAX], page[PAGE], places[2][NAME_MAX];
	uint32_t newest;
	/* Programs that are being loaded, by program_open's handle; held. */
	struct node *programs[TASKS];
	uint64_t next_inode;
};
extern struct vfs vfs;

/* The time in nanoseconds since 1970. */
static inline int64_t vfs_time(void)
{
	return vfs.epoch + (int64_t)now();
}

/* Called when a file was read, mapped or listed. Updates the time once after each change, like Linux's "relatime". */
static inline void node_accessed(struct node *n, uint32_t flags)
{
	if (n->accessed <= n->changed && (flags & O_NOATIME) == 0 && (n->mount->flags & (MS_NOATIME | MS_RDONLY)) == 0)
		n->accessed = vfs_time();
}

/* Counts in scratch[2] how often in a row a request was told to go on, and nothing was done. Returns 0 as long as it
 * may wait, also for the next process of a driver that is stuck, or -EIO. */
int64_t may_wait_for(struct request *r, uint32_t endpoint);

/* disk/pages.c: parks a request for which fs has just returned -EWAIT until the awaited thing has come. */
verdict disk_park(struct request *r);
void disk_notified(void);

/* Answers a request, or parks it until the disk has answered if `result` is -EWAIT. */
static inline verdict answer_or_wait(struct request *r, int64_t result)
{
	return result == -EWAIT ? disk_park(r) : answer(r, result);
}

/* TRY_ANSWER() of a call that may have to wait for the disk. */
#define TRY_OR_WAIT(r, call)                                \
	do {                                                \
		int64_t tried_ = (call);                    \
                                                            \
		if (tried_ < 0)                             \
			return answer_or_wait((r), tried_); \
	} while (0)

#endif
