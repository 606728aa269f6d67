/* seccomp.c: a known slowdown of every system call: a filter of N instructions in front of it.
 *
 *   seccomp N COMMAND...     installs the filter, then becomes COMMAND
 *   seccomp N                prints, by a method of its own, what a getppid takes without the filter and what that
 *                            adds, in ns: two children, one with the filter and one without, timed in turns in short
 *                            bursts; the medians
 *
 * The filter looks at an argument, since the kernel skips one that it can see always allows a call. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENT offsetof(struct seccomp_data, args[0])
#define BURST 2000
#define ROUNDS 301

static void install(int n)
{
	static struct sock_filter code[4096];
	struct sock_fprog program = { (unsigned short)n, code };

	for (int i = 0; i < n - 1; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT);
	code[n - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("seccomp");
		exit(2);
	}
}

/* Answers each byte with the ns that one burst of calls took, a call. */
static void serve(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1) {
		struct timespec a, b;
		double ns;

		for (int i = 0; i < BURST / 10; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < BURST; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / BURST;
		if (write(to, &ns, sizeof ns) != sizeof ns)
			exit(2);
	}
	exit(0);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(int n)
{
	static double without[ROUNDS], difference[ROUNDS];
	int ask[2][2], answer[2][2];

	for (int k = 0; k < 2; k++) {
		if (pipe(ask[k]) != 0 || pipe(answer[k]) != 0)
			return 2;
		if (fork() == 0) {
			close(ask[k][1]);
			if (k > 0) {
				close(ask[0][1]);
				install(n);
			}
			serve(ask[k][0], answer[k][1]);
		}
	}
	for (int i = 0; i < ROUNDS; i++) {
		double ns[2];

		for (int j = 0; j < 2; j++) {
			int k = (i + j) % 2;

			if (write(ask[k][1], "", 1) != 1 || read(answer[k][0], &ns[k], sizeof ns[k]) != sizeof ns[k])
				return 2;
		}
		without[i] = ns[0];
		difference[i] = ns[1] - ns[0];
	}
	qsort(without, ROUNDS, sizeof *without, ascending);
	qsort(difference, ROUNDS, sizeof *difference, ascending);
	printf("%.3f %.3f\n", without[ROUNDS / 2], difference[ROUNDS / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	cpu_set_t last;

	if (n < 2 || n > 4096)
		return 2;
	if (argc == 2) {
		CPU_ZERO(&last);
		CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
		sched_setaffinity(0, sizeof last, &last);
		return measure(n);
	}
	install(n);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
