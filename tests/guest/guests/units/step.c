/* How many instructions does a processor execute between the markers of a region? Runs the program that its argument
 * names step by step. A string instruction stops at each iteration, so equal addresses in a row are one. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX 0x801f0f
#define BEGIN 0x4b4d
#define END 0x4b4e

int main(int argc, char **argv)
{
	unsigned long count = 0, last = 0;
	int status, within = 0;
	pid_t child;

	if (argc < 2 || (child = fork()) < 0)
		return 2;
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		struct user_regs_struct now;
		uint64_t bytes;

		if (ptrace(PTRACE_GETREGS, child, NULL, &now) != 0)
			return 1;
		bytes = (uint64_t)ptrace(PTRACE_PEEKTEXT, child, (void *)now.rip, NULL);
		if ((bytes & 0xffffff) == PREFIX) {
			if ((bytes >> 40 & 0xffff) == END)
				break;
			within = (bytes >> 40 & 0xffff) == BEGIN;
		} else if (within && now.rip != last) {
			count++;
		}
		last = now.rip;
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
	}
	printf("%lu\n", count);
	return 0;
}
