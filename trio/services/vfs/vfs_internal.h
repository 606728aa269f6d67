/* vfs_internal.h: what the parts of the file service share beside nodes and files (node.h): descriptor tables, mounts,
 * the service's state, and paths.
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

/* Root, working folder, umask. Shared with CLONE_FS. */
struct folders {
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
	struct folders *folders;
	/* For access(2). */
	uint32_t real_user, real_group;
	uint32_t groups[GROUPS_MOST];
	/* RLIMIT_NOFILE, RLIMIT_FSIZE. */
	uint32_t files_most;
	uint64_t size_most;
	/* What it executes, held; NULL: nothing. */
	struct node *program;
	/* What it was called with; NULL: not known. */
	struct command *command;
	/* The fifo that it waits to open, or waited when a signal came; held. fifo_waited() */
	struct node *opening;
};

/* The open file at `fd`, not held; NULL: EBADF. */
static inline struct file *file_of(uint32_t task, int32_t fd);
/* The lowest free descriptor from `least` on; the caller's reference goes to it. Returns it, or -EMFILE, -ENOMEM (the
 * reference stays the caller's). flags: O_CLOEXEC. */
int64_t descriptor_place(uint32_t task, struct file *f, uint32_t least, uint32_t flags);
/* Undoes it, and drops the file; -EBADF. */
int64_t descriptor_close(uint32_t task, int32_t fd);

/* Mounts and kinds of file systems --------------------------------------------------------------------------------- */

struct file_system {
	const char *name;
	/* Makes the mount's root, held for the mount; `source` and `options` as mount(2) has them. 0 or -errno. */
	int64_t (*mount)(struct mount *m, const char *source, const char *options);
	/* -EBUSY where anything but the root is held. */
	int64_t (*unmount)(struct mount *m);
	void (*numbers)(struct mount *m, struct file_system_numbers *to);
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

extern const struct file_system tmpfs, device_file_system, empty_file_system, disk_file_system;
/* procfs.c */
extern const struct file_system proc_file_system;

/* Devices: a special file of that type and number, on whatever file system, is opened by this. Those with a name
 * stand in devfs. */
struct device {
	const char *name;
	/* S_IFCHR or S_IFBLK, and permissions. */
	uint32_t mode, number;
	const struct file_operations *operations;
	/* NULL: always. For `task`; sets file->state; a negative errno refuses. */
	int64_t (*open)(uint32_t task, struct file *f);
};

/* The state -------------------------------------------------------------------------------------------------------- */

/* Who waits for a change: requests of the file's own, and those who poll: a bit for each task's number modulo 64. A bit
 * may be old: whom it wakes looks once in vain. No list, so that a poll that a signal ends leaves nothing behind.
 * `changes` counts, for epoll's edges. */
struct watch {
	struct queue waiters;
	uint64_t tasks, changes;
};

struct allocator {
	/* Of slabs with a free place, by size; empty ones are given back but for one. */
	struct link partial[8];
	void *spare[8];
};

/* Pages of a file on a disk that are being brought: from `index` on those that somebody waits for, then from `begin` on
 * what else is wanted. */
struct load {
	struct link link;
	struct remote_node *node;
	/* What of the disk it waits for. */
	uint32_t waits_for;
	uint64_t index, awaited_end, begin, end;
};
#define LOADS 64

struct vfs {
	/* The last is vfs itself, as root of everything: VFS_TASK. */
	struct task_files tasks[TASKS + 1];
	struct allocator allocator;
	struct mount mounts[MOUNTS];
	/* The root of all, NULL before begin(). */
	struct node *root;
	/* Those who wait for a disk, by what of it (fs.waited); for a disk's special file; for a lock. */
	struct queue disk_waiters[FS_THINGS], block_waiters, lock_waiters;
	/* What has come since pm asked; it waits for nothing of a disk, and is told at once. */
	uint64_t came_for_pm;
	bool pm_waits_for_no_disk;
	/* Those under way, and those that are free: of vm no more is taken on than there are. remote_pages.c */
	struct link loads, loads_free;
	struct load load_places[LOADS];
	/* Those in poll, select, epoll_wait, by their task's number modulo 64; whose bit is to be noted by watch(), and
	 * the how-manieth poll that is; how many watches a file's poll named, and their changes in all. `any`: of files
	 * without a watch of their own. poll.c */
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
	/* Of the handler that runs: the path that is being walked, a link's target, and a page for whatever it
	 * needs. */
	char path[PATH_MAX], target[PATH_MAX], page[PAGE];
	/* Programs being executed, by program_open's handle; held. */
	struct node *programs[TASKS];
	uint64_t next_inode;
};
extern struct vfs vfs;

static inline struct file *file_of(uint32_t task, int32_t fd)
{
	struct descriptors *d = vfs.tasks[task].descriptors;

	return (uint32_t)fd < d->size ? d->files[fd] : NULL;
}

/* Memory of any size, zeros; NULL where there is none, or not so much in one piece. Given back with the same size. */
void *vfs_take(size_t size);
void vfs_give(void *p, size_t size);

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

/* remote_pages.c: parks a request for which fs has just said -EWAIT until what it waits for has come. */
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

/* Until `polling` is 0 again watch() notes the task. */
static inline void poll_begin(uint32_t task)
{
	vfs.polling = 1ULL << task % 64;
	vfs.polls++;
}

/* In an operation `poll`: who polls is to look again when `w` changes. */
static inline void watch(struct watch *w)
{
	w->tasks |= vfs.polling;
	vfs.watches++;
	vfs.changes += w->changes;
}
void watch_wake(struct watch *w);
/* Those who poll alone look again. */
static inline void watch_polled(struct watch *w)
{
	w->changes++;
	if (w->tasks != 0)
		watch_wake(w);
}
static inline void watch_changed(struct watch *w)
{
	unpark(&w->waiters);
	watch_polled(w);
}

/* walk.c: paths ---------------------------------------------------------------------------------------------------- */

/* The node at `path` for `task`, held. `path` may be vfs.path (it usually is); the walk uses vfs.target. flags:
 * AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH (it means `directory` itself; O_PATH files will do). */
int64_t walk(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct node **out);

/* Where a name is to be made or removed: the folder (held), the last component, and what stands there (held),
 * NULL: nothing. */
struct place {
	struct node *folder, *node;
	char name[NAME_MAX + 1];
	uint32_t length;
	/* The path ended in a slash; in `.`, `..` or nothing at all. */
	bool slash, special;
};
int64_t walk_place(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct place *out);
void place_drop(struct place *p);
/* Copies a path into vfs.path. Returns its length or -errno. */
static inline int64_t path_in(struct grant path)
{
	return copy_string(vfs.path, PATH_MAX, path);
}
/* walk() of a path that a request came with. */
static inline int64_t find_node(const struct request *r, int32_t directory, struct grant path, uint32_t flags,
				struct node **out)
{
	int64_t result = path_in(path);

	return result < 0 ? result : walk(r->task, directory, vfs.path, flags, out);
}
/* walk_place() of such a path, whose last link is not followed. */
static inline int64_t find_place(const struct request *r, int32_t directory, struct grant path, struct place *out)
{
	int64_t result = path_in(path);

	return result < 0 ? result : walk_place(r->task, directory, vfs.path, AT_SYMLINK_NOFOLLOW, out);
}
/* MAY_* for the task's effective user: 0 or -EACCES; -EROFS to write on a mount that is read-only. */
int64_t permitted(uint32_t task, const struct node *n, unsigned wanted);
bool is_owner(uint32_t task, const struct node *n);
bool is_in_group(const struct task_files *t, uint32_t group);
/* The node's path from `root`, with NUL; where it is not below that, from the root of all, with `beyond` before it.
 * Returns its length or -errno. */
int64_t path_of(const struct node *root, struct node *n, const char *beyond, char *to, size_t size);

/* names.c: makes a file of `mode` (type and permissions, umask applied) at `path`, with EEXIST and permissions
 * checked: for mknod, and bind of a socket. `out` (held) may be NULL. */
int64_t make_at(uint32_t task, int32_t directory, const char *path, uint32_t mode, uint32_t device, struct node **out);

/* walk.c: sets up what all nodes have: mount, inode number, mode, owner, times now; one reference. */
void node_begin(struct node *n, struct mount *m, const struct file_attributes *as);

/* devfs.c: the device a special node stands for; NULL: none. */
const struct device *device_of(uint32_t mode, uint32_t number);

/* pipe.c: a fifo is opened: sets file->operations and state, may park. r->result: 0 or -errno. */
verdict fifo_open(struct request *r, struct file *f);
void fifo_forget(struct node *n);
/* The fifo that this open waited for, whose name may be gone by now; NULL: this is its first run. */
struct node *fifo_waited(struct request *r);
void fifo_waited_drop(uint32_t task);
/* The task waits to open a fifo on that mount; what it waited for before a signal came is forgotten. */
bool fifo_is_awaited(uint32_t task, const struct mount *m);
/* remote_pages.c: at the service's start; vm has something to do; the disk has answered so much, a bit each. */
void remote_pages_start(void);
void remote_pages_wanted(void);
void remote_pages_go_on(uint64_t came);
/* epoll.c: the file goes. */
void epoll_forget(struct file *f);
/* socket.c: at the service's start. */
void io_start(void);
/* unix_rights.c: no descriptor refers to a file that epolls or packets name. It stays if packets do. */
bool file_stays(struct file *f);
/* Ends lost sockets. False: there are none. `surely`: files are too many or memory is short, so they have to be found
 * now; else enough that some are not to become ever more. */
bool lost_recover(bool surely);
/* NOTIFY_ALARM. */
void lost_alarm(void);

#endif
