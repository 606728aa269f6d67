/* mounts.c: what keeps a mount from being removed. Only for root, and where root may mount. */
#include "usertests.h"

#include <sys/mount.h>
#include <sys/statfs.h>

static void mount_here(const char *options)
{
	OK(mkdir("d", 0755));
	if (mount("none", "d", "tmpfs", 0, options) < 0)
		skip("mounting is not permitted here");
}

TEST(mount_busy, "Is a mount busy while a file is open, a folder used or a socket bound on it?")
{
	int fd;

	mount_here(NULL);
	fd = (int)OK(open("d/a", O_RDWR | O_CREAT, 0644));
	FAILS(umount2("d", 0), EBUSY);
	OK(close(fd));
	OK(chdir("d"));
	FAILS(umount2("../d", 0), EBUSY);
	OK(chdir(".."));
	fd = bound(SOCK_STREAM, "d/socket");
	FAILS(umount2("d", 0), EBUSY);
	OK(unlink("d/socket"));
	FAILS(umount2("d", 0), EBUSY);
	OK(close(fd));
	OK(umount2("d", 0));
	FAILS(umount2("d", 0), EINVAL);
	FAILS(access("d/a", F_OK), ENOENT);
}

TEST(mount_busy_fifo, "Is a mount busy while somebody waits to open a FIFO on it, and no longer?")
{
	pid_t pid;

	mount_here(NULL);
	OK(mkfifo("d/fifo", 0644));
	START_CHILD (pid)
		_exit(open("d/fifo", O_RDONLY) < 0);
	sleep_ms(100);
	FAILS(umount2("d", 0), EBUSY);
	kill_and_reap(pid);
	OK(umount2("d", 0));
}

TEST(mount_read_only, "Is a read-only file system told before the lack of rights?")
{
	mount_here(NULL);
	make_file("d/file", "");
	OK(mount("none", "d", "tmpfs", MS_REMOUNT | MS_RDONLY, NULL));
	IN_CHILD (0) {
		become_ordinary();
		FAILS(chmod("d/file", 0600), EROFS);
		FAILS(chown("d/file", 1, 1), EROFS);
		FAILS(utimes("d/file", NULL), EROFS);
	}
	OK(umount2("d", 0));
}

TEST(mount_options, "Does a tmpfs take its size, its number of files, and its root's mode and owner from its options?")
{
	struct statfs s;
	struct stat st;

	mount_here("size=64k,nr_inodes=3,mode=710,uid=4,gid=5");
	OK(statfs("d", &s));
	IS(s.f_blocks, 16);
	IS(s.f_files, 3);
	OK(stat("d", &st));
	IS(st.st_mode, S_IFDIR | 0710);
	IS(st.st_uid, 4);
	IS(st.st_gid, 5);
	OK(close((int)OK(open("d/a", O_WRONLY | O_CREAT, 0600))));
	OK(close((int)OK(open("d/b", O_WRONLY | O_CREAT, 0600))));
	FAILS(open("d/c", O_WRONLY | O_CREAT, 0600), ENOSPC);
	OK(umount2("d", 0));
	OK(mount("none", "d", "tmpfs", 0, "nr_blocks=7"));
	OK(statfs("d", &s));
	IS(s.f_blocks, 7);
	OK(umount2("d", 0));
	FAILS(mount("none", "d", "tmpfs", 0, "size=,mode=700"), EINVAL);
	FAILS(mount("none", "d", "tmpfs", 0, "mode=8"), EINVAL);
	FAILS(mount("none", "d", "tmpfs", 0, "size=1q"), EINVAL);
	FAILS(mount("none", "d", "tmpfs", 0, "no_such_option=1"), EINVAL);
}
