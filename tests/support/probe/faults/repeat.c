/* repeat.c: starts a probe with faults (faults.c) many times, each time with the next seed, on any kernel.
 *
 * usage: repeat SEED TIMES RUN DRIVER DIR PROBE WORD...
 *
 * Passes on what the probe prints, then its ledger, then a line "#faults SEED STATUS LEFT": its exit status (128 + a
 * signal), and what it left behind or did: "process", "file", "ipc", "hung". A process is known to be gone when the
 * ledger's pipe ends, which all of them hold. Exit status 2: a call of this program's own failed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEDGER 40        /* its descriptor, above those of most rows */
#define MOST_SECONDS 60  /* of one call of the probe */
#define ENDING_SECONDS 5 /* from its end to that of its last process */
#define MOST_LEDGER (4UL << 20)

static void need(int works, const char *call)
{
	if (works)
		return;
	perror(call);
	exit(2);
}

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *where)
{
	(void)is;
	(void)kind;
	(void)where;
	return remove(path);
}

static pid_t start(int ledger[2], const char *seed_and_who, char **words)
{
	pid_t child;

	need(pipe(ledger) == 0, "pipe");
	need(fcntl(ledger[0], F_SETFD, FD_CLOEXEC) == 0, "fcntl");
	fflush(stdout);
	child = fork();
	need(child >= 0, "fork");
	if (child > 0) {
		close(ledger[1]);
		return child;
	}
	setsid();
	need(dup2(ledger[1], LEDGER) == LEDGER, "dup2");
	close(ledger[1]);
	setenv("KM_FAULTS", seed_and_who, 1);
	execv(words[0], words);
	need(0, words[0]);
	return -1;
}

/* Reads the ledger until its last writer is gone: 1, or 0 after so many seconds. */
static int gather(int from, char *to, size_t *n, int seconds)
{
	time_t limit = time(NULL) + seconds;

	while (time(NULL) <= limit) {
		struct timeval wait = { 1, 0 };
		fd_set set;
		ssize_t got;

		FD_ZERO(&set);
		FD_SET(from, &set);
		if (select(from + 1, &set, NULL, NULL, &wait) <= 0)
			continue;
		got = read(from, to + *n, MOST_LEDGER - *n);
		if (got <= 0)
			return 1;
		*n += (size_t)got;
	}
	return 0;
}

/* Ends the processes that a killed driver has left: ours by now, where the system gives them to us. */
static void end_all(void)
{
	char line[4096], *at, *next;

	for (int i = 0; i < 50; i++) {
		FILE *f = fopen("/proc/thread-self/children", "r");
		int some = f && fgets(line, sizeof line, f) != NULL;

		if (f)
			fclose(f);
		for (at = line; some && strtol(at, &next, 10) > 0; at = next)
			kill((pid_t)strtol(at, NULL, 10), SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!some)
			return;
		usleep(10000);
	}
}

static int has_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int n = 0;

	need(dir != NULL, path);
	while ((d = readdir(dir)) != NULL)
		n += strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
	closedir(dir);
	return n > 0;
}

static int alone; /* other processes' queues are not counted with ours: only root can have that, and only on Linux */

/* Queues, segments and semaphores of System V; the files' first lines, where there are such files, are headings. */
static int kept(void)
{
	static const char *const paths[] = { "/proc/sysvipc/msg", "/proc/sysvipc/shm", "/proc/sysvipc/sem" };
	int n = 0;

	for (int i = 0; i < 3 && alone; i++) {
		FILE *f = fopen(paths[i], "r");

		for (int c; f && (c = fgetc(f)) != EOF;)
			n += c == '\n';
		if (f)
			fclose(f);
	}
	return n;
}

static void once(unsigned long seed, char **argv)
{
	static char text[MOST_LEDGER];
	char words[64], folder[256];
	int ledger[2], status, ended, gone, before = kept();
	size_t n = 0;
	pid_t child;

	snprintf(folder, sizeof folder, "%s/%lu", argv[5], seed);
	need(mkdir(folder, 0700) == 0, folder);
	need(setenv("TMPDIR", folder, 1) == 0, "setenv");
	snprintf(words, sizeof words, "%d %lu %s %s", LEDGER, seed, argv[3], argv[4]);
	child = start(ledger, words, argv + 6);
	ended = gather(ledger[0], text, &n, MOST_SECONDS);
	if (!ended)
		kill(child, SIGKILL);
	need(waitpid(child, &status, 0) == child, "waitpid");
	gone = ended || gather(ledger[0], text, &n, ENDING_SECONDS);
	close(ledger[0]);
	end_all();
	fwrite(text, 1, n, stdout);
	printf("#faults %lu %d%s%s%s%s\n", seed, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	       ended ? "" : " hung", gone ? "" : " process", ended && has_files(folder) ? " file" : "",
	       kept() > before ? " ipc" : "");
	if (!ended || rmdir(folder) != 0)
		(void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
	unsigned long seed = argc > 6 ? strtoul(argv[1], NULL, 10) : 0;

	need(argc > 6, "usage: repeat SEED TIMES RUN DRIVER DIR PROBE WORD...");
	alone = unshare(CLONE_NEWIPC) == 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--)
		once(seed++, argv);
	return 0;
}
