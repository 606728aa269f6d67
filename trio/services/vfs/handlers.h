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

/* machine.c: at the service's start. */
void names_start(void);

/* io.c */
/* Before a write to a regular file: the position with O_APPEND, the bytes that limits allow of `length`. 0: none, and
 * then r->result has the reason, or 0. */
uint64_t regular_write_begin(struct request *r, struct file *f, uint64_t *at, uint64_t length);
/* After a copy of `n` bytes has met a fault: how many of them can be copied, and are. */
size_t copied(void *own, struct grant other, uint64_t offset, size_t n, bool in);
/* All whences, of a file of that size, whose holes are not told of; of one whose node knows its size. */
int64_t seek_within(struct file *f, uint64_t size, int64_t offset, uint32_t whence);
int64_t seek_by_size(struct file *f, int64_t offset, uint32_t whence);

/* names.c: a file of `mode`, which the umask is applied to, comes to stand where nothing does: p->node. 0 or -errno,
 * -EPERM where nobody can make any. */
int64_t create_in(uint32_t task, struct place *p, uint32_t mode, uint32_t device);

/* attributes.c */
void stat_of_node(const struct node *n, struct linux_stat *s);
/* What a path, or with none the descriptor, stands for: held. flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. */
int64_t node_at(const struct request *r, int32_t directory, struct grant path, uint32_t flags, struct node **out);

/* mounts.c */
int64_t mount_root(void);

/* locks.c */
/* All of a process's record locks, or of a file's flock: one of both is given. */
void locks_drop(struct node *n, uint32_t process, const struct file *f);

/* tty.c */
/* /dev/console, held: what the first process's descriptors stand for. A negative errno: it has no such name. */
int64_t terminal_node(struct node **out);
void terminal_notified(void);

/* Files of devices: tty.c, */
extern const struct file_operations terminal_files;
/* /dev/tty: the session's own terminal, or -ENXIO; any other: it may become that. */
int64_t terminal_open_own(uint32_t task, struct file *f);
int64_t terminal_open(uint32_t task, struct file *f);

/* disk_device.c, */
extern const struct file_operations disk_files;
int64_t disk_open(uint32_t task, struct file *f);
/* The endpoint of the disk with that device number; 0: none. */
uint32_t disk_endpoint(uint32_t number);

/* display_device.c. */
extern const struct file_operations display_files;
int64_t display_open(uint32_t task, struct file *f);

#define DISK_RAM DEVICE(1, 0)
#define DISK_VIRTIO DEVICE(254, 0)

/* Without O_LARGEFILE and the like there is one limit for all: what an off_t holds. */
#define OFFSET_MOST 0x7fffffffffffffffL

#endif
