/* vfs_internal.h: what all parts of the file service share beside nodes and files (node.h): its state, what it knows of
 * each task, mounts. What one part offers the others is in the header of its directory.
 *
 * A handler runs to completion. Operations that may have to wait get the request and return a verdict (park it and
 * return); the handler then runs again from its start, so nothing may have been changed that the second run would do
 * twice, or it is noted in r->done and r->scratch. Operations below a file system return -EWAIT instead: hand every
 * result to vfs_settle(), which parks the request until the disk has answered. */
#ifndef TRIO_VFS_INTERNAL_H
#define TRIO_VFS_INTERNAL_H

#include "abi/machine.h"
#include "node.h"
#include "vfs_serve.h"

/* Descriptors ------------------------------------------------------------------------------------------------------ */

#define DESCRIPTORS_MOST 4096

/* Shared by threads. `size` is 64, 512 or DESCRIPTORS_MOST; below `lowest` none is free; `used` are not. */
struct descriptors {
	struct file **files;
	uint32_t size, lowest, references, used;
	uint64_t close_on_exec[DESCRIPTORS_MOST / 64];
};

/* Root, working directory, umask. Shared with CLONE_FS. */
struct directories {
	struct node *root, *current;
	uint32_t umask, references;
};

#define GROUPS_MOST 32

/* A program's arguments, each with its NUL, for /proc/PID/cmdline. Shared by the tasks that a fork has made. */
struct command {
	uint32_t references, length;
	char text[];
};

#define VFS_TASK TASKS

/* Of each task, by number. `descriptors` is NULL where there is no such task; one with a process's number is a zombie
 * then. */
struct task_files {
	/* What a zombie has too: whose it is (effective), its name, how often it read and wrote before its end, and its
	 * children that were waited for. */
	uint32_t user, group;
	char name[16];
	uint64_t reads, writes;
	/* As programs know them; a process's first thread has its number. */
	uint32_t thread, process, process_group, session, parent;
	int8_t nice;
	char state;
	uint16_t group_count;
	struct descriptors *descriptors;
	struct directories *directories;
	/* For access(2). */
	uint32_t real_user, real_group;
	uint32_t groups[GROUPS_MOST];
	/* RLIMIT_NOFILE, of DESCRIPTORS_MOST at most; RLIMIT_FSIZE. */
	uint32_t files_most;
	uint64_t size_most;
	/* What it executes, held; NULL: nothing. */
	struct node *program;
	/* What it was called with; NULL: not known. */
	struct command *command;
	/* The fifo that it waits to open, or waited when a signal came; held. fifo_waited() */
	struct node *opening;
};

/* Mounts and kinds of file systems --------------------------------------------------------------------------------- */

struct file_system {
	const char *name;
	/* Makes the mount's root, held for the mount; `source` and `options` as mount(2) has them. 0 or -errno. */
	int64_t (*mount)(struct mount *m, const char *source, const char *options);
	/* -EBUSY where anything but the root is held. */
	int64_t (*unmount)(struct mount *m);
	/* But for `flags` and what follows from the others. */
	void (*numbers)(struct mount *m, struct linux_statfs *to);
	int64_t (*sync)(struct mount *m);
};

#define MOUNTS 32

struct mount {
	const struct file_system *type;
	/* `users`: files open on it and sockets bound on it. MS_ in `flags`; statx and stat show `device`. */
	struct node *root, *covers;
	uint32_t users, flags, device;
	/* The file system's own. */
	void *state;
	char source[64];
};

extern const struct file_system tmpfs, device_file_system, empty_file_system, disk_file_system, proc_file_system;

/* The state -------------------------------------------------------------------------------------------------------- */

/* Who waits for a change: requests of the file's own, and those who poll: a bit for each task's number modulo 64. A bit
 * may be old: whom it wakes looks once in vain. No list, so that a poll that a signal ends leaves nothing behind.
 * `changes` counts, for epoll's edges. */
struct watch {
	struct queue waiters;
	uint64_t tasks, changes;
};

struct vfs {
	/* The last is vfs itself, as root of everything: VFS_TASK. */
	struct task_files tasks[TASKS + 1];
	struct mount mounts[MOUNTS];
	/* The root of all, NULL before begin(). */
	struct node *root;
	/* Those who wait for a disk, by what of it (fs.waited); for a disk's special file; for a lock. */
	struct queue disk_waiters[FS_THINGS], block_waiters, lock_waiters;
	/* Those in poll, select, epoll_wait, by their task's number modulo 64; whose bit is to be noted by watch(), and
	 * the how-manieth poll that is; how many watches a file's poll named, and their changes in all. `any`: of files
	 * without a watch of their own. polling/poll.h */
	struct queue pollers[64];
	uint64_t polling, polls, watches, changes;
	struct watch any;
	/* From 1970 to the machine's start. */
	int64_t epoch;
	uint32_t files;
	/* Whose walk it is or was last: for /proc/self. */
	uint32_t walker;
	struct linux_utsname names;
	/* /proc/sys/kernel/random/boot_id. */
	uint8_t boot_id[16];
	/* Of the handler that runs: the path that is being walked, a link's target, a page for whatever it needs, and
	 * the names of two places, of which `newest` was found last. */
	char path[PATH_MAX], target[PATH_MAX], page[PAGE], places[2][NAME_MAX];
	uint32_t newest;
	/* Programs being executed, by program_open's handle; held. */
	struct node *programs[TASKS];
	uint64_t next_inode;
};
extern struct vfs vfs;

void allocator_start(void);
/* Memory of any size, zeros; NULL where there is none, or not so much in one piece. Freed with the same size. */
void *heap_allocate(size_t size);
void heap_free(void *p, size_t size);

/* Now, in nanoseconds since 1970. */
static inline int64_t vfs_time(void)
{
	return vfs.epoch + (int64_t)now();
}

/* Read, mapped or listed by a file with these flags: Linux's "relatime", once after each change. */
static inline void node_accessed(struct node *n, uint32_t flags)
{
	if (n->accessed <= n->changed && (flags & O_NOATIME) == 0 && (n->mount->flags & (MS_NOATIME | MS_RDONLY)) == 0)
		n->accessed = vfs_time();
}

/* disk/pages.c: parks a request for which fs has just said -EWAIT until what it waits for has come. */
verdict disk_park(struct request *r);
void disk_notified(void);

/* The answer to a request: parks it until the disk has answered where `result` is -EWAIT. */
static inline verdict vfs_settle(struct request *r, int64_t result)
{
	return result == -EWAIT ? disk_park(r) : settle(r, result);
}

/* TRY() in a handler, which answers with what the call says, or waits for the disk. */
#define TRY_ANSWER(r, call)                             \
	do {                                            \
		int64_t tried_ = (call);                \
                                                        \
		if (tried_ < 0)                         \
			return vfs_settle((r), tried_); \
	} while (0)

#endif
