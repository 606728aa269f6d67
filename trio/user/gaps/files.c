/* files.c: calls about files. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "gaps.h"

#define NAMES 20000

static char *p;
static int fd, other = -1;

static void file(void)
{
	fd = open("gaps", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0, "open");
}

/* A file with all its pages, and as much memory at `p`. */
static void full_file(void)
{
	file();
	p = memory(large, 1);
	must(write(fd, p, large) == (ssize_t)large && lseek(fd, 0, SEEK_SET) == 0, "write");
}

static void file_end(void)
{
	unlink("gaps");
	close(fd);
	if (p)
		munmap(p, large);
	p = NULL;
}

static void file_and_memory(void)
{
	file();
	p = memory(large, 1);
}

static void write_all(void)
{
	must(write(fd, p, large) == (ssize_t)large, "write");
}

static void write_pieces(void)
{
	struct iovec pieces[1024];

	for (int i = 0; i < 1024; i++)
		pieces[i] = (struct iovec){ p + (size_t)i * (large / 1024), large / 1024 };
	must(writev(fd, pieces, 1024) > 0, "writev");
}

static void read_all(void)
{
	must(read(fd, p, large) == (ssize_t)large, "read");
}

/* A file that is one hole. */
static void hole(void)
{
	file_and_memory();
	must(ftruncate(fd, (off_t)large) == 0, "ftruncate");
}

static void device(const char *name)
{
	fd = open(name, O_RDWR);
	must(fd >= 0, name);
	p = memory(large, 1);
}

static void zero(void)
{
	device("/dev/zero");
}

static void urandom(void)
{
	device("/dev/urandom");
}

static void device_end(void)
{
	close(fd);
	munmap(p, large);
	p = NULL;
}

/* Far slower than the others, so a smaller size shows as much. */
#define RANDOM (16ul << 20)

static void read_random(void)
{
	must(read(fd, p, RANDOM) == (ssize_t)RANDOM, "read of urandom");
}

static void get_random(void)
{
	must(syscall(SYS_getrandom, p, RANDOM, 0) == (long)RANDOM, "getrandom");
}

static void two_files(void)
{
	full_file();
	munmap(p, large);
	p = NULL;
	other = open("gaps.2", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(other >= 0, "open");
}

static void send_all(void)
{
	off_t from = 0;

	must(sendfile(other, fd, &from, large) > 0, "sendfile");
}

static void two_files_end(void)
{
	close(other);
	unlink("gaps.2");
	file_end();
}

static void to_null(void)
{
	two_files();
	close(other);
	other = open("/dev/null", O_RDWR);
}

static void allocate(void)
{
	must(posix_fallocate(fd, 0, (off_t)large) == 0, "posix_fallocate");
}

static void cut(void)
{
	must(ftruncate(fd, 1) == 0, "ftruncate");
}

static void cut_half(void)
{
	must(ftruncate(fd, (off_t)large / 2 + 1) == 0, "ftruncate");
}

static void open_cut(void)
{
	close(open("gaps", O_WRONLY | O_TRUNC));
}

static void remove_file(void)
{
	close(fd);
	fd = -1;
	must(unlink("gaps") == 0, "unlink");
}

static void close_last(void)
{
	must(unlink("gaps") == 0 && close(fd) == 0, "close");
	fd = -1;
}

static void map_populated(void)
{
	char *at = mmap(NULL, large, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

	must(at != MAP_FAILED, "mmap of a file");
	munmap(at, large);
}

static void names(void)
{
	char name[64];

	must(mkdir("gaps.d", 0700) == 0, "mkdir");
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "gaps.d/name-that-is-not-short-%d", i);
		must(mknod(name, S_IFREG | 0600, 0) == 0, "mknod");
	}
	fd = open("gaps.d", O_RDONLY | O_DIRECTORY);
	must(fd >= 0, "open");
}

static void names_end(void)
{
	char name[64];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "gaps.d/name-that-is-not-short-%d", i);
		unlink(name);
	}
	close(fd);
	rmdir("gaps.d");
}

static void entries(void)
{
	size_t room = 8ul << 20;
	char *to = memory(room, 1);

	must(syscall(SYS_getdents64, fd, to, room) > 0, "getdents64");
	munmap(to, room);
}

/* Opens as many descriptors as allowed. */
static void descriptors(void)
{
	file();
	while (dup(fd) >= 0)
		continue;
}

static void close_all(void)
{
	must(syscall(SYS_close_range, 3, ~0u, 0) == 0, "close_range");
}

static void mapped_many(void)
{
	full_file();
	munmap(p, large);
	p = mmap(NULL, large, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	must(p != MAP_FAILED, "mmap of a file");
}

const struct gap file_calls[] = {
	{ "write", file_and_memory, write_all, file_end },
	{ "writev", file_and_memory, write_pieces, file_end },
	{ "read", full_file, read_all, file_end },
	{ "read-hole", hole, read_all, file_end },
	{ "read-zero", zero, read_all, device_end },
	{ "read-urandom", urandom, read_random, device_end },
	{ "getrandom", urandom, get_random, device_end },
	{ "sendfile", two_files, send_all, two_files_end },
	{ "sendfile-null", to_null, send_all, two_files_end },
	{ "fallocate", file, allocate, file_end },
	{ "ftruncate", full_file, cut, file_end },
	{ "ftruncate-half", full_file, cut_half, file_end },
	{ "ftruncate-mapped", mapped_many, cut, file_end },
	{ "open-truncate", full_file, open_cut, file_end },
	{ "unlink", full_file, remove_file, file_end },
	{ "close-last", full_file, close_last, file_end },
	{ "mmap-file-populate", full_file, map_populated, file_end },
	{ "getdents", names, entries, names_end },
	{ "close-range", descriptors, close_all, file_end },
	{ NULL, NULL, NULL, NULL },
};
