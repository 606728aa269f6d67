/* devices.h: the files of devices, each kind in a file of its own; devfs.c has the table. */
#ifndef TRIO_VFS_DEVICES_H
#define TRIO_VFS_DEVICES_H

#include "vfs_internal.h"

/* tty.c */
extern const struct file_operations terminal_files;
/* /dev/tty: the session's own terminal, or -ENXIO; any other: it may become that. */
int64_t terminal_open_own(uint32_t task, struct file *f);
verdict terminal_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at);
int64_t terminal_open(uint32_t task, struct file *f);

/* disk_device.c */
extern const struct file_operations disk_files;
int64_t disk_open(uint32_t task, struct file *f);
/* The endpoint of the disk with that device number; 0: none. */
uint32_t disk_endpoint(uint32_t number);

/* display_device.c */
extern const struct file_operations display_files;
int64_t display_open(uint32_t task, struct file *f);

#define DISK_RAM DEVICE(1, 0)
#define DISK_VIRTIO DEVICE(254, 0)

#endif
