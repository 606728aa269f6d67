/* common.c: removing trees of files, Trio's free pages, and descriptors in messages. */
#include "common.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 500
#define COUNTERS "/proc/trio/counters"

/* Repeated until nothing is left: reading a directory while names are removed may skip some. */
void remove_tree(const char *name)
{
	struct dirent *entry;
	struct stat st;
	char path[PATH_MAX];
	DIR *dir;

	if (lstat(name, &st) == 0 && !S_ISDIR(st.st_mode)) {
		unlink(name);
		return;
	}
	chmod(name, 0700);
	for (int left = 1; left;) {
		left = 0;
		dir = opendir(name);
		if (!dir)
			break;
		while ((entry = readdir(dir))) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
			remove_tree(path);
			if (lstat(path, &st) != 0)
				left = 1;
		}
		closedir(dir);
	}
	rmdir(name);
}

static long number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? atol(at + strlen(name)) : -1;
}

struct pages pages_now(void)
{
	static char text[65536];
	struct pages pages = { -1, -1 };
	int fd = open(COUNTERS, O_RDONLY);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return pages;
	/* The whole buffer is touched, so that this process has the same number of pages however long the report is. */
	memset(text, 0, sizeof text);
	while (used < sizeof text - 1 && (n = read(fd, text + used, sizeof text - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	text[used] = '\0';
	pages.free = number_after(text, "free_pages ");
	pages.promised = number_after(text, "promised_pages ");
	return pages;
}

int pages_missing(struct pages before, struct pages after)
{
	return after.free < before.free || after.promised > before.promised;
}

struct pages pages_settled(struct pages before)
{
	struct timespec ms = { 0, 1000000 };
	struct pages pages = pages_now();

	for (int i = 0; i < SETTLE_MS && pages_missing(before, pages); i++) {
		nanosleep(&ms, NULL);
		pages = pages_now();
	}
	return pages;
}

/* The kernel's layout, which libc's may differ from; a few more than may be sent. */
struct rights {
	size_t length;
	int level, type;
	int fds[RIGHTS_MOST + 3];
};

long send_fds(int socket, const int *fds, size_t count)
{
	struct rights rights = { offsetof(struct rights, fds) + count * sizeof *fds, SOL_SOCKET, SCM_RIGHTS, { 0 } };
	struct iovec part = { "x", 1 };
	struct kernel_msghdr message = { .parts = &part, .part_count = 1, .control = &rights, .room = rights.length };

	memcpy(rights.fds, fds, count * sizeof *fds);
	return syscall(SYS_sendmsg, socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

long take_fds(int socket, int *fds, size_t most, int flags)
{
	struct rights rights;
	char byte;
	struct iovec part = { &byte, 1 };
	struct kernel_msghdr message = { .parts = &part, .part_count = 1, .control = &rights };
	size_t bytes;

	message.room = offsetof(struct rights, fds) + most * sizeof *fds;
	if (syscall(SYS_recvmsg, socket, &message, flags) != 1)
		return -1;
	if (message.room < offsetof(struct rights, fds[1]))
		return 0;
	bytes = rights.length - offsetof(struct rights, fds);
	if (bytes > most * sizeof *fds)
		return -1;
	memcpy(fds, rights.fds, bytes);
	return (long)(bytes / sizeof *fds);
}

long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

char *fill(char *at, size_t n, unsigned long seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (char)((i + seed) * 2654435761u >> 24);
	return at;
}

int filled(const char *at, size_t n, unsigned long seed)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] != (char)((i + seed) * 2654435761u >> 24))
			return 0;
	return 1;
}
