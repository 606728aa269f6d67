/* accident.c: loaded into a probe (LD_PRELOAD), it breaks the 5th read or write of ACCIDENT_BYTES bytes on a regular
 * file, as ACCIDENT says: short-read, garbled-first, garbled-last, short-write, lost-write. garbled-all: each read. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int concerned(int fd, size_t n)
{
	const char *bytes = getenv("ACCIDENT_BYTES");
	struct stat s;

	return bytes && n == strtoul(bytes, NULL, 10) && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

static int asked_for(const char *kind)
{
	const char *accident = getenv("ACCIDENT");

	return accident && strcmp(accident, kind) == 0;
}

ssize_t read(int fd, void *to, size_t n)
{
	static int seen;
	int fifth = concerned(fd, n) && ++seen == 5;
	ssize_t got = syscall(SYS_read, fd, to, fifth && asked_for("short-read") ? n - 1 : n);

	if (got > 0 && fifth && asked_for("garbled-first"))
		*(char *)to ^= 1;
	if (got > 0 && ((fifth && asked_for("garbled-last")) || (concerned(fd, n) && asked_for("garbled-all"))))
		((char *)to)[got - 1] ^= 1;
	return got;
}

ssize_t write(int fd, const void *from, size_t n)
{
	static int seen;
	int fifth = concerned(fd, n) && ++seen == 5;

	if (fifth && asked_for("lost-write"))
		return lseek(fd, (off_t)n, SEEK_CUR) < 0 ? -1 : (ssize_t)n;
	return syscall(SYS_write, fd, from, fifth && asked_for("short-write") ? n - 1 : n);
}
