/* dirs.c: making, reading, walking and removing folders. */
#include "usertests.h"

#include <sys/sysmacros.h>

TEST(mkdir, "Does mkdir make a folder with mode & ~umask, and say why not?")
{
	char name[300];

	umask(022);
	OK(mkdir("d", 0777));
	IS(status_of("d").st_mode, S_IFDIR | 0755);
	make_file("f", "");
	FAILS(mkdir("d", 0777), EEXIST);
	FAILS(mkdir("f", 0777), EEXIST);
	FAILS(mkdir(".", 0777), EEXIST);
	FAILS(mkdir("/", 0777), EEXIST);
	FAILS(mkdir("none/d", 0777), ENOENT);
	FAILS(mkdir("", 0777), ENOENT);
	FAILS(mkdir("f/d", 0777), ENOTDIR);
	OK(mkdir("e/", 0777));
	memset(name, 'n', sizeof name);
	name[256] = '\0';
	FAILS(mkdir(name, 0777), ENAMETOOLONG);
	name[255] = '\0';
	OK(mkdir(name, 0777));
	OK(RAW(SYS_mkdirat, OK(open("d", O_RDONLY)), "in", 0755));
	OK(access("d/in", F_OK));
}

TEST(rmdir, "Does rmdir remove an empty folder and nothing else?")
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	make_file("f", "");
	FAILS(rmdir("d"), ENOTEMPTY);
	FAILS(rmdir("f"), ENOTDIR);
	FAILS(rmdir("none"), ENOENT);
	FAILS(rmdir("d/e/."), EINVAL);
	FAILS(rmdir("d/e/.."), ENOTEMPTY);
	FAILS(rmdir("/"), EBUSY);
	OK(rmdir("d/e"));
	OK(rmdir("d"));
	FAILS(rmdir("d"), ENOENT);
}

TEST(folder_links, "Does a folder's link count tell its folders?")
{
	OK(mkdir("d", 0755));
	if (status_of("d").st_nlink != 2)
		skip("this file system does not count a folder's links");
	OK(mkdir("d/a", 0755));
	OK(mkdir("d/b", 0755));
	make_file("d/f", "");
	IS(status_of("d").st_nlink, 4);
	OK(rmdir("d/a"));
	IS(status_of("d").st_nlink, 3);
	OK(mkdir("e", 0755));
	OK(rename("d/b", "e/b"));
	IS(status_of("d").st_nlink, 2);
	IS(status_of("e").st_nlink, 3);
}

TEST(folder_gone, "Is a removed folder that is still someone's cwd empty and closed to new names?")
{
	char text[512];
	int fd;

	OK(mkdir("d", 0755));
	OK(chdir("d"));
	OK(rmdir("../d"));
	FAILS(open("a", O_RDWR | O_CREAT, 0644), ENOENT);
	FAILS(mkdir("a", 0755), ENOENT);
	FAILS(RAW(SYS_getcwd, text, sizeof text), ENOENT);
	fd = (int)OK(open(".", O_RDONLY));
	FAILS(RAW(SYS_getdents64, fd, text, sizeof text), ENOENT);
	OK(chdir(".."));
}

struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

/* Counts the names that begin with 'n'. Each may be seen once, by its number. */
static int count_names(int fd, size_t size, char *seen)
{
	char text[4096];
	long n;
	int count = 0;

	while ((n = OK(RAW(SYS_getdents64, fd, text, size))) > 0)
		for (long at = 0; at < n; at += ((struct entry *)(text + at))->length) {
			struct entry *entry = (struct entry *)(text + at);

			TRUE(entry->length >= 19 && entry->length % 8 == 0);
			if (entry->name[0] != 'n')
				continue;
			IS(seen[atoi(entry->name + 1)]++, 0);
			count++;
		}
	return count;
}

TEST(getdents, "Does a folder give each of many names once, in small pieces too?")
{
	enum { NAMES = 300 };
	char seen[NAMES] = "", name[16];
	int fd;

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "n%d", i);
		make_file(name, "");
	}
	fd = (int)OK(open(".", O_RDONLY | O_DIRECTORY));
	IS(count_names(fd, 4096, seen), NAMES);
	IS(count_names(fd, 4096, seen), 0);
	memset(seen, 0, sizeof seen);
	IS(lseek(fd, 0, SEEK_SET), 0);
	IS(count_names(fd, 64, seen), NAMES);
	OK(unlink("n5"));
	memset(seen, 0, sizeof seen);
	IS(lseek(fd, 0, SEEK_SET), 0);
	IS(count_names(fd, 512, seen), NAMES - 1);
	IS(seen[5], 0);
}

TEST(getdents_types, "Does getdents64 tell ., .. and what kind each name is?")
{
	char text[4096];
	int fd, names = 0;
	long n;

	make_file("f", "");
	OK(mkdir("d", 0755));
	OK(symlink("f", "l"));
	OK(mkfifo("p", 0644));
	fd = (int)OK(open(".", O_RDONLY | O_DIRECTORY));
	n = OK(RAW(SYS_getdents64, fd, text, sizeof text));
	for (long at = 0; at < n; at += ((struct entry *)(text + at))->length) {
		struct entry *entry = (struct entry *)(text + at);
		struct stat st = status_of(entry->name);

		if (strcmp(entry->name, "..") != 0)
			IS(entry->inode, st.st_ino);
		if (entry->type)
			IS(entry->type, st.st_mode >> 12);
		names++;
	}
	IS(names, 6);
}

TEST(getdents_errors, "Does getdents64 refuse files, small and wild buffers?")
{
	char text[512];
	int fd;

	fd = made_file("f", "", O_RDONLY);
	FAILS(RAW(SYS_getdents64, fd, text, sizeof text), ENOTDIR);
	fd = (int)OK(open(".", O_RDONLY));
	FAILS(RAW(SYS_getdents64, fd, text, 8), EINVAL);
	FAILS(RAW(SYS_getdents64, 99, text, sizeof text), EBADF);
	FAULTS(RAW(SYS_getdents64, fd, wild, 512));
}

TEST(getdents_while_removing, "Does removing names while reading a folder lose none of the others?")
{
	enum { NAMES = 100 };
	char text[256], name[32];
	int fd, removed = 0;
	long n;

	OK(mkdir("d", 0755));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "d/n%d", i);
		make_file(name, "");
	}
	fd = (int)OK(open("d", O_RDONLY | O_DIRECTORY));
	while ((n = OK(RAW(SYS_getdents64, fd, text, sizeof text))) > 0)
		for (long at = 0; at < n; at += ((struct entry *)(text + at))->length) {
			struct entry *entry = (struct entry *)(text + at);

			if (entry->name[0] != 'n')
				continue;
			snprintf(name, sizeof name, "d/%.20s", entry->name);
			OK(unlink(name));
			removed++;
		}
	IS(removed, NAMES);
	OK(rmdir("d"));
}

TEST(cwd, "Do chdir, fchdir and getcwd agree?")
{
	char before[PATH_MAX], text[PATH_MAX];
	int fd;
	long n = OK(RAW(SYS_getcwd, before, sizeof before));

	IS(strlen(before) + 1, n);
	fd = (int)OK(open(".", O_RDONLY));
	OK(mkdir("d", 0755));
	make_file("f", "");
	OK(chdir("d"));
	OK(RAW(SYS_getcwd, text, sizeof text));
	TRUE(strncmp(text, before, strlen(before)) == 0 && strcmp(text + strlen(before), "/d") == 0);
	FAILS(RAW(SYS_getcwd, text, strlen(before) + 2), ERANGE);
	FAULTS(RAW(SYS_getcwd, wild, PATH_MAX));
	OK(fchdir(fd));
	OK(RAW(SYS_getcwd, text, sizeof text));
	TRUE(strcmp(text, before) == 0);
	FAILS(chdir("f"), ENOTDIR);
	FAILS(chdir("none"), ENOENT);
	FAILS(fchdir(99), EBADF);
	FAILS(fchdir((int)OK(open("f", O_RDONLY))), ENOTDIR);
	OK(chdir("/"));
	IS(RAW(SYS_getcwd, text, sizeof text), 2);
}

TEST(paths, "Are //, . and .. in a path what they should be?")
{
	struct stat a;
	char path[5000];

	OK(mkdir("d", 0755));
	make_file("d/f", "");
	TRUE(is_same("d/f", ".//d/./..///d/f"));
	OK(stat("d/", &a));
	TRUE(is_same("/..", "/"));
	FAILS(stat("d/f/", &a), ENOTDIR);
	FAILS(stat("d/f/.", &a), ENOTDIR);
	FAILS(stat("d/f/..", &a), ENOTDIR);
	FAILS(stat("d/none/..", &a), ENOENT);
	memset(path, '/', sizeof path);
	path[4095] = '\0';
	OK(stat(path, &a));
	path[4095] = '/';
	path[4096] = '\0';
	FAILS(stat(path, &a), ENAMETOOLONG);
}

TEST(deep_tree, "Does a tree of 200 levels have a cwd, a way up and an end?")
{
	enum { DEEP = 200 };
	char text[PATH_MAX];
	ino_t top = status_of(".").st_ino;

	for (int i = 0; i < DEEP; i++) {
		OK(mkdir("down", 0755));
		OK(chdir("down"));
	}
	TRUE(OK(RAW(SYS_getcwd, text, sizeof text)) > 5 * DEEP);
	for (int i = 0; i < DEEP; i++) {
		OK(chdir(".."));
		OK(rmdir("down"));
	}
	IS(status_of(".").st_ino, top);
}

TEST(mknod, "Does mknod make files and FIFOs, and devices for root alone?")
{
	umask(0);
	OK(mknod("f", S_IFREG | 0640, 0));
	OK(mknod("g", 0600, 0));
	OK(mknod("p", S_IFIFO | 0604, 0));
	IS(status_of("f").st_mode, S_IFREG | 0640);
	IS(status_of("g").st_mode, S_IFREG | 0600);
	IS(status_of("p").st_mode, S_IFIFO | 0604);
	FAILS(mknod("f", S_IFREG | 0640, 0), EEXIST);
	FAILS(mknod("d", S_IFDIR | 0755, 0), EPERM);
	FAILS(mknod("x", 0170000 | 0644, 0), EINVAL);
	FAILS(mknod("none/x", S_IFREG | 0644, 0), ENOENT);
	OK(chmod(".", 0777));
	become_ordinary();
	FAILS(mknod("n", S_IFCHR | 0644, makedev(1, 3)), EPERM);
}

TEST(umask, "Does umask give the old mask, and keep nine bits?")
{
	umask(0123);
	IS(umask(07777), 0123);
	IS(umask(022), 0777);
	IS(umask(0), 022);
}

TEST(cwd_unreachable, "Does getcwd say that where it stands is not below its root?")
{
	char text[PATH_MAX] = "";

	only_for_root();
	OK(mkdir("jail", 0755));
	OK(RAW(SYS_chroot, "jail"));
	OK(RAW(SYS_getcwd, text, sizeof text));
	TRUE(strncmp(text, "(unreachable)/", 14) == 0);
	OK(chdir("/"));
	OK(RAW(SYS_getcwd, text, sizeof text));
	IS(strcmp(text, "/"), 0);
}
