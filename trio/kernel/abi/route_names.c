/* route_names.c: Linux's calls of names: opening, folders, what a file is, mounts. Of a pair of calls with and without
 * "at", the older one names no folder. */
#include "abi/abi.h"
#include "abi/files.h"
#include "abi/time.h"
#include "vfs_client.h"

/* No path: the descriptor itself is meant. */
#define NO_PATH user_grant(0, 0)

static int64_t run_open(struct task *t, const uint64_t *a)
{
	return client_vfs_open(&t->request, AT_FDCWD, user_string(a[0]), (uint32_t)a[1], (uint32_t)a[2]);
}

static int64_t run_openat(struct task *t, const uint64_t *a)
{
	return client_vfs_open(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2], (uint32_t)a[3]);
}

static int64_t run_creat(struct task *t, const uint64_t *a)
{
	return client_vfs_open(&t->request, AT_FDCWD, user_string(a[0]), O_CREAT | O_WRONLY | O_TRUNC, (uint32_t)a[1]);
}

static struct grant stat_at(uint64_t address)
{
	return user_grant(address, sizeof(struct linux_stat));
}

static int64_t run_stat(struct task *t, const uint64_t *a)
{
	return client_vfs_stat(&t->request, AT_FDCWD, user_string(a[0]), 0, stat_at(a[1]));
}

static int64_t run_lstat(struct task *t, const uint64_t *a)
{
	return client_vfs_stat(&t->request, AT_FDCWD, user_string(a[0]), AT_SYMLINK_NOFOLLOW, stat_at(a[1]));
}

static int64_t run_fstat(struct task *t, const uint64_t *a)
{
	return client_vfs_fstat(&t->request, (int32_t)a[0], stat_at(a[1]));
}

static int64_t run_newfstatat(struct task *t, const uint64_t *a)
{
	return client_vfs_stat(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[3], stat_at(a[2]));
}

static int64_t run_statx(struct task *t, const uint64_t *a)
{
	return client_vfs_statx(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2], (uint32_t)a[3],
				user_grant(a[4], sizeof(struct linux_statx)));
}

static int64_t run_access(struct task *t, const uint64_t *a)
{
	return client_vfs_access(&t->request, AT_FDCWD, user_string(a[0]), (uint32_t)a[1], 0);
}

static int64_t run_faccessat(struct task *t, const uint64_t *a)
{
	return client_vfs_access(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2], 0);
}

static int64_t run_faccessat2(struct task *t, const uint64_t *a)
{
	return client_vfs_access(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2], (uint32_t)a[3]);
}

static int64_t run_chmod(struct task *t, const uint64_t *a)
{
	return client_vfs_chmod(&t->request, AT_FDCWD, user_string(a[0]), (uint32_t)a[1], 0);
}

static int64_t run_fchmod(struct task *t, const uint64_t *a)
{
	return client_vfs_chmod(&t->request, (int32_t)a[0], NO_PATH, (uint32_t)a[1], 0);
}

static int64_t run_fchmodat(struct task *t, const uint64_t *a)
{
	return client_vfs_chmod(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2], 0);
}

static int64_t run_chown(struct task *t, const uint64_t *a)
{
	return client_vfs_chown(&t->request, AT_FDCWD, user_string(a[0]), (uint32_t)a[1], (uint32_t)a[2], 0);
}

static int64_t run_lchown(struct task *t, const uint64_t *a)
{
	return client_vfs_chown(&t->request, AT_FDCWD, user_string(a[0]), (uint32_t)a[1], (uint32_t)a[2],
				AT_SYMLINK_NOFOLLOW);
}

static int64_t run_fchown(struct task *t, const uint64_t *a)
{
	return client_vfs_chown(&t->request, (int32_t)a[0], NO_PATH, (uint32_t)a[1], (uint32_t)a[2], 0);
}

static int64_t run_fchownat(struct task *t, const uint64_t *a)
{
	return client_vfs_chown(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2], (uint32_t)a[3],
				(uint32_t)a[4]);
}

/* Which times are meant, which of them are the present, and what the others are. */
struct times {
	uint32_t which, present;
	int64_t time[2];
};

static int64_t set_times(struct task *t, int32_t directory, struct grant path, const struct times *to, uint32_t flags)
{
	return client_vfs_set_times(&t->request, directory, path, to->which, to->present, to->time[0], to->time[1],
				    flags);
}

/* Nanoseconds since 1970. Instants that 64 bits do not reach become the last that they do, as a file system's do on
 * Linux. */
static int64_t instant(int64_t seconds, int64_t rest)
{
	const int64_t most = INT64_MAX / (int64_t)NS_PER_SECOND - 1;

	if (seconds > most || seconds < -most)
		return seconds < 0 ? -most * (int64_t)NS_PER_SECOND : most * (int64_t)NS_PER_SECOND;
	return seconds * (int64_t)NS_PER_SECOND + rest;
}

/* Two struct timespec; none: both now. UTIME_NOW and UTIME_OMIT stand in the nanoseconds. */
static int64_t times_get(uint64_t address, struct times *to)
{
	static const uint32_t bit[2] = { SET_ACCESSED, SET_MODIFIED };
	struct linux_timespec given[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

	*to = (struct times){ 0 };
	if (address != 0 && user_get(given, address, sizeof given) != 0)
		return -EFAULT;
	for (unsigned i = 0; i < 2; i++) {
		if (given[i].nanoseconds == UTIME_OMIT)
			continue;
		to->which |= bit[i];
		if (given[i].nanoseconds == UTIME_NOW)
			to->present |= bit[i];
		else if (given[i].nanoseconds < 0 || given[i].nanoseconds >= (int64_t)NS_PER_SECOND)
			return -EINVAL;
		else
			to->time[i] = instant(given[i].seconds, given[i].nanoseconds);
	}
	return 0;
}

static int64_t run_utimensat(struct task *t, const uint64_t *a)
{
	struct times to;
	int64_t result = times_get(a[2], &to);

	if (result != 0)
		return result;
	/* No path means the descriptor's own file, and there is none of the current folder's. */
	return set_times(t, (int32_t)a[0], a[1] == 0 && (int32_t)a[0] != AT_FDCWD ? NO_PATH : user_string(a[1]), &to,
			 (uint32_t)a[3]);
}

/* Two struct timeval. */
static int64_t utimes_at(struct task *t, int32_t directory, uint64_t path, uint64_t address)
{
	struct times to = { SET_ACCESSED | SET_MODIFIED, SET_ACCESSED | SET_MODIFIED, { 0, 0 } };
	struct linux_timeval given[2];

	if (address != 0) {
		if (user_get(given, address, sizeof given) != 0)
			return -EFAULT;
		to.present = 0;
		for (unsigned i = 0; i < 2; i++) {
			if (given[i].microseconds < 0 || given[i].microseconds >= 1000000)
				return -EINVAL;
			to.time[i] = instant(given[i].seconds, given[i].microseconds * 1000);
		}
	}
	return set_times(t, directory, user_string(path), &to, 0);
}

static int64_t run_utimes(struct task *t, const uint64_t *a)
{
	return utimes_at(t, AT_FDCWD, a[0], a[1]);
}

static int64_t run_futimesat(struct task *t, const uint64_t *a)
{
	return utimes_at(t, (int32_t)a[0], a[1], a[2]);
}

static int64_t run_utime(struct task *t, const uint64_t *a)
{
	struct times to = { SET_ACCESSED | SET_MODIFIED, SET_ACCESSED | SET_MODIFIED, { 0, 0 } };
	int64_t seconds[2];

	if (a[1] != 0) {
		if (user_get(seconds, a[1], sizeof seconds) != 0)
			return -EFAULT;
		to.present = 0;
		to.time[0] = instant(seconds[0], 0);
		to.time[1] = instant(seconds[1], 0);
	}
	return set_times(t, AT_FDCWD, user_string(a[0]), &to, 0);
}

static int64_t run_truncate(struct task *t, const uint64_t *a)
{
	return client_vfs_truncate(&t->request, user_string(a[0]), (int64_t)a[1]);
}

static int64_t run_mkdir(struct task *t, const uint64_t *a)
{
	return client_vfs_make(&t->request, AT_FDCWD, user_string(a[0]), S_IFDIR | ((uint32_t)a[1] & 07777), 0);
}

static int64_t run_mkdirat(struct task *t, const uint64_t *a)
{
	return client_vfs_make(&t->request, (int32_t)a[0], user_string(a[1]), S_IFDIR | ((uint32_t)a[2] & 07777), 0);
}

static int64_t make_node(struct task *t, int32_t directory, uint64_t path, uint64_t mode, uint64_t device)
{
	if (S_ISDIR(mode))
		return -EPERM;
	return client_vfs_make(&t->request, directory, user_string(path), (uint32_t)mode, (uint32_t)device);
}

static int64_t run_mknod(struct task *t, const uint64_t *a)
{
	return make_node(t, AT_FDCWD, a[0], a[1], a[2]);
}

static int64_t run_mknodat(struct task *t, const uint64_t *a)
{
	return make_node(t, (int32_t)a[0], a[1], a[2], a[3]);
}

static int64_t run_rmdir(struct task *t, const uint64_t *a)
{
	return client_vfs_remove(&t->request, AT_FDCWD, user_string(a[0]), AT_REMOVEDIR);
}

static int64_t run_unlink(struct task *t, const uint64_t *a)
{
	return client_vfs_remove(&t->request, AT_FDCWD, user_string(a[0]), 0);
}

static int64_t run_unlinkat(struct task *t, const uint64_t *a)
{
	return client_vfs_remove(&t->request, (int32_t)a[0], user_string(a[1]), (uint32_t)a[2]);
}

static int64_t run_rename(struct task *t, const uint64_t *a)
{
	return client_vfs_rename(&t->request, AT_FDCWD, user_string(a[0]), AT_FDCWD, user_string(a[1]), 0);
}

static int64_t run_renameat(struct task *t, const uint64_t *a)
{
	return client_vfs_rename(&t->request, (int32_t)a[0], user_string(a[1]), (int32_t)a[2], user_string(a[3]), 0);
}

static int64_t run_renameat2(struct task *t, const uint64_t *a)
{
	return client_vfs_rename(&t->request, (int32_t)a[0], user_string(a[1]), (int32_t)a[2], user_string(a[3]),
				 (uint32_t)a[4]);
}

static int64_t run_link(struct task *t, const uint64_t *a)
{
	return client_vfs_link(&t->request, AT_FDCWD, user_string(a[0]), AT_FDCWD, user_string(a[1]), 0);
}

static int64_t run_linkat(struct task *t, const uint64_t *a)
{
	return client_vfs_link(&t->request, (int32_t)a[0], user_string(a[1]), (int32_t)a[2], user_string(a[3]),
			       (uint32_t)a[4]);
}

static int64_t run_symlink(struct task *t, const uint64_t *a)
{
	return client_vfs_symlink(&t->request, user_string(a[0]), AT_FDCWD, user_string(a[1]));
}

static int64_t run_symlinkat(struct task *t, const uint64_t *a)
{
	return client_vfs_symlink(&t->request, user_string(a[0]), (int32_t)a[1], user_string(a[2]));
}

static int64_t run_readlink(struct task *t, const uint64_t *a)
{
	return (int32_t)a[2] <= 0
		       ? -EINVAL
		       : client_vfs_readlink(&t->request, AT_FDCWD, user_string(a[0]), user_grant(a[1], a[2]));
}

static int64_t run_readlinkat(struct task *t, const uint64_t *a)
{
	return (int32_t)a[3] <= 0
		       ? -EINVAL
		       : client_vfs_readlink(&t->request, (int32_t)a[0], user_string(a[1]), user_grant(a[2], a[3]));
}

static int64_t run_getcwd(struct task *t, const uint64_t *a)
{
	return client_vfs_getcwd(&t->request, user_grant(a[0], a[1]));
}

static int64_t run_chdir(struct task *t, const uint64_t *a)
{
	return client_vfs_change_folder(&t->request, AT_FDCWD, user_string(a[0]));
}

static int64_t run_fchdir(struct task *t, const uint64_t *a)
{
	return client_vfs_change_folder(&t->request, (int32_t)a[0], NO_PATH);
}

static int64_t run_chroot(struct task *t, const uint64_t *a)
{
	return client_vfs_chroot(&t->request, user_string(a[0]));
}

static int64_t run_umask(struct task *t, const uint64_t *a)
{
	return client_vfs_umask(&t->request, (uint32_t)a[0]);
}

static int64_t run_statfs(struct task *t, const uint64_t *a)
{
	return client_vfs_statfs(&t->request, AT_FDCWD, user_string(a[0]),
				 user_grant(a[1], sizeof(struct linux_statfs)));
}

static int64_t run_fstatfs(struct task *t, const uint64_t *a)
{
	return client_vfs_statfs(&t->request, (int32_t)a[0], NO_PATH, user_grant(a[1], sizeof(struct linux_statfs)));
}

/* A string that may be missing: nothing then. */
static struct grant text(uint64_t address)
{
	return address == 0 ? NO_PATH : user_string(address);
}

static int64_t run_mount(struct task *t, const uint64_t *a)
{
	return client_vfs_mount(&t->request, text(a[0]), user_string(a[1]), text(a[2]), a[3], text(a[4]));
}

static int64_t run_umount2(struct task *t, const uint64_t *a)
{
	return client_vfs_unmount(&t->request, user_string(a[0]), (uint32_t)a[1]);
}

ROUTE_TABLE(names, { 2, true, "open", run_open }, { 4, false, "stat", run_stat }, { 5, false, "fstat", run_fstat },
	    { 6, false, "lstat", run_lstat }, { 21, false, "access", run_access },
	    { 76, false, "truncate", run_truncate }, { 79, false, "getcwd", run_getcwd },
	    { 80, false, "chdir", run_chdir }, { 81, false, "fchdir", run_fchdir }, { 82, false, "rename", run_rename },
	    { 83, false, "mkdir", run_mkdir }, { 84, false, "rmdir", run_rmdir }, { 85, true, "creat", run_creat },
	    { 86, false, "link", run_link }, { 87, false, "unlink", run_unlink }, { 88, false, "symlink", run_symlink },
	    { 89, false, "readlink", run_readlink }, { 90, false, "chmod", run_chmod },
	    { 91, false, "fchmod", run_fchmod }, { 92, false, "chown", run_chown }, { 93, false, "fchown", run_fchown },
	    { 94, false, "lchown", run_lchown }, { 95, false, "umask", run_umask }, { 132, false, "utime", run_utime },
	    { 133, false, "mknod", run_mknod }, { 137, false, "statfs", run_statfs },
	    { 138, false, "fstatfs", run_fstatfs }, { 161, false, "chroot", run_chroot },
	    { 165, false, "mount", run_mount }, { 166, false, "umount2", run_umount2 },
	    { 235, false, "utimes", run_utimes }, { 257, true, "openat", run_openat },
	    { 258, false, "mkdirat", run_mkdirat }, { 259, false, "mknodat", run_mknodat },
	    { 260, false, "fchownat", run_fchownat }, { 261, false, "futimesat", run_futimesat },
	    { 262, false, "newfstatat", run_newfstatat }, { 263, false, "unlinkat", run_unlinkat },
	    { 264, false, "renameat", run_renameat }, { 265, false, "linkat", run_linkat },
	    { 266, false, "symlinkat", run_symlinkat }, { 267, false, "readlinkat", run_readlinkat },
	    { 268, false, "fchmodat", run_fchmodat }, { 269, false, "faccessat", run_faccessat },
	    { 280, false, "utimensat", run_utimensat }, { 316, false, "renameat2", run_renameat2 },
	    { 332, false, "statx", run_statx }, { 439, false, "faccessat2", run_faccessat2 });
