/* gaps: how long does a call keep the processor to itself? A second process reads the clock all the time. The longest
 * time between two of its readings, while a call with its largest arguments runs, is the gap. Two processes that
 * compute have gaps of one tick; a call that keeps the processor for longer has a longer gap. It needs a machine with
 * one processor.
 *
 * For each call it prints a line with its name and its gap in microseconds. Files are made in TMPDIR or /tmp. GAPS_MIB
 * sets the memory for the largest arguments; without it that is a third of free memory. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "gaps.h"

size_t large;

/* Both processes see this. */
static volatile struct {
	int on;
	long longest; /* nanoseconds */
	long readings;
} *shared;

void must(int ok, const char *what)
{
	if (ok)
		return;
	printf("gaps: %s: %s\n", what, strerror(errno));
	exit(1);
}

char *memory(size_t length, int touched)
{
	char *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	for (size_t i = 0; touched && i < length; i += 4096)
		p[i] = 1;
	return p;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void watch(void)
{
	long last = now();

	for (;;) {
		long at = now();

		if (shared->on && at - last > shared->longest)
			shared->longest = at - last;
		shared->readings++;
		last = at;
	}
}

/* Waits until the other process has run. */
static void let_run(void)
{
	long before = shared->readings;

	while (shared->readings < before + 2)
		continue;
}

static void measure(const struct gap *gap)
{
	if (gap->begin)
		gap->begin();
	let_run();
	shared->longest = 0;
	shared->on = 1;
	gap->call();
	let_run();
	shared->on = 0;
	if (gap->end)
		gap->end();
	printf("%s %ld\n", gap->name, shared->longest / 1000);
	fflush(stdout);
}

static void nothing(void)
{
	for (long until = now() + 100000000; now() < until;)
		continue;
}

int main(int argc, char **argv)
{
	static const struct gap none[] = { { "nothing", NULL, nothing, NULL }, { NULL, NULL, NULL, NULL } };
	const struct gap *const tables[] = { none, memory_calls, file_calls, other_calls };
	const char *folder = getenv("TMPDIR");
	struct sysinfo info;
	pid_t watcher;

	must(chdir(folder ? folder : "/tmp") == 0, "chdir");
	must(sysinfo(&info) == 0, "sysinfo");
	if (getenv("GAPS_MIB"))
		large = strtoul(getenv("GAPS_MIB"), NULL, 10) << 20;
	else
		large = info.freeram * info.mem_unit / 100 * 35 & ~0xffffful;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED, "mmap");
	watcher = fork();
	must(watcher >= 0, "fork");
	if (watcher == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		watch();
	}
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (const struct gap *gap = tables[i]; gap->name; gap++)
			if (argc < 2 || strcmp(argv[1], gap->name) == 0)
				measure(gap);
	kill(watcher, SIGKILL);
	waitpid(watcher, NULL, 0);
	return 0;
}
