/* handlers.h: what vfs.idl asks of files and folders, as main.c's table names it, and what these handlers' files say to
 * each other alone. */
#ifndef TRIO_VFS_HANDLERS_H
#define TRIO_VFS_HANDLERS_H

#include "vfs_internal.h"

/* alloc.c */
void allocator_start(void);

/* descriptors.c */
struct descriptors *descriptors_make(uint32_t size);
struct descriptors *descriptors_copy(const struct descriptors *from);
/* Of both: a share; true: all is done. */
bool descriptors_drop(uint32_t task);
bool descriptors_close_marked(uint32_t task);
int64_t descriptor_flags(uint32_t task, uint32_t fd);
void descriptor_flags_set(uint32_t task, uint32_t fd, bool close_on_exec);
verdict vfs_close(struct request *r, int32_t fd);
verdict vfs_close_range(struct request *r, uint32_t first, uint32_t last, uint32_t flags);
verdict vfs_duplicate(struct request *r, int32_t fd, int32_t to, int32_t least, uint32_t flags, uint32_t same);

/* tasks.c */
int64_t vfs_fork(uint32_t parent, uint32_t child, uint32_t share);
int64_t vfs_executed(uint32_t task, struct grant before, struct grant script, struct grant strings, uint32_t count);
int64_t vfs_leave(uint32_t task);
int64_t vfs_identify(uint32_t task, uint32_t thread, uint32_t process, uint32_t group, uint32_t session);
int64_t vfs_credentials(uint32_t task, uint32_t user, uint32_t group, uint32_t real_user, uint32_t real_group,
			struct grant groups);
int64_t vfs_limit(uint32_t task, uint64_t files, uint64_t size);
int64_t vfs_begin(uint32_t task);

/* programs.c */
int64_t vfs_program_open(uint32_t task, int32_t directory, struct grant path, uint32_t flags, uint32_t *file,
			 uint64_t *size, uint32_t *mode, uint32_t *owner, uint32_t *group);
int64_t vfs_program_read(uint32_t file, uint64_t offset, struct grant to);
int64_t vfs_program_map(uint32_t file, uint32_t task, uint64_t address, uint64_t length, uint32_t protection,
			uint64_t offset);
int64_t vfs_program_close(uint32_t file);
/* `task` executes `n` from now on, NULL: nothing. */
void program_set(uint32_t task, struct node *n);

/* archive.c */
int64_t vfs_unpack(void);

/* open.c */
verdict vfs_open(struct request *r, int32_t directory, struct grant path, uint32_t flags, uint32_t mode);
verdict vfs_memory_file(struct request *r, struct grant name, uint32_t flags);
verdict vfs_random(struct request *r, struct grant to);

/* io.c */
verdict vfs_read(struct request *r, int32_t fd, struct grant to);
verdict vfs_write(struct request *r, int32_t fd, struct grant from);
verdict vfs_pread(struct request *r, int32_t fd, struct grant to, int64_t offset);
verdict vfs_pwrite(struct request *r, int32_t fd, struct grant from, int64_t offset);
verdict vfs_seek(struct request *r, int32_t fd, int64_t offset, uint32_t whence);
verdict vfs_ioctl(struct request *r, int32_t fd, uint32_t command, uint64_t argument, struct grant at);
verdict vfs_send_file(struct request *r, int32_t to, int32_t from, int64_t offset, uint64_t count);
verdict vfs_map(struct request *r, uint64_t address, uint64_t length, uint32_t protection, uint32_t flags, int32_t fd,
		uint64_t offset);
/* Before a write to a regular file: the position with O_APPEND, the bytes that limits allow of `length`. 0: none, and
 * then r->result has the reason, or 0. */
uint64_t regular_write_begin(struct request *r, struct file *f, uint64_t *at, uint64_t length);
/* After a copy of `n` bytes has met a fault: how many of them can be copied, and are. */
size_t copied_in(void *to, struct grant from, uint64_t offset, size_t n);
size_t copied_out(struct grant to, uint64_t offset, const void *from, size_t n);
/* For files whose node knows its size: all whences but SEEK_DATA and SEEK_HOLE as if there were no holes. */
int64_t seek_by_size(struct file *f, int64_t offset, uint32_t whence);

/* attributes.c */
void stat_of_node(const struct node *n, struct linux_stat *s);
/* What a path, or with none the descriptor, stands for: held. flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. */
int64_t node_at(const struct request *r, int32_t directory, struct grant path, uint32_t flags, struct node **out);
verdict vfs_stat(struct request *r, int32_t directory, struct grant path, uint32_t flags, struct grant to);
verdict vfs_fstat(struct request *r, int32_t fd, struct grant to);
verdict vfs_statx(struct request *r, int32_t directory, struct grant path, uint32_t flags, uint32_t mask,
		  struct grant to);
verdict vfs_access(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t flags);
verdict vfs_chmod(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t flags);
verdict vfs_chown(struct request *r, int32_t directory, struct grant path, uint32_t owner, uint32_t group,
		  uint32_t flags);
verdict vfs_set_times(struct request *r, int32_t directory, struct grant path, uint32_t which, uint32_t present,
		      int64_t accessed, int64_t modified, uint32_t flags);
verdict vfs_truncate(struct request *r, struct grant path, int64_t size);
verdict vfs_ftruncate(struct request *r, int32_t fd, int64_t size);
verdict vfs_allocate(struct request *r, int32_t fd, uint32_t mode, int64_t from, int64_t length);

/* names.c */
verdict vfs_make(struct request *r, int32_t directory, struct grant path, uint32_t mode, uint32_t device);
verdict vfs_remove(struct request *r, int32_t directory, struct grant path, uint32_t flags);
verdict vfs_rename(struct request *r, int32_t from, struct grant path, int32_t to, struct grant new_path,
		   uint32_t flags);
verdict vfs_link(struct request *r, int32_t from, struct grant path, int32_t to, struct grant new_path, uint32_t flags);
verdict vfs_symlink(struct request *r, struct grant target, int32_t directory, struct grant path);
verdict vfs_readlink(struct request *r, int32_t directory, struct grant path, struct grant to);

/* folders.c */
verdict vfs_entries(struct request *r, int32_t fd, struct grant to);
verdict vfs_change_folder(struct request *r, int32_t directory, struct grant path);
verdict vfs_getcwd(struct request *r, struct grant to);
verdict vfs_chroot(struct request *r, struct grant path);
verdict vfs_umask(struct request *r, uint32_t mask);
verdict vfs_statfs(struct request *r, int32_t directory, struct grant path, struct grant to);
verdict vfs_sync(struct request *r, int32_t fd, uint32_t all);
int64_t vfs_write_back(void);
int64_t vfs_disk_waited(uint32_t *on);
int64_t vfs_disk_came(uint64_t *what);

/* mounts.c */
int64_t mount_root(void);
verdict vfs_mount(struct request *r, struct grant source, struct grant path, struct grant type, uint64_t flags,
		  struct grant options);
verdict vfs_unmount(struct request *r, struct grant path, uint32_t flags);

/* locks.c */
verdict vfs_control(struct request *r, int32_t fd, uint32_t command, uint64_t argument);
verdict vfs_lock(struct request *r, int32_t fd, uint32_t command, int32_t type, uint32_t whence, int64_t start,
		 int64_t length);
verdict vfs_flock(struct request *r, int32_t fd, uint32_t operation);
verdict vfs_advise(struct request *r, int32_t fd, uint32_t advice);
void locks_of_process_drop(struct node *n, uint32_t process);
void locks_of_file_drop(struct node *n, struct file *f);

/* devfs.c, tty.c */
void terminal_start(void);
/* /dev/console, held: what the first process's descriptors stand for. A negative errno: it has no such name. */
int64_t terminal_node(struct node **out);
void terminal_notified(void);
/* A process is gone: if the terminal was its session's, it is nobody's. */
void terminal_session_ended(uint32_t process);
/* Whose terminal it is; 0: nobody's. */
uint32_t terminal_session(void);
int64_t vfs_terminal_signals(uint32_t *group, uint32_t *signal);

/* Without O_LARGEFILE and the like there is one limit for all: what an off_t holds. */
#define OFFSET_MOST 0x7fffffffffffffffL

#endif
