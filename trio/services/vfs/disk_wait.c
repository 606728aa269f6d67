/* disk_wait.c: requests that wait for a disk, each for what it needs of it, so that what comes wakes those who wait for
 * it and not all. */
#include "fs.h"
#include "handlers.h"
#include "pm.h"

verdict disk_park(struct request *r)
{
	uint32_t on;

	(void)fs_waited(&on);
	return park_hard(&vfs.disk_waiters[on % FS_THINGS], r);
}

/* As many of those who wait for room as there is room for. Where none of these begins a request none ends: so the
 * others do not wait for that alone. */
#define ROOM_NS 1000000UL

static void room_came(uint32_t room)
{
	struct queue *waiters = &vfs.disk_waiters[FS_ROOM];

	while (room-- > 0 && is_waited_for(waiters))
		unpark_first(waiters);
	if (is_waited_for(waiters))
		alarm_at(ENDPOINT_VFS, now() + ROOM_NS);
}

void disk_notified(void)
{
	uint64_t came;
	uint32_t room;

	(void)fs_came(&came, &room);
	/* vm too tells so that it may be asked again. */
	came |= 1ULL << FS_ANYTHING;
	remote_pages_go_on(came);
	room_came(room);
	vfs.came_for_pm |= came;
	for (uint64_t rest = came & ~(1ULL << FS_ROOM); rest != 0; rest &= rest - 1)
		unpark(&vfs.disk_waiters[__builtin_ctzll(rest)]);
	/* pm may wait for a program's bytes. */
	notify(ENDPOINT_PM, PM_DISK_READY);
}

int64_t vfs_disk_waited(uint32_t *on)
{
	if (!vfs.pm_waits_for_no_disk)
		return fs_waited(on);
	vfs.pm_waits_for_no_disk = false;
	*on = FS_ANYTHING;
	return 0;
}

int64_t vfs_disk_came(uint64_t *what)
{
	*what = vfs.came_for_pm;
	vfs.came_for_pm = 0;
	return 0;
}
