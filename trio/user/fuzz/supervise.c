/* supervise.c: supervises processes that make random calls. It restarts one, at the call after its last, when it has
 * ended or is stuck; and it checks finally that the kernel gave everything back. */
#include "fuzz.h"
#include "../common/common.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE 4096       /* calls after which a process is restarted, so that all it has taken is given back */
#define PATIENCE_MS 500 /* for one call */
#define START_MS 20000  /* until the first call: on a busy host an emulated machine may take long to start a process */
#define LOOK_MS 5
#define BEAT_MS 1000
#define WARM_UP 4096 /* calls before free pages are counted, so that the kernel's caches are filled */

struct process {
	pid_t pid;
	uint64_t from; /* its first call */
	uint64_t seen; /* the last call that it was seen to start */
	long since;    /* ms */
};

/* In memory that all processes share. */
static struct shared {
	struct progress progress[PROCESSES_MOST];
	unsigned long lost[65], restarts, stuck;
} *shared;
static struct progress *progress;
static struct process processes[PROCESSES_MOST];

/* Removes the folder and makes it again, so that earlier processes' changes to it are gone. */
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

/* Returns whether the process made a call at all. */
static int ended(pid_t pid, int status)
{
	for (unsigned p = 0; p < o.processes; p++)
		if (processes[p].pid == pid) {
			processes[p].pid = 0;
			if (WIFSIGNALED(status))
				shared->lost[WTERMSIG(status) & 63]++;
			/* Its remaining children are in its session's first group. */
			kill(-pid, SIGKILL);
			return progress[p].next > processes[p].from;
		}
	return 1;
}

/* Kills all processes and waits for them, for at most two seconds: a killed one may still have to end a call. */
static void end_all(void)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	long until = now_ms() + 2000;

	for (unsigned p = 0; p < o.processes; p++)
		if (processes[p].pid > 0)
			kill(-processes[p].pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && now_ms() < until)
		nanosleep(&pause, NULL);
	if (o.on_trio)
		remove_sets();
}

/* Kills a process that is stuck or was stopped. */
static void look_after(unsigned p)
{
	struct process *child = &processes[p];

	if (child->seen != progress[p].next) {
		child->seen = progress[p].next;
		child->since = now_ms();
	} else if (now_ms() - child->since > (child->seen == child->from ? START_MS : PATIENCE_MS)) {
		shared->stuck++;
		kill(child->pid, SIGKILL);
		child->since = now_ms();
	}
}

static uint64_t done(void)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < o.processes; p++)
		sum += progress[p].next - o.from;
	return sum;
}

static void beat(void)
{
	static long last;

	if (!o.beat || now_ms() - last < BEAT_MS)
		return;
	last = now_ms();
	fprintf(stderr, "fuzz: seed %llu, %llu calls\n", (unsigned long long)o.seed, (unsigned long long)done());
}

/* Runs all processes until each has made its calls up to `to`. */
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
		beat();
		nanosleep(&pause, NULL);
	}
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

/* Runs in a process of its own, whose memory goes with it: the process that counts pages does nothing in between. */
static int run_apart(uint64_t to)
{
	int status;

	at_work = fork();
	if (at_work < 0)
		return -1;
	if (at_work == 0) {
		/* Orphans become this process's children, if the kernel supports that, so that none is left behind. */
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		_exit(run(to) < 0 ? 2 : 0);
	}
	if (waitpid(at_work, &status, 0) < 0)
		return -1;
	at_work = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int make_calls(void)
{
	uint64_t each = o.calls / o.processes;
	struct pages before, after;

	shared = mmap((void *)SHARED_AT, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
		      -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	progress = shared->progress;
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
