/* devices.h: special files and their device numbers. */
#ifndef TRIO_VFS_DEVICES_H
#define TRIO_VFS_DEVICES_H

#include "vfs_internal.h"

/* How special files of one type and number are opened, on any file system. devfs lists those with a name. */
struct device {
	const char *name;
	/* S_IFCHR or S_IFBLK, with permissions. */
	uint32_t mode, number;
	const struct file_operations *operations;
	/* Opens the device for `task` and sets file->state. Returns 0 or a negative errno. NULL: always 0. */
	int64_t (*open)(uint32_t task, struct file *f);
	/* The target of a symbolic link. */
	const char *target;
};
/* The device of a special file's number; NULL: none. */
const struct device *device_of(uint32_t mode, uint32_t number);

extern const struct file_operations disk_files;
int64_t disk_open(uint32_t task, struct file *f);
/* The endpoint of the disk with that device number; 0: none. */
uint32_t disk_endpoint(uint32_t number);

extern const struct file_operations display_files;
int64_t display_open(uint32_t task, struct file *f);

#define DISK_RAM DEVICE(1, 0)
#define DISK_VIRTIO DEVICE(254, 0)
#define DISK_CHECKED DEVICE(253, 0)

#endif
