/* child.c: pipes between a workload's processes, and the children that a workload forks itself.
 *
 * A process learns from the pipe that the other side has exited, by end of file or EPIPE: so every process closes the
 * ends that are not its own. A child that a workload forks reports its failure through a pipe made before the fork:
 * without a failure, this adds nothing to the timed path. */
#include "km.h"

enum { KM_CHILD_FAILED = 126 };

struct km_last_words {
	char call[40];
	int error;
};

void km_pipe(struct km *km, int end[2])
{
	if (pipe(end) != 0)
		km_fail_call(km, "pipe");
	for (int i = 0; i < 2; i++)
		if (fcntl(end[i], F_SETFD, FD_CLOEXEC) != 0)
			km_fail_call(km, "fcntl");
}

void km_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int km_get(int fd, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		ssize_t got = read(fd, at, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return (int)got;
		at += got;
		n -= (size_t)got;
	}
	return 1;
}

int km_put(int fd, const void *from, size_t n)
{
	const char *at = from;

	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == EPIPE ? 0 : -1;
		at += put;
		n -= (size_t)put;
	}
	return 1;
}

void km_child_fail(int report, const char *call)
{
	struct km_last_words words;
	size_t i;

	words.error = errno;
	for (i = 0; i < sizeof words.call; i++)
		words.call[i] = '\0';
	for (i = 0; i + 1 < sizeof words.call && call[i]; i++)
		words.call[i] = call[i];
	(void)!write(report, &words, sizeof words);
	_exit(KM_CHILD_FAILED);
}

/* Reports why a child did not exit with 0. The child has exited: the pipe already contains all that it sent. */
void km_child_failed(struct km *km, int status, int report)
{
	struct km_last_words words;

	if (WIFSIGNALED(status))
		km_fail(km, "a child was killed by signal %d", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KM_CHILD_FAILED && fcntl(report, F_SETFL, O_NONBLOCK) == 0 &&
	    read(report, &words, sizeof words) == (ssize_t)sizeof words) {
		words.call[sizeof words.call - 1] = '\0';
		errno = words.error;
		km_fail_call(km, words.call);
	}
	km_fail(km, "a child exited with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int km_wait(struct km *km, long pid)
{
	int status;

	while (waitpid((pid_t)pid, &status, 0) != (pid_t)pid)
		if (errno != EINTR)
			km_fail_call(km, "waitpid");
	return status;
}

void km_child_wait(struct km *km, long pid, int report)
{
	int status;

	while (waitpid((pid_t)pid, &status, 0) != (pid_t)pid)
		if (errno != EINTR)
			km_fail_call(km, "waitpid");
	if (status != 0)
		km_child_failed(km, status, report);
}
