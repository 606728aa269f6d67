/* main.c: the file service: its state, its start, and who answers which call. */
#include "clock.h"
#include "handlers.h"
#include "io.h"
#include "pm.h"
#include "vfs_serve.h"

static void vfs_start(void)
{
	struct task_files *own = &vfs.tasks[VFS_TASK];
	static struct folders folders;
	uint64_t epoch = 0;

	allocator_start();
	clock_epoch(&epoch);
	vfs.epoch = (int64_t)epoch;
	if (mount_root() != 0)
		panic("vfs: no memory for the root");
	folders = (struct folders){ .root = vfs.root, .current = vfs.root, .references = 1 };
	own->folders = &folders;
	own->size_most = UINT64_MAX;
	terminal_start();
	io_start();
	remote_pages_start();
}

static void vfs_notified(uint64_t bits)
{
	if ((bits & NOTIFIED_VFS_CONSOLE) != 0)
		terminal_notified();
	if ((bits >> NOTIFY_ALARM & 1) != 0)
		lost_alarm();
	if ((bits & NOTIFIED_VFS_PAGES) != 0)
		remote_pages_wanted();
	if ((bits & (NOTIFIED_VFS_DISK_READY | 1UL << NOTIFY_ALARM)) != 0)
		disk_notified();
	if ((bits & NOTIFIED_VFS_BLOCK_READY) != 0)
		unpark(&vfs.block_waiters);
}

struct vfs vfs;

const struct vfs_service vfs_service = {
	.start = vfs_start,
	.notified = vfs_notified,
	.read = vfs_read,
	.write = vfs_write,
	.pread = vfs_pread,
	.pwrite = vfs_pwrite,
	.open = vfs_open,
	.close = vfs_close,
	.duplicate = vfs_duplicate,
	.seek = vfs_seek,
	.map = vfs_map,
	.stat = vfs_stat,
	.fstat = vfs_fstat,
	.statx = vfs_statx,
	.access = vfs_access,
	.chmod = vfs_chmod,
	.chown = vfs_chown,
	.set_times = vfs_set_times,
	.truncate = vfs_truncate,
	.ftruncate = vfs_ftruncate,
	.allocate = vfs_allocate,
	.make = vfs_make,
	.remove = vfs_remove,
	.rename = vfs_rename,
	.link = vfs_link,
	.symlink = vfs_symlink,
	.readlink = vfs_readlink,
	.entries = vfs_entries,
	.change_folder = vfs_change_folder,
	.getcwd = vfs_getcwd,
	.chroot = vfs_chroot,
	.umask = vfs_umask,
	.statfs = vfs_statfs,
	.sync = vfs_sync,
	.control = vfs_control,
	.lock = vfs_lock,
	.flock = vfs_flock,
	.ioctl = vfs_ioctl,
	.send_file = vfs_send_file,
	.mount = vfs_mount,
	.unmount = vfs_unmount,
	.close_range = vfs_close_range,
	.advise = vfs_advise,
	.memory_file = vfs_memory_file,
	.random = vfs_random,
	.fork = vfs_fork,
	.executed = vfs_executed,
	.leave = vfs_leave,
	.identify = vfs_identify,
	.credentials = vfs_credentials,
	.terminal_signals = vfs_terminal_signals,
	.program_open = vfs_program_open,
	.program_read = vfs_program_read,
	.program_map = vfs_program_map,
	.program_close = vfs_program_close,
	.begin = vfs_begin,
	.unpack = vfs_unpack,
	.write_back = vfs_write_back,
	.limit = vfs_limit,
	.disk_waited = vfs_disk_waited,
	.disk_came = vfs_disk_came,
	.pipe = vfs_pipe,
	.poll = vfs_poll,
	.select = vfs_select,
	.eventfd = vfs_eventfd,
	.epoll_create = vfs_epoll_create,
	.epoll_control = vfs_epoll_control,
	.epoll_wait = vfs_epoll_wait,
	.socket = vfs_socket,
	.socketpair = vfs_socketpair,
	.bind = vfs_bind,
	.listen = vfs_listen,
	.accept = vfs_accept,
	.connect = vfs_connect,
	.send = vfs_send,
	.receive = vfs_receive,
	.shutdown = vfs_shutdown,
	.socket_name = vfs_socket_name,
	.socket_option = vfs_socket_option,
	.set_socket_option = vfs_set_socket_option,
};
