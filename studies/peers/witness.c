/* witness.c: three operations timed by a program that shares no line with the probe. It is written from their
 * definitions alone: so its figures show whether the probe's are the operation's or the probe's own.
 *
 * usage: witness getppid|pipe|fork [KIB [WRITES]]     (under taskset: the two processes of `pipe` must share a CPU)
 *
 * It prints the ns of one operation: the median over samples of several each. The cost of fork depends on the process:
 * it first touches KIB of memory, in three mappings as a heap's; each child writes to WRITES pages of the first one. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 1001
#define PAGE 4096

static int there[2], back[2]; /* pipes to and from the other process */
static volatile char *memory;
static long writes;

static void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static void null_call(void)
{
	check(syscall(SYS_getppid) > 0, "getppid");
}

static void round_trip(void)
{
	uint64_t word = 1;

	check(write(there[1], &word, sizeof word) == sizeof word, "write");
	check(read(back[0], &word, sizeof word) == sizeof word, "read");
}

static void echo(void)
{
	uint64_t word;

	close(there[1]);
	while (read(there[0], &word, sizeof word) == sizeof word)
		check(write(back[1], &word, sizeof word) == sizeof word, "write");
	_exit(0);
}

static void pair(void)
{
	pid_t pid;

	check(pipe(there) == 0 && pipe(back) == 0, "pipe");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0)
		echo();
}

static void fork_exit_wait(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (long i = 0; i < writes; i++)
			memory[i * PAGE] = 2;
		_exit(0);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "fork");
}

static void touch(size_t bytes)
{
	void *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(fresh != MAP_FAILED, "mmap");
	madvise(fresh, bytes, MADV_NOHUGEPAGE); /* a kernel without huge pages refuses, but has ordinary ones */
	memory = fresh;
	for (size_t i = 0; i < bytes; i += PAGE)
		memory[i] = 1;
	check(mprotect((char *)fresh + bytes / 2 / PAGE * PAGE, PAGE, PROT_NONE) == 0, "mprotect");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(void (*operation)(void), int batch)
{
	static double sample[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		double start = now();

		for (int k = 0; k < batch; k++)
			operation();
		sample[i] = (now() - start) / batch;
	}
	qsort(sample, SAMPLES, sizeof *sample, ascending);
	return sample[SAMPLES / 2];
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*operation)(void);
		int batch; /* a batch takes about 0.3 ms */
	} known[] = { { "getppid", null_call, 3000 }, { "pipe", round_trip, 100 }, { "fork", fork_exit_wait, 3 } };

	if (argc > 2)
		touch((size_t)atol(argv[2]) << 10);
	writes = argc > 3 ? atol(argv[3]) : 0;
	if (argc > 2 && writes * PAGE > atol(argv[2]) << 9) {
		fprintf(stderr, "witness: too few pages for WRITES\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof known / sizeof *known && argc > 1; i++)
		if (strcmp(argv[1], known[i].name) == 0) {
			if (known[i].operation == round_trip)
				pair();
			printf("witness: %.2f ns\n", median_of(known[i].operation, known[i].batch));
			return 0;
		}
	fprintf(stderr, "usage: witness getppid|pipe|fork [KIB [WRITES]]\n");
	return 2;
}
