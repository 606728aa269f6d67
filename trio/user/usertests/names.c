/* names.c: names of files: making, removing and changing them; symbolic links. */
#include "usertests.h"

TEST(unlink, "Does unlink remove a name, and say why not?")
{
	OK(mkdir("d", 0755));
	make_file("f", "");
	FAILS(unlink("d"), EISDIR);
	FAILS(unlink("none"), ENOENT);
	FAILS(unlink("f/x"), ENOTDIR);
	FAILS(unlink("f/"), ENOTDIR);
	OK(unlink("f"));
	FAILS(unlink("f"), ENOENT);
	make_file("f", "");
	FAILS(RAW(SYS_unlinkat, AT_FDCWD, "f", AT_REMOVEDIR), ENOTDIR);
	FAILS(RAW(SYS_unlinkat, AT_FDCWD, "d", 0), EISDIR);
	FAILS(RAW(SYS_unlinkat, AT_FDCWD, "f", 1), EINVAL);
	OK(RAW(SYS_unlinkat, AT_FDCWD, "d", AT_REMOVEDIR));
	OK(RAW(SYS_unlinkat, AT_FDCWD, "f", 0));
}

TEST(link, "Is a link a second name of the same file?")
{
	make_file("a", "text");
	OK(mkdir("d", 0755));
	OK(link("a", "b"));
	TRUE(is_same("a", "b"));
	IS(status_of("a").st_nlink, 2);
	OK(unlink("a"));
	TRUE(file_is("b", "text"));
	IS(status_of("b").st_nlink, 1);
	FAILS(link("b", "b"), EEXIST);
	FAILS(link("none", "c"), ENOENT);
	FAILS(link("b", "none/c"), ENOENT);
	FAILS(link("d", "e"), EPERM);
	FAILS(link("b/", "c"), ENOTDIR);
	OK(symlink("b", "s"));
	OK(link("s", "t"));
	IS(status_of("s").st_nlink, 2);
	OK(RAW(SYS_linkat, AT_FDCWD, "s", AT_FDCWD, "u", AT_SYMLINK_FOLLOW));
	IS(status_of("b").st_nlink, 2);
	FAILS(RAW(SYS_linkat, AT_FDCWD, "b", AT_FDCWD, "v", 1), EINVAL);
}

TEST(symlink, "Does a symbolic link hold its text, and lead where it says?")
{
	char text[64];
	struct stat st;

	make_file("a", "text");
	OK(mkdir("d", 0755));
	OK(symlink("a", "s"));
	OK(symlink("../a", "d/s"));
	OK(symlink("nowhere", "n"));
	IS(readlink("s", text, sizeof text), 1);
	IS(readlink("n", text, 3), 3);
	TRUE(memcmp(text, "now", 3) == 0);
	IS(status_of("n").st_mode & S_IFMT, S_IFLNK);
	IS(status_of("n").st_size, 7);
	TRUE(file_is("d/s", "text"));
	FAILS(stat("n", &st), ENOENT);
	FAILS(readlink("a", text, 3), EINVAL);
	FAILS(readlink("none", text, 3), ENOENT);
	FAILS(RAW(SYS_readlink, "s", text, 0), EINVAL);
	FAILS(RAW(SYS_readlink, "s", text, -1), EINVAL);
	FAULTS(RAW(SYS_readlink, "s", wild, 8));
	FAILS(symlink("a", "s"), EEXIST);
	FAILS(symlink("", "t"), ENOENT);
	FAILS(symlink("a", ""), ENOENT);
	OK(open("n", O_RDWR | O_CREAT, 0644));
	OK(stat("nowhere", &st));
	IS(RAW(SYS_readlinkat, AT_FDCWD, "s", text, sizeof text), 1);
}

TEST(symlink_loops, "Do 40 symbolic links lead on, and more or a circle give ELOOP?")
{
	char to[16], name[16];
	struct stat st;

	OK(symlink("y", "x"));
	OK(symlink("x", "y"));
	FAILS(stat("x", &st), ELOOP);
	FAILS(open("x", O_RDONLY), ELOOP);
	FAILS(chdir("x"), ELOOP);
	FAILS(stat("x/z", &st), ELOOP);
	make_file("l0", "end");
	for (int i = 1; i <= 41; i++) {
		snprintf(to, sizeof to, "l%d", i - 1);
		snprintf(name, sizeof name, "l%d", i);
		OK(symlink(to, name));
	}
	OK(stat("l40", &st));
	FAILS(stat("l41", &st), ELOOP);
}

TEST(rename_over, "Does rename put a file in another's place at once?")
{
	int fd;
	char text[8];

	make_file("a", "new");
	fd = made_file("b", "old", O_RDONLY);
	OK(rename("a", "b"));
	FAILS(open("a", O_RDONLY), ENOENT);
	TRUE(file_is("b", "new"));
	IS(read(fd, text, 8), 3);
	TRUE(memcmp(text, "old", 3) == 0);
	OK(rename("b", "b"));
	OK(link("b", "c"));
	OK(rename("b", "c"));
	IS(status_of("b").st_nlink, 2);
	OK(symlink("b", "s"));
	OK(rename("s", "t"));
	TRUE(file_is("t", "new"));
}

TEST(rename_folders, "Does rename of folders keep the tree a tree?")
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	OK(mkdir("d/e/f", 0755));
	OK(mkdir("g", 0755));
	make_file("file", "");
	FAILS(rename("d", "d/e/new"), EINVAL);
	FAILS(rename("d", "d/e"), EINVAL);
	FAILS(rename("d/e/f", "d"), ENOTEMPTY);
	FAILS(rename("d", "file"), ENOTDIR);
	FAILS(rename("file", "d"), EISDIR);
	FAILS(rename("none", "x"), ENOENT);
	FAILS(rename("d", "none/x"), ENOENT);
	FAILS(rename("g", "d"), ENOTEMPTY);
	OK(rename("d/e", "g"));
	TRUE(is_same("g/f/..", "g"));
	TRUE(is_same("g/..", "."));
	OK(rmdir("d"));
	FAILS(rename("g/.", "x"), EBUSY);
	FAILS(rename("/", "/x"), EBUSY);
}

TEST(renameat2, "Does RENAME_NOREPLACE refuse a name that is taken?")
{
	make_file("a", "1");
	make_file("b", "2");
	OK(RAW(SYS_renameat, AT_FDCWD, "a", AT_FDCWD, "c"));
	FAILS(RAW(SYS_renameat2, AT_FDCWD, "c", AT_FDCWD, "b", 1), EEXIST);
	OK(RAW(SYS_renameat2, AT_FDCWD, "c", AT_FDCWD, "d", 1));
	FAILS(RAW(SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "b", 0x1000), EINVAL);
}

TEST(symlink_folders, "Do calls that remove or make names treat a symbolic link's trailing slash as Linux does?")
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	OK(symlink("d", "s"));
	OK(symlink("nowhere", "n"));
	OK(access("s/..", F_OK));
	IS(status_of("s/").st_mode & S_IFMT, S_IFDIR);
	FAILS(rmdir("s"), ENOTDIR);
	FAILS(rmdir("s/"), ENOTDIR);
	FAILS(unlink("s/"), ENOTDIR);
	FAILS(mkdir("n", 0755), EEXIST);
	FAILS(mkdir("s", 0755), EEXIST);
	FAILS(link("d", "n"), EEXIST);
	OK(mkdir("s/new", 0755));
	OK(rmdir("d/new"));
	OK(rename("s/e", "e"));
	OK(unlink("s"));
	OK(access("d", F_OK));
}

TEST(symlink_long, "How long may a symbolic link's text be?")
{
	static char text[5000], back[5000];

	memset(text, 'x', sizeof text);
	text[4095] = '\0';
	OK(symlink(text, "s"));
	IS(readlink("s", back, sizeof back), 4095);
	FAILS(open("s", O_RDONLY), ENAMETOOLONG);
	text[4095] = 'x';
	text[4096] = '\0';
	FAILS(symlink(text, "t"), ENAMETOOLONG);
	FAILS(symlink("a", text), ENAMETOOLONG);
}

TEST(rename_cwd, "Does a renamed folder stay one's cwd, under its new name?")
{
	char before[PATH_MAX], text[PATH_MAX];

	OK(RAW(SYS_getcwd, before, sizeof before));
	OK(mkdir("d", 0755));
	OK(mkdir("e", 0755));
	OK(chdir("d"));
	OK(rename("../d", "../e/f"));
	make_file("a", "");
	OK(RAW(SYS_getcwd, text, sizeof text));
	TRUE(strcmp(text + strlen(before), "/e/f") == 0);
	OK(chdir("../.."));
	IS(file_size("e/f/a"), 0);
}

TEST(rename_swap, "Do a thousand renames to and fro lose nothing?")
{
	make_file("a", "one");
	make_file("b", "two");
	OK(mkdir("d", 0755));
	for (int i = 0; i < 1000; i++) {
		OK(rename("a", "d/a"));
		OK(rename("b", "a"));
		OK(rename("d/a", "b"));
	}
	TRUE(file_is("a", "one"));
	TRUE(file_is("b", "two"));
	OK(rmdir("d"));
}
