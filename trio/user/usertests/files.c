/* files.c: opening files: what is made, what is refused, which descriptor is given and what it allows. */
#include "usertests.h"

TEST(open_create, "Does O_CREAT make a file with mode & ~umask, and O_EXCL refuse one that is there?")
{
	struct stat st;
	int fd;

	umask(027);
	fd = (int)OK(open("a", O_CREAT | O_EXCL | O_RDWR, 0777));
	OK(fstat(fd, &st));
	IS(st.st_mode, S_IFREG | 0750);
	IS(st.st_size, 0);
	IS(st.st_nlink, 1);
	FAILS(open("a", O_CREAT | O_EXCL | O_RDWR, 0777), EEXIST);
	OK(open("a", O_CREAT | O_RDWR, 0777));
	OK(symlink("nowhere", "s"));
	FAILS(open("s", O_CREAT | O_EXCL | O_RDWR, 0777), EEXIST);
}

TEST(open_creates_readonly, "Can the one who creates a file write it although its mode forbids it?")
{
	int fd = (int)OK(open("a", O_CREAT | O_WRONLY, 0400));

	IS(write(fd, "x", 1), 1);
	IS(file_size("a"), 1);
}

TEST(open_errors, "Does open say why it fails?")
{
	char name[300];

	make_file("file", "");
	OK(mkdir("dir", 0755));
	FAILS(open("none", O_RDONLY), ENOENT);
	FAILS(open("none/x", O_RDONLY | O_CREAT, 0644), ENOENT);
	FAILS(open("", O_RDONLY), ENOENT);
	FAILS(open("file/x", O_RDONLY), ENOTDIR);
	FAILS(open("file/", O_RDONLY), ENOTDIR);
	FAILS(open("file", O_RDONLY | O_DIRECTORY), ENOTDIR);
	FAILS(open("dir", O_WRONLY), EISDIR);
	FAILS(open("dir", O_RDWR), EISDIR);
	FAILS(open("dir", O_RDONLY | O_CREAT, 0644), EISDIR);
	FAILS(open("new/", O_RDWR | O_CREAT, 0644), EISDIR);
	memset(name, 'n', sizeof name);
	name[256] = '\0';
	FAILS(open(name, O_RDONLY), ENAMETOOLONG);
	FAILS(open(name, O_RDWR | O_CREAT, 0644), ENAMETOOLONG);
	name[255] = '\0';
	OK(open(name, O_RDWR | O_CREAT, 0644));
}

TEST(open_wild, "Does a wild path give EFAULT to each call that takes one?")
{
	char text[8];
	struct stat st;

	FAULTS(RAW(SYS_open, wild, O_RDONLY));
	FAULTS(RAW(SYS_openat, AT_FDCWD, wild, O_RDONLY));
	FAULTS(RAW(SYS_stat, wild, &st));
	FAULTS(RAW(SYS_lstat, wild, &st));
	FAULTS(RAW(SYS_access, wild, R_OK));
	FAULTS(RAW(SYS_mkdir, wild, 0755));
	FAULTS(RAW(SYS_rmdir, wild));
	FAULTS(RAW(SYS_unlink, wild));
	FAULTS(RAW(SYS_link, wild, "b"));
	FAULTS(RAW(SYS_symlink, wild, "b"));
	FAULTS(RAW(SYS_symlink, "b", wild));
	FAULTS(RAW(SYS_readlink, wild, text, sizeof text));
	FAULTS(RAW(SYS_rename, wild, "b"));
	FAULTS(RAW(SYS_chdir, wild));
	FAULTS(RAW(SYS_chmod, wild, 0755));
	FAULTS(RAW(SYS_chown, wild, -1, -1));
	FAULTS(RAW(SYS_truncate, wild, 0));
	FAULTS(RAW(SYS_mknod, wild, S_IFIFO | 0644, 0));
}

TEST(open_modes, "Is a file read only for reading, and written only for writing?")
{
	char byte;
	int fd;

	fd = made_file("a", "text", O_RDONLY);
	FAILS(write(fd, "x", 1), EBADF);
	FAILS(ftruncate(fd, 1), EINVAL);
	fd = (int)OK(open("a", O_WRONLY));
	FAILS(read(fd, &byte, 1), EBADF);
	fd = (int)OK(open("a", O_RDWR));
	IS(read(fd, &byte, 1), 1);
	IS(write(fd, "x", 1), 1);
	TRUE(file_is("a", "txxt"));
}

TEST(open_truncates, "Does O_TRUNC empty a file?")
{
	make_file("a", "text");
	OK(open("a", O_WRONLY | O_TRUNC));
	IS(file_size("a"), 0);
}

TEST(open_lowest, "Is a new descriptor the lowest that is free?")
{
	int a = (int)OK(open(".", O_RDONLY)), b = (int)OK(open(".", O_RDONLY)), c = (int)OK(open(".", O_RDONLY));

	IS(b, a + 1);
	IS(c, a + 2);
	OK(close(a));
	OK(close(b));
	IS(open(".", O_RDONLY), a);
	IS(dup(c), b);
	FAILS(close(c + 1), EBADF);
	FAILS(close(-1), EBADF);
	FAILS(close(1000000), EBADF);
}

TEST(open_nofollow, "Does O_NOFOLLOW refuse a symbolic link?")
{
	make_file("a", "");
	OK(symlink("a", "s"));
	OK(open("s", O_RDONLY));
	FAILS(open("s", O_RDONLY | O_NOFOLLOW), ELOOP);
	OK(open("a", O_RDONLY | O_NOFOLLOW));
}

TEST(open_at, "Does openat start from the folder of its descriptor?")
{
	int dir, file;

	OK(mkdir("dir", 0755));
	make_file("dir/a", "inside");
	make_file("a", "outside");
	dir = (int)OK(open("dir", O_RDONLY | O_DIRECTORY));
	file = (int)OK(openat(dir, "a", O_RDWR));
	OK(ftruncate(file, 0));
	IS(file_size("dir/a"), 0);
	TRUE(file_is("a", "outside"));
	OK(openat(-1, "/", O_RDONLY));
	FAILS(openat(file, "a", O_RDONLY), ENOTDIR);
	FAILS(openat(-1, "a", O_RDONLY), EBADF);
	FAILS(openat(99, "a", O_RDONLY), EBADF);
}

TEST(creat_is_open, "Is creat open for writing that truncates?")
{
	int fd;
	char byte;

	make_file("a", "text");
	fd = (int)OK(RAW(SYS_creat, "a", 0644));
	IS(file_size("a"), 0);
	FAILS(read(fd, &byte, 1), EBADF);
	IS(write(fd, "b", 1), 1);
}
