/* main.c: supervises processes that make random system calls: starts one anew, at the call after its last, when it has
 * ended or does not go on; and looks at the end whether the kernel gave everything back. */
#include "fuzz.h"
#include "../common/common.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 64
#define LIFE 4096       /* calls after which a process is started anew, so that all it has taken is given back */
#define PATIENCE_MS 500 /* for one call */
#define START_MS 20000  /* until the first one: on a busy host an emulated machine takes its time to start a process */
#define LOOK_MS 5
#define WARM_UP 4096   /* calls before free pages are counted, so that the kernel's caches are filled */
#define CHILDREN 1100  /* more than Trio has tasks */
#define CACHED_PAGES 7 /* that services may keep at one time and not at another: one for each of seven sizes */

static const char usage[] =
	"usage: fuzz [--seed N] [--calls N] [--processes N] [--from CALL] [--log]\n"
	"Makes random system calls, as an ordinary user unless this is Trio, in a folder of its own.\n"
	"  --seed N       of all that is random (1)\n"
	"  --calls N      in all (10000)\n"
	"  --processes N  that make them at the same time (4)\n"
	"  --from CALL    each process begins with this one: makes again what an earlier run did\n"
	"  --log          tells each call on the standard error before it is made\n"
	"Exit status: 0 done, 1 the kernel has fewer free pages than before, 2 the command line or the folder,\n"
	"128 + N stopped by signal N.\n";

struct process {
	pid_t pid;
	uint64_t from; /* its first call */
	uint64_t seen; /* the last call that it was seen to begin */
	long since;    /* ms */
};

static struct options {
	uint64_t seed, calls, from;
	unsigned processes;
	int log, on_trio, root;
} o = { 1, 10000, 0, 4, 0, 0, 0 };

/* In memory that all processes share. */
static struct shared {
	struct progress progress[MOST];
	unsigned long lost[65], restarts, stuck;
} *shared;
static struct progress *progress;
static struct process processes[MOST];
static volatile sig_atomic_t stopped;
static volatile pid_t supervisor;

static void stop(int signal)
{
	stopped = signal;
	if (supervisor > 0)
		kill(supervisor, signal);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Removed with all that is in it, and made anew: what an earlier process did to it is forgotten. */
static int folder_of(unsigned p, int make)
{
	char name[16];

	snprintf(name, sizeof name, "%u", p);
	remove_tree(name);
	if (make)
		return mkdir(name, 0777) < 0 || chmod(name, 0777) < 0 || chdir(name) < 0 ? -1 : 0;
	return 0;
}

static void start(unsigned p, uint64_t to)
{
	struct work w = { o.seed, progress[p].next, to, p, o.on_trio, 0, o.log ? 60 : -1, &progress[p] };
	uint64_t end = (w.from / LIFE + 1) * LIFE;

	w.to = end < to ? end : to;
	w.ordinary = o.root && (!o.on_trio || p % 2);
	processes[p].from = processes[p].seen = w.from;
	processes[p].since = now_ms();
	processes[p].pid = fork();
	if (processes[p].pid == 0) {
		if ((o.log && dup2(2, 60) < 0) || folder_of(p, 1) < 0)
			_exit(123);
		work(&w);
	}
	shared->restarts++;
}

/* Whether it made a call at all. */
static int ended(pid_t pid, int status)
{
	for (unsigned p = 0; p < o.processes; p++)
		if (processes[p].pid == pid) {
			processes[p].pid = 0;
			if (WIFSIGNALED(status))
				shared->lost[WTERMSIG(status) & 63]++;
			/* Its children, if any are left, are in its session's first group. */
			kill(-pid, SIGKILL);
			return progress[p].next > processes[p].from;
		}
	return 1;
}

/* Nothing of ours is left that runs, for two seconds at the most: what was killed may still have to end a call. */
static void end_all(void)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	long until = now_ms() + 2000;

	for (unsigned p = 0; p < o.processes; p++)
		if (processes[p].pid > 0)
			kill(-processes[p].pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && now_ms() < until)
		nanosleep(&pause, NULL);
}

/* One that does not go on, or that was stopped. */
static void look_after(unsigned p)
{
	struct process *it = &processes[p];

	if (it->seen != progress[p].next) {
		it->seen = progress[p].next;
		it->since = now_ms();
	} else if (now_ms() - it->since > (it->seen == it->from ? START_MS : PATIENCE_MS)) {
		shared->stuck++;
		kill(it->pid, SIGKILL);
		it->since = now_ms();
	}
}

/* All processes, each until it has made calls up to `to`. */
static int supervise(uint64_t to)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };

	for (;;) {
		unsigned busy = 0;
		int status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
			if (!WIFSTOPPED(status) && !ended(pid, status)) {
				fprintf(stderr, "fuzz: a process ended before its first call: wait status %d\n",
					status);
				return -1;
			}
		for (unsigned p = 0; p < o.processes; p++) {
			if (processes[p].pid == 0 && progress[p].next < to)
				start(p, to);
			if (processes[p].pid > 0)
				look_after(p);
			else if (processes[p].pid < 0)
				processes[p].pid = 0;
			busy += processes[p].pid > 0;
			busy += processes[p].pid == 0 && progress[p].next < to;
		}
		if (busy == 0 || stopped)
			return 0;
		nanosleep(&pause, NULL);
	}
}

static uint64_t done(void)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < o.processes; p++)
		sum += progress[p].next - o.from;
	return sum;
}

static int run(uint64_t to)
{
	int result;

	for (unsigned p = 0; p < o.processes; p++)
		progress[p].next = o.from;
	result = supervise(to);
	end_all();
	for (unsigned p = 0; p < o.processes; p++)
		folder_of(p, 0);
	return result;
}

static void report(void)
{
	printf("calls %llu\nprocesses %lu\nstuck %lu\n", (unsigned long long)done(), shared->restarts, shared->stuck);
	for (int e = 0; e < ERRORS; e++) {
		unsigned long long sum = 0;

		for (unsigned p = 0; p < o.processes; p++)
			sum += progress[p].errors[e];
		if (sum && e < ERRORS - 1)
			printf("errno %d %llu %s\n", e, sum, e ? strerror(e) : "no error");
		else if (sum)
			printf("errno other %llu\n", sum);
	}
	for (int s = 1; s < 65; s++)
		if (shared->lost[s])
			printf("signal %d %lu %s\n", s, shared->lost[s], strsignal(s));
}

/* In a process of its own, whose memory goes with it: what was free is counted by one that did nothing in between. */
static int run_apart(uint64_t to)
{
	int status;

	supervisor = fork();
	if (supervisor < 0)
		return -1;
	if (supervisor == 0) {
		/* Orphans come to us where the kernel has that; then nothing is left behind. */
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		_exit(run(to) < 0 ? 2 : 0);
	}
	if (waitpid(supervisor, &status, 0) < 0)
		return -1;
	supervisor = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* The kernel keeps the tables of each place that a task once had: all are taken once before pages are counted. */
static void use_all_tasks(void)
{
	static pid_t pids[CHILDREN];
	int n = 0;

	while (n < CHILDREN && (pids[n] = fork()) >= 0)
		if (pids[n++] == 0)
			for (;;)
				pause();
	while (n > 0) {
		kill(pids[--n], SIGKILL);
		waitpid(pids[n], NULL, 0);
	}
}

/* A kernel that checks itself keeps none. */
static long cached_pages(void)
{
	struct utsname name;

	return uname(&name) == 0 && strstr(name.version, "TRIO_CHECKED") ? 0 : CACHED_PAGES;
}

static int fuzz(void)
{
	uint64_t each = o.calls / o.processes;
	struct pages before, after;

	if (o.on_trio) {
		use_all_tasks();
		if (run_apart(o.from + (each < WARM_UP ? each : WARM_UP)) < 0)
			return 2;
	}
	memset(shared, 0, sizeof *shared);
	before = pages_now();
	if (run_apart(o.from + each) < 0)
		return 2;
	after = pages_settled(before);
	report();
	if (before.free < 0)
		return 0;
	printf("free_pages %ld %ld\npromised_pages %ld %ld\n", before.free, after.free, before.promised,
	       after.promised);
	after.free += cached_pages();
	return pages_missing(before, after);
}

static uint64_t number(char **argv, int i, uint64_t least, uint64_t most)
{
	char *end = "x";
	uint64_t n = argv[i] ? strtoull(argv[i], &end, 0) : 0;

	if (*end || n < least || n > most) {
		fputs(usage, stderr);
		exit(2);
	}
	return n;
}

static void options(char **argv)
{
	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--seed") == 0)
			o.seed = number(argv, ++i, 0, UINT64_MAX);
		else if (strcmp(argv[i], "--calls") == 0)
			o.calls = number(argv, ++i, 1, 1ull << 40);
		else if (strcmp(argv[i], "--processes") == 0)
			o.processes = (unsigned)number(argv, ++i, 1, MOST);
		else if (strcmp(argv[i], "--from") == 0)
			o.from = number(argv, ++i, 0, 1ull << 40);
		else if (strcmp(argv[i], "--log") == 0)
			o.log = 1;
		else {
			fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
			exit(strcmp(argv[i], "--help") == 0 ? 0 : 2);
		}
	}
}

int main(int argc, char **argv)
{
	const char *parent = getenv("TMPDIR");
	char folder[PATH_MAX];
	int result;

	(void)argc;
	options(argv);
	o.on_trio = pages_now().free >= 0;
	o.root = geteuid() == 0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	signal(SIGHUP, stop);
	umask(0);
	snprintf(folder, sizeof folder, "%s/fuzz.XXXXXX", parent && *parent ? parent : "/tmp");
	shared = mmap((void *)SHARED_AT, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
		      -1, 0);
	progress = shared->progress;
	if (shared == MAP_FAILED || !mkdtemp(folder) || chmod(folder, 0711) < 0 || chdir(folder) < 0) {
		fprintf(stderr, "fuzz: %s: %s\n", folder, strerror(errno));
		return 2;
	}
	result = fuzz();
	if (chdir("/") == 0)
		remove_tree(folder);
	return stopped ? 128 + stopped : result;
}
