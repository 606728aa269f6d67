/* status.c: stat, times, and permissions. */
#include "usertests.h"

TEST(stat, "Do stat, lstat and fstat tell what a file is?")
{
	struct stat st, by_fd;
	int fd, ends[2];

	make_file("a", "0123456789");
	OK(chmod("a", 0640));
	OK(symlink("a", "s"));
	fd = (int)OK(open("a", O_RDONLY));
	OK(fstat(fd, &by_fd));
	OK(stat("s", &st));
	IS(st.st_ino, by_fd.st_ino);
	IS(st.st_dev, by_fd.st_dev);
	IS(st.st_mode, S_IFREG | 0640);
	IS(st.st_size, 10);
	IS(st.st_nlink, 1);
	IS(st.st_uid, geteuid());
	IS(st.st_gid, getegid());
	TRUE(st.st_blksize > 0);
	OK(lstat("s", &st));
	IS(st.st_mode, S_IFLNK | 0777);
	OK(pipe(ends));
	OK(fstat(ends[0], &st));
	IS(st.st_mode & S_IFMT, S_IFIFO);
	IS(st.st_nlink, 1);
}

TEST(stat_errors, "Does stat say why it fails?")
{
	struct stat st;
	int fd;

	fd = made_file("a", "", O_RDONLY);
	FAILS(stat("none", &st), ENOENT);
	FAILS(stat("", &st), ENOENT);
	FAILS(stat("a/b", &st), ENOTDIR);
	FAILS(RAW(SYS_fstat, 99, &st), EBADF);
	FAILS(RAW(SYS_fstat, -1, &st), EBADF);
	FAULTS(RAW(SYS_stat, "a", wild));
	FAULTS(RAW(SYS_lstat, "a", wild));
	FAULTS(RAW(SYS_fstat, fd, wild));
}

TEST(stat_at, "Does newfstatat know its flags?")
{
	struct stat st;
	int dir, fd;

	OK(mkdir("d", 0755));
	make_file("d/a", "text");
	OK(symlink("a", "d/s"));
	dir = (int)OK(open("d", O_RDONLY | O_DIRECTORY));
	fd = (int)OK(open("d/a", O_RDONLY));
	OK(RAW(SYS_newfstatat, dir, "a", &st, 0));
	IS(st.st_size, 4);
	OK(RAW(SYS_newfstatat, dir, "s", &st, AT_SYMLINK_NOFOLLOW));
	IS(st.st_mode & S_IFMT, S_IFLNK);
	OK(RAW(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH));
	IS(st.st_size, 4);
	FAILS(RAW(SYS_newfstatat, fd, "", &st, 0), ENOENT);
	FAILS(RAW(SYS_newfstatat, dir, "a", &st, 0x10000), EINVAL);
	FAILS(RAW(SYS_newfstatat, 99, "a", &st, 0), EBADF);
	FAILS(RAW(SYS_newfstatat, fd, "a", &st, 0), ENOTDIR);
	FAULTS(RAW(SYS_newfstatat, dir, "a", wild, 0));
}

TEST(access, "Does access look at what is asked?")
{
	make_file("a", "");
	OK(chmod("a", 0600));
	OK(access("a", F_OK));
	OK(access("a", R_OK | W_OK));
	FAILS(access("a", X_OK), EACCES);
	OK(chmod("a", 0700));
	OK(access("a", X_OK));
	FAILS(access("none", F_OK), ENOENT);
	FAILS(access("a/b", F_OK), ENOTDIR);
	FAILS(RAW(SYS_access, "a", 8), EINVAL);
	OK(RAW(SYS_faccessat, AT_FDCWD, "a", R_OK));
	FAILS(RAW(SYS_faccessat, 99, "a", R_OK), EBADF);
	FAILS(RAW(SYS_faccessat, AT_FDCWD, "a", 8), EINVAL);
}

TEST(access_ordinary, "Is an ordinary user refused what mode forbids?")
{
	char byte;

	make_file("r", "x");
	make_file("none", "x");
	OK(mkdir("closed", 0755));
	make_file("closed/a", "x");
	OK(mkdir("fixed", 0755));
	make_file("fixed/a", "x");
	OK(chmod(".", 0777));
	become_ordinary();
	make_file("mine", "x");
	OK(chmod("mine", 0));
	FAILS(open("mine", O_RDONLY), EACCES);
	FAILS(open("mine", O_WRONLY | O_TRUNC), EACCES);
	FAILS(access("mine", R_OK), EACCES);
	FAILS(truncate("mine", 0), EACCES);
	OK(mkdir("dir", 0755));
	make_file("dir/a", "x");
	OK(chmod("dir", 0444));
	FAILS(open("dir/a", O_RDONLY), EACCES);
	FAILS(chdir("dir"), EACCES);
	FAILS(access("dir/none", F_OK), EACCES);
	OK(chmod("dir", 0555));
	FAILS(open("dir/new", O_RDWR | O_CREAT, 0644), EACCES);
	FAILS(mkdir("dir/new", 0755), EACCES);
	FAILS(unlink("dir/a"), EACCES);
	FAILS(rename("dir/a", "b"), EACCES);
	FAILS(link("dir/a", "dir/b"), EACCES);
	FAILS(symlink("dir/a", "dir/b"), EACCES);
	IS(read((int)OK(open("dir/a", O_RDONLY)), &byte, 1), 1);
}

TEST(access_root, "Does root pass where an ordinary user is refused, but for executing?")
{
	only_for_root();
	make_file("a", "x");
	OK(chmod("a", 0));
	OK(open("a", O_RDWR));
	OK(access("a", R_OK | W_OK));
	FAILS(access("a", X_OK), EACCES);
	OK(mkdir("d", 0));
	make_file("d/a", "");
	OK(chown("a", OTHER_USER, OTHER_USER));
	OK(chmod("a", 0640));
}

TEST(chmod, "Does chmod set twelve bits, by name and by descriptor?")
{
	int fd;

	fd = made_file("a", "", O_RDONLY);
	OK(chmod("a", 0107751));
	IS(status_of("a").st_mode, S_IFREG | 07751);
	OK(fchmod(fd, 0604));
	IS(status_of("a").st_mode, S_IFREG | 0604);
	OK(RAW(SYS_fchmodat, AT_FDCWD, "a", 0611));
	IS(status_of("a").st_mode, S_IFREG | 0611);
	FAILS(chmod("none", 0), ENOENT);
	FAILS(fchmod(99, 0), EBADF);
}

TEST(chmod_chown_ordinary, "May an ordinary user not change what is another's?")
{
	make_file("a", "");
	OK(chmod(".", 0777));
	if (is_root()) {
		become_ordinary();
		FAILS(chmod("a", 0777), EPERM);
		FAILS(chown("a", getuid(), getgid()), EPERM);
	}
	make_file("b", "");
	OK(chmod("b", 0777));
	OK(chown("b", getuid(), getgid()));
	OK(chown("b", (uid_t)-1, (gid_t)-1));
	FAILS(chown("b", getuid() + 1, (gid_t)-1), EPERM);
	FAILS(chown("b", (uid_t)-1, getgid() + 1), EPERM);
}

TEST(chown, "Does chown set owner and group, and clear set-user-id?")
{
	int fd;

	only_for_root();
	make_file("a", "");
	OK(symlink("a", "s"));
	OK(chmod("a", 06755));
	OK(chown("s", 10, 20));
	IS(status_of("a").st_uid, 10);
	IS(status_of("a").st_gid, 20);
	IS(status_of("a").st_mode, S_IFREG | 0755);
	OK(lchown("s", 11, 21));
	IS(status_of("s").st_uid, 11);
	fd = (int)OK(open("a", O_RDONLY));
	OK(fchown(fd, 12, (gid_t)-1));
	IS(status_of("a").st_uid, 12);
	IS(status_of("a").st_gid, 20);
	OK(RAW(SYS_fchownat, AT_FDCWD, "s", 13, 23, AT_SYMLINK_NOFOLLOW));
	IS(status_of("s").st_gid, 23);
	FAILS(RAW(SYS_fchownat, AT_FDCWD, "s", 13, 23, 0x10000), EINVAL);
	FAILS(fchown(99, 0, 0), EBADF);
	FAILS(chown("none", 0, 0), ENOENT);
}

TEST(sticky, "May only the owner remove a name from a sticky folder?")
{
	only_for_root();
	OK(mkdir("d", 0755));
	OK(chmod("d", 01777));
	make_file("d/a", "");
	become_ordinary();
	make_file("d/mine", "");
	FAILS(unlink("d/a"), EPERM);
	FAILS(rename("d/a", "d/b"), EPERM);
	FAILS(rename("d/mine", "d/a"), EPERM);
	OK(unlink("d/mine"));
}

TEST(group_rights, "Is a file's group judged by the group's bits alone?")
{
	gid_t groups[2] = { 77, 78 };

	only_for_root();
	make_file("a", "");
	OK(chown("a", 0, 77));
	OK(chmod("a", 0604));
	make_file("b", "");
	OK(chown("b", 0, 78));
	OK(chmod("b", 0640));
	OK(RAW(SYS_setgroups, 2, groups));
	OK(setresgid(OTHER_USER, OTHER_USER, OTHER_USER));
	OK(setresuid(OTHER_USER, OTHER_USER, OTHER_USER));
	FAILS(open("a", O_RDONLY), EACCES);
	OK(open("b", O_RDONLY));
	FAILS(open("b", O_WRONLY), EACCES);
}

static struct timespec modified(const char *name)
{
	return status_of(name).st_mtim;
}

static int later(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

TEST(times_change, "Do writing, naming and mode change a file's and its folder's times?")
{
	struct timespec before, folder;
	int fd;

	make_file("a", "text");
	before = modified("a");
	folder = modified(".");
	sleep_ms(20);
	fd = (int)OK(open("a", O_WRONLY));
	TRUE(!later(modified("a"), before));
	IS(write(fd, "x", 1), 1);
	TRUE(later(modified("a"), before));
	TRUE(!later(modified("."), folder));
	make_file("b", "");
	TRUE(later(modified("."), folder));
	before = modified("a");
	sleep_ms(20);
	OK(chmod("a", 0600));
	TRUE(later(status_of("a").st_ctim, before));
	TRUE(!later(status_of("a").st_mtim, before));
}

TEST(utimensat, "Does utimensat set times, and know UTIME_NOW and UTIME_OMIT?")
{
	struct timespec set[2] = { { 1000000000, 5000 }, { 1100000000, 7000 } },
			bad[2] = { { 0, 1000000000 }, { 0, 0 } };
	int fd;

	make_file("a", "");
	OK(symlink("a", "s"));
	OK(utimensat(AT_FDCWD, "s", set, 0));
	IS(status_of("a").st_atim.tv_sec, 1000000000);
	IS(status_of("a").st_mtim.tv_sec, 1100000000);
	IS(status_of("a").st_mtim.tv_nsec, 7000);
	set[0].tv_nsec = UTIME_OMIT;
	set[1].tv_nsec = UTIME_NOW;
	fd = (int)OK(open("a", O_RDONLY));
	OK(futimens(fd, set));
	IS(status_of("a").st_atim.tv_sec, 1000000000);
	TRUE(status_of("a").st_mtim.tv_sec > 1100000000);
	OK(utimensat(AT_FDCWD, "a", NULL, 0));
	TRUE(status_of("a").st_atim.tv_sec > 1100000000);
	FAILS(utimensat(AT_FDCWD, "a", bad, 0), EINVAL);
	FAILS(utimensat(AT_FDCWD, "none", set, 0), ENOENT);
	FAILS(utimensat(AT_FDCWD, "a", set, 0x10000), EINVAL);
	FAULTS(RAW(SYS_utimensat, AT_FDCWD, "a", wild, 0));
}

TEST(statfs, "Does statfs tell a file system's size, by name and by descriptor?")
{
	struct statfs by_name, by_fd;
	int fd = (int)OK(open(".", O_RDONLY));

	OK(RAW(SYS_statfs, ".", &by_name));
	OK(RAW(SYS_fstatfs, fd, &by_fd));
	IS(by_name.f_type, by_fd.f_type);
	TRUE(by_name.f_bsize > 0);
	TRUE(by_name.f_namelen >= 14);
	TRUE(by_name.f_bfree <= by_name.f_blocks);
	FAILS(RAW(SYS_statfs, "none", &by_name), ENOENT);
	FAILS(RAW(SYS_fstatfs, 99, &by_name), EBADF);
	FAULTS(RAW(SYS_statfs, ".", wild));
	FAULTS(RAW(SYS_fstatfs, fd, wild));
}

TEST(chmod_group, "Is set-group-id given only by members of the group, on a folder too?")
{
	only_for_root();
	OK(mkdir("d", 0755));
	make_file("a", "");
	OK(chown("d", OTHER_USER, 4242));
	OK(chown("a", OTHER_USER, 4242));
	become_ordinary();
	OK(chmod("d", 02777));
	IS(status_of("d").st_mode, S_IFDIR | 0777);
	OK(chmod("a", 02777));
	IS(status_of("a").st_mode, S_IFREG | 0777);
}

/* For a file that was last read a second after it was written and has changed now: returns the time of the last read
 * after `how`. */
static long read_after(int fd, void (*how)(int fd))
{
	const struct timespec past[2] = { { 1100000000, 0 }, { 1000000000, 0 } };
	struct stat st;

	OK(futimens(fd, past));
	how(fd);
	OK(fstat(fd, &st));
	IS(st.st_mtim.tv_sec, 1000000000);
	return st.st_atim.tv_sec;
}

static void by_read(int fd)
{
	char byte;

	IS(pread(fd, &byte, 1, 0), 1);
}

static void by_mmap(int fd)
{
	OK(munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), PAGE));
}

static void by_getdents(int fd)
{
	char entries[1024];

	OK(lseek(fd, 0, SEEK_SET));
	TRUE(OK(RAW(SYS_getdents64, fd, entries, sizeof entries)) > 0);
}

TEST(status_accessed, "Is what was changed since said to be read when it is read, mapped or listed?")
{
	int fd = (int)OK(open("file", O_RDWR | O_CREAT, 0600));
	int quiet = (int)OK(open("file", O_RDONLY | O_NOATIME));
	int folder = (int)OK(open(".", O_RDONLY));

	IS(write(fd, "x", 1), 1);
	TRUE(read_after(fd, by_read) > 1100000000);
	TRUE(read_after(fd, by_mmap) > 1100000000);
	TRUE(read_after(folder, by_getdents) > 1100000000);
	IS(read_after(quiet, by_read), 1100000000);
	IS(read_after(quiet, by_mmap), 1100000000);
}
