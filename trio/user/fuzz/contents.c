/* contents.c: sequences about files: each file has what was last written to it, in whatever way. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE FUZZ_PAGE
#define MOST (1ul << 18)
#define VECTOR_MOST 1024

/* A file, and a model of its contents. */
static struct {
	int fd;
	size_t size;
	char bytes[MOST];
} file;

static size_t some_size(void)
{
	size_t n = size_around();

	return n < MOST / 2 ? n : MOST / 2;
}

static void write_some(size_t at, size_t n)
{
	static char bytes[MOST];

	fill(bytes, n, next());
	if (below(2)) {
		HOLDS(pwrite(file.fd, bytes, n, (off_t)at) == (long)n);
	} else {
		char *mapped = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);

		HOLDS(mapped != MAP_FAILED);
		if (at + n > file.size)
			HOLDS(ftruncate(file.fd, (off_t)(at + n)) == 0);
		memcpy(mapped + at, bytes, n);
		HOLDS(munmap(mapped, MOST) == 0);
	}
	memcpy(file.bytes + at, bytes, n);
	if (at + n > file.size)
		file.size = at + n;
}

static void cut_to(size_t n)
{
	HOLDS(ftruncate(file.fd, (off_t)n) == 0);
	if (n < file.size)
		memset(file.bytes + n, 0, file.size - n);
	file.size = n;
}

static void copied(size_t at, size_t n)
{
	int to = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
	static char got[MOST];
	size_t left = at < file.size ? file.size - at : 0, wanted = n < left ? n : left;
	off_t from = (off_t)at;

	HOLDS(to >= 0);
	for (size_t done = 0; done < wanted;) {
		long some = sendfile(to, file.fd, &from, wanted - done);

		HOLDS(some > 0);
		done += (size_t)some;
	}
	HOLDS(pread(to, got, sizeof got, 0) == (long)wanted);
	HOLDS(memcmp(got, file.bytes + at, wanted) == 0);
	close(to);
}

/* A file is written, mapped, truncated, extended and copied at odd offsets. It must have the same bytes as a model. */
void file_model(void)
{
	static char got[MOST];

	file.fd = file_with("file", 0, 0);
	for (int round = 0; round < 40; round++) {
		size_t n = some_size(), at = some_size();

		switch (below(4)) {
		case 0:
			cut_to(n);
			break;
		case 1:
			copied(at, n);
			break;
		default:
			write_some(at, n);
		}
		HOLDS(pread(file.fd, got, sizeof got, 0) == (long)file.size);
		HOLDS(memcmp(got, file.bytes, file.size) == 0);
	}
}

static void touch_page(const volatile char *at, int within)
{
	pid_t pid;
	int status;

	START_CHILD (pid) {
		(void)*at;
	}
	HOLDS(waitpid(pid, &status, 0) == pid);
	HOLDS(within ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

/* Pages of a mapped file are accessible up to the file's end, for program and kernel, and not beyond it. */
void mapped_file(void)
{
	int kind = below(2) ? MAP_SHARED : MAP_PRIVATE, ends[2];
	size_t size = 8 * PAGE;
	char *at, byte;

	file.fd = file_with("file", size, 3);
	HOLDS(pipe(ends) == 0);
	at = mmap(NULL, size, PROT_READ, kind, file.fd, 0);
	HOLDS(at != MAP_FAILED);
	for (int round = 0; round < 10; round++) {
		size_t page = below(8);
		long got;

		size = below(8 * PAGE);
		HOLDS(ftruncate(file.fd, (off_t)size) == 0);
		got = write(ends[1], at + page * PAGE, 1);
		if (page * PAGE < size) {
			HOLDS(got == 1 && read(ends[0], &byte, 1) == 1);
			HOLDS(pread(file.fd, &byte, 1, (off_t)(page * PAGE)) == 1 && byte == at[page * PAGE]);
		} else {
			HOLDS(got < 0 && errno == EFAULT);
		}
		if (below(3) == 0)
			touch_page(at + page * PAGE, page * PAGE < size);
	}
}

/* Vectors of up to the limit's number of members, and of one more. */
void vectors(void)
{
	static struct iovec members[VECTOR_MOST + 8];
	static char out[MOST], in[MOST];
	int fd = file_with("file", 0, 0);

	for (int round = 0; round < 10; round++) {
		size_t count = count_around(), used = 0, seed = next();
		long got;

		for (size_t i = 0; i < count; i++) {
			size_t n = below(8) ? below(40) : size_around();

			if (n > (MOST - used) / 2)
				n = 0;
			members[i] = (struct iovec){ out + used, n };
			used += n;
		}
		fill(out, used, seed);
		got = pwritev(fd, members, (int)count, 5);
		HOLDS(count <= VECTOR_MOST ? got == (long)used : got < 0 && errno == EINVAL);
		if (got < 0)
			continue;
		for (size_t i = 0; i < count; i++)
			members[i].iov_base = in + ((char *)members[i].iov_base - out);
		memset(in, 0, used);
		HOLDS(preadv(fd, members, (int)count, 5) == got && filled(in, used, seed));
	}
}

/* Names and paths up to the limit's length, and one longer. */
void names(void)
{
	char name[NAME_MAX + 4], path[PATH_MAX + 4];
	struct stat st;

	for (int round = 0; round < 12; round++) {
		size_t n = below(2) ? NAME_MAX - 2 + below(5) : 1 + size_around() % NAME_MAX;
		int fd;

		memset(name, 'a' + round, n);
		name[n] = '\0';
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		HOLDS(n <= NAME_MAX ? fd >= 0 : fd < 0 && errno == ENAMETOOLONG);
		HOLDS(n > NAME_MAX || (close(fd) == 0 && stat(name, &st) == 0 && unlink(name) == 0));
		n = PATH_MAX - 3 + below(5);
		for (size_t i = 0; i < n; i++)
			path[i] = i % 2 ? '/' : '.';
		path[n] = '\0';
		HOLDS(n < PATH_MAX ? stat(path, &st) == 0 : stat(path, &st) < 0 && errno == ENAMETOOLONG);
	}
}
