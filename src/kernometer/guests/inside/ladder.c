/* ladder.c: what a guest's kernel must do before a probe can run on it, tried in a process of init's. For each rung it
 * prints "#rung NAME", before it is tried, then "#rung NAME ok" or "#rung NAME failed REASON". */
#define _POSIX_C_SOURCE 200809L
#include <sys/types.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STATUS 7
#define READS 100000
#define POLLS 10000000L

static char why[256];

static int because(const char *what, int error)
{
	snprintf(why, sizeof why, "%s: %s", what, error ? strerror(error) : "is wrong");
	return 0;
}

static int opens(const char *name, int flags)
{
	int fd = open(name, flags, 0600);

	if (fd < 0)
		return because(name, errno);
	close(fd);
	return 1;
}

static int mounts(void)
{
	return opens("/tmp/rung", O_CREAT | O_RDWR) && opens("/dev/null", O_RDWR) && opens("/dev/zero", O_RDONLY) &&
	       opens("/proc/self/stat", O_RDONLY);
}

static pid_t ending_child(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(STATUS);
	if (child < 0)
		because("fork", errno);
	return child;
}

static int forks(void)
{
	return ending_child() > 0;
}

/* The first child is the one before, which nobody has waited for. */
static int waits(void)
{
	int status = 0;
	pid_t child;
	long left;

	if (waitpid(-1, &status, 0) < 0)
		return because("waitpid", errno);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS)
		return because("the status of waitpid", 0);
	child = ending_child();
	if (child < 0)
		return 0;
	for (left = POLLS; left > 0; left--) {
		pid_t gone = waitpid(child, &status, WNOHANG);

		if (gone < 0)
			return because("waitpid with WNOHANG", errno);
		if (gone == child)
			return 1;
	}
	return because("waitpid with WNOHANG", EAGAIN);
}

static int clock_runs(void)
{
	struct timespec before, now;
	int i, later = 0;

	if (clock_gettime(CLOCK_MONOTONIC, &before) != 0)
		return because("clock_gettime", errno);
	for (i = 0; i < READS; i++, before = now) {
		long seconds, rest;

		if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
			return because("clock_gettime", errno);
		seconds = (long)(now.tv_sec - before.tv_sec), rest = now.tv_nsec - before.tv_nsec;
		if (seconds < 0 || (seconds == 0 && rest < 0))
			return because("CLOCK_MONOTONIC steps back, which", 0);
		later |= seconds > 0 || rest > 0;
	}
	return later ? 1 : because("CLOCK_MONOTONIC stands, which", 0);
}

int main(void)
{
	static const struct {
		const char *name;
		int (*holds)(void);
	} rungs[] = { { "mounts", mounts }, { "fork", forks }, { "wait", waits }, { "clock", clock_runs } };
	size_t i;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (i = 0; i < sizeof rungs / sizeof rungs[0]; i++) {
		printf("#rung %s\n", rungs[i].name);
		if (rungs[i].holds())
			printf("#rung %s ok\n", rungs[i].name);
		else
			printf("#rung %s failed %s\n", rungs[i].name, why);
	}
	return 0;
}
