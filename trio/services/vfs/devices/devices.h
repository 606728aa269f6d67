/* devices.h: special files, by their numbers. */
#ifndef TRIO_VFS_DEVICES_H
#define TRIO_VFS_DEVICES_H

#include "vfs_internal.h"

/* A special file of that type and number, on whatever file system, is opened by this. Those with a name
 * stand in devfs. */
struct device {
	const char *name;
	/* S_IFCHR or S_IFBLK, and permissions. */
	uint32_t mode, number;
	const struct file_operations *operations;
	/* NULL: always. For `task`; sets file->state; a negative errno refuses. */
	int64_t (*open)(uint32_t task, struct file *f);
	/* What else devfs has: a link's. */
	const char *target;
};
/* The one that a special node stands for; NULL: none. */
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
