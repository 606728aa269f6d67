/* check.c: helpers for sequences. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_LOOKED_AT 1024

const char *sequence_now = "";

/* One write, so that lines of several processes do not mix. */
void broken(const char *format, ...)
{
	char text[400], line[600];
	va_list more;
	int n;

	va_start(more, format);
	vsnprintf(text, sizeof text, format, more);
	va_end(more);
	n = snprintf(line, sizeof line, "fuzz: broken: %s: %s\n", sequence_now, text);
	if (write(2, line, (size_t)n) < 0)
		_exit(1);
	_exit(STATUS_BROKEN);
}

pid_t fork_one(void)
{
	pid_t pid = fork();

	HOLDS(pid >= 0);
	return pid;
}

void reap(pid_t pid, int may_be_killed)
{
	int status;
	pid_t got;

	while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	HOLDS(got == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_BROKEN)
		_exit(STATUS_BROKEN);
	if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) && !(may_be_killed && WIFSIGNALED(status)))
		broken("a process ended with wait status %#x", status);
}

void sleep_us(unsigned long us)
{
	struct timespec left = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

pthread_t thread_of(void *(*run)(void *), void *with)
{
	pthread_t made;

	errno = pthread_create(&made, NULL, run, with);
	HOLDS(errno == 0);
	return made;
}

void join(pthread_t thread)
{
	errno = pthread_join(thread, NULL);
	HOLDS(errno == 0);
}

int file_with(const char *name, size_t n, unsigned long seed)
{
	static char bytes[FUZZ_PAGE];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	HOLDS(fd >= 0);
	for (size_t at = 0; at < n; at += sizeof bytes) {
		size_t some = n - at < sizeof bytes ? n - at : sizeof bytes;

		fill(bytes, some, seed + at);
		HOLDS(pwrite(fd, bytes, some, (off_t)at) == (ssize_t)some);
	}
	return fd;
}

char *room(size_t size, int prot, int kind)
{
	char *at = mmap(NULL, size, prot, kind | MAP_ANONYMOUS, -1, 0);

	HOLDS(at != MAP_FAILED);
	return at;
}

unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < DESCRIPTORS_LOOKED_AT; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}
