/* fs/lock: a record lock on a byte of a file, as a database takes before it reads or writes. */
#include "../km.h"

struct fs_lock {
	struct km *km;
	int fd;
	uint64_t done;
};

/* 0, or -1 with errno: EAGAIN or EACCES if another process has it. */
static int fs_lock_set(int fd, short type)
{
	struct flock lock;

	memset(&lock, 0, sizeof lock);
	lock.l_type = type;
	lock.l_whence = SEEK_SET;
	lock.l_len = 1;
	return fcntl(fd, F_SETLK, &lock);
}

static void fs_lock_refused(struct km *km, void *state)
{
	struct fs_lock *f = state;

	if (fs_lock_set(f->fd, F_WRLCK) == 0 || (errno != EAGAIN && errno != EACCES))
		km_fail(km, "a byte that another process has locked can be locked too");
}

static void *fs_lock_setup(struct km *km)
{
	struct fs_lock *f = km_state(km, sizeof *f);

	km_room(km, 1, 0);
	km_enter(km);
	f->fd = open("locked", O_RDWR | O_CREAT | O_EXCL, 0600);
	if (f->fd < 0)
		km_fail_call(km, "open");
	if (fs_lock_set(f->fd, F_WRLCK) != 0)
		km_lacking(km, "fcntl(F_SETLK)");
	km_peer_end(km, km_peer(km, fs_lock_refused, f));
	if (fs_lock_set(f->fd, F_UNLCK) != 0)
		km_fail_call(km, "fcntl(F_SETLK)");
	km->claim = (struct claim){ .syscalls = 2 };
	return f;
}

static void fs_lock_run(void *state, uint64_t n)
{
	struct fs_lock *f = state;

	while (n--) {
		if (fs_lock_set(f->fd, F_WRLCK) != 0 || fs_lock_set(f->fd, F_UNLCK) != 0)
			km_fail_call(f->km, "fcntl(F_SETLK)");
		f->done++;
	}
}

const struct workload fs_lock = {
	.name = "fs/lock",
	.per = "lock and unlock",
	.source = "beyond the sources",
	.what = "one byte of a file is locked for writing and unlocked; no other process wants it",
	.inside = "two fcntl (F_SETLK)",
	.settings = SET_FOLDER,
	.points = KM_POINTS({ .profile = FULL, .path_n = 100 }),
	.setup = fs_lock_setup,
	.run = fs_lock_run,
	.counted = { offsetof(struct fs_lock, done), "locks were taken and released" },
};
