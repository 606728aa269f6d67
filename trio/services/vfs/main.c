/* main.c: the file service's state and start, and what its notifications do. */
#include "clock.h"
#include "disk/remote.h"
#include "kernel.h"
#include "names/names.h"
#include "pm.h"
#include "proc/procfs.h"
#include "sockets/socket.h"
#include "terminals/tty.h"

void vfs_start(void)
{
	struct task_files *own = &vfs.tasks[VFS_TASK];
	static struct directories directories;
	uint64_t epoch = 0;

	clock_epoch(&epoch);
	vfs.epoch = (int64_t)epoch;
	if (mount_root() != 0)
		panic("vfs: no memory for the root");
	directories = (struct directories){ .root = vfs.root, .current = vfs.root, .references = 1 };
	own->directories = &directories;
	own->size_most = UINT64_MAX;
	names_start();
	io_start();
}

int64_t may_wait_for(struct request *r, uint32_t endpoint)
{
	if (r->scratch[2]++ < ROUNDS_MOST)
		return 0;
	r->scratch[2] = 0;
	return kernel_server_stuck(endpoint) == 0 ? 0 : -EIO;
}

void vfs_notified(uint64_t bits)
{
	if ((bits & NOTIFIED_VFS_CONSOLE) != 0)
		terminal_notified();
	if ((bits >> NOTIFY_ALARM & 1) != 0)
		lost_alarm();
	if ((bits & (NOTIFIED_VFS_PAGES | 1UL << NOTIFY_ALARM)) != 0)
		remote_pages_wanted();
	if ((bits & (NOTIFIED_VFS_DISK_READY | 1UL << NOTIFY_ALARM)) != 0)
		disk_notified();
	if ((bits & NOTIFIED_VFS_NET) != 0)
		inet_notified();
	if ((bits & NOTIFIED_VFS_BLOCK_READY) != 0)
		unpark(&vfs.block_waiters);
}

struct vfs vfs;

const struct vfs_service vfs_service = VFS_HANDLERS;
