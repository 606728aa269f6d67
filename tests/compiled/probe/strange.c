/* strange.c: loaded into a probe (LD_PRELOAD), it answers as kernels and C libraries were met that are not Linux's, as
 * STRANGE says: mq-apart (FreeBSD: a child has none of its parent's message queues), mapped-ahead (FreeBSD: a file's
 * cached pages are mapped with it), faults-twice (OpenBSD), no-msg (a call that the kernel lacks ends in SIGSYS),
 * no-wnohang (it tells of no exit) and bad-wnohang (it is refused), yield-stays (Asterinas), clock-back (a clock that
 * steps back now and then, and all the time in the process of STRANGE_ROW), no-double (printf prints none). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char row[4096]; /* the words of this process, if it is one for STRANGE_ROW, and not the driver */

static int asked_for(const char *kind)
{
	const char *strange = getenv("STRANGE");

	return strange && strcmp(strange, kind) == 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *wanted = getenv("STRANGE_ROW");
	int fd = open("/proc/self/cmdline", O_RDONLY);
	ssize_t n = read(fd, row, sizeof row);

	close(fd);
	if (!wanted || n < 0 || !memmem(row, (size_t)n, wanted, strlen(wanted)) ||
	    !memmem(row, (size_t)n, "--internal", 10))
		row[0] = '\0';
}

pid_t fork(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	char where[64], name[64];

	for (int fd = 3; child == 0 && asked_for("mq-apart") && fd < 64; fd++) {
		ssize_t n;

		snprintf(where, sizeof where, "/proc/self/fd/%d", fd);
		n = readlink(where, name, sizeof name - 1);
		name[n > 0 ? n : 0] = '\0';
		if (strncmp(name, "/kernometer-", 12) == 0)
			close(fd);
	}
	return child;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	if (fd >= 0 && asked_for("mapped-ahead"))
		flags |= MAP_POPULATE;
	return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset) __attribute__((alias("mmap")));

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	int answer = (int)syscall(SYS_getrusage, who, usage);

	if (asked_for("faults-twice"))
		usage->ru_minflt *= 2;
	return answer;
}

int msgget(key_t key, int flags)
{
	if (!asked_for("no-msg"))
		return (int)syscall(SYS_msgget, key, flags);
	raise(SIGSYS);
	errno = ENOSYS;
	return -1;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	if (options & WNOHANG && asked_for("no-wnohang"))
		return 0;
	if (options & WNOHANG && asked_for("bad-wnohang")) {
		errno = EINVAL;
		return -1;
	}
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

int sched_yield(void)
{
	return asked_for("yield-stays") ? 0 : (int)syscall(SYS_sched_yield);
}

int gettimeofday(struct timeval *to, void *zone)
{
	static long calls;
	int answer = (int)syscall(SYS_gettimeofday, to, zone);

	if (asked_for("clock-back"))
		to->tv_sec -= ++calls / (row[0] ? 1009 : 50021);
	return answer;
}

/* Prints a double, where that is all of the format, as a libc that knows none. */
static const char *printed(const char *format)
{
	size_t n = strlen(format);

	return n < 6 && format[0] == '%' && format[n - 1] == 'g' && asked_for("no-double") ? ",5" : format;
}

int snprintf(char *to, size_t n, const char *format, ...)
{
	va_list arguments;
	int answer;

	va_start(arguments, format);
	answer = vsnprintf(to, n, printed(format), arguments);
	va_end(arguments);
	return answer;
}

int fprintf(FILE *to, const char *format, ...)
{
	va_list arguments;
	int answer;

	va_start(arguments, format);
	answer = vfprintf(to, printed(format), arguments);
	va_end(arguments);
	return answer;
}
