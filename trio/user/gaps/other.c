/* other.c: calls about programs, signals, waiting. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gaps.h"

static char *p;

/* As many arguments as possible: strings of one character. */
#define STRINGS 150000
static char **strings;

static void arguments(void)
{
	strings = malloc((STRINGS + 1) * sizeof *strings);
	must(strings != NULL, "malloc");
	for (int i = 0; i < STRINGS; i++)
		strings[i] = "x";
	strings[0] = "true";
	strings[STRINGS] = NULL;
}

static void execute(void)
{
	int status;
	pid_t child = fork();

	must(child >= 0, "fork");
	if (child == 0) {
		execv("/bin/true", strings);
		_exit(9);
	}
	waitpid(child, &status, 0);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "execve of many arguments");
}

static void arguments_end(void)
{
	free(strings);
}

static struct pollfd *polled;
static int polled_count;

static void many_polled(void)
{
	struct rlimit files;

	must(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	polled_count = (int)files.rlim_cur;
	polled = calloc((size_t)polled_count, sizeof *polled);
	must(polled != NULL, "calloc");
	for (int i = 0; i < polled_count; i++)
		polled[i] = (struct pollfd){ .fd = i % 3, .events = POLLPRI };
}

static void poll_many(void)
{
	must(poll(polled, (nfds_t)polled_count, 0) >= 0, "poll");
}

static void polled_end(void)
{
	free(polled);
}

static int maps;

static void many_regions(void)
{
	p = regions();
	maps = open("/proc/self/maps", O_RDONLY);
	must(maps >= 0, "open");
}

static void read_maps(void)
{
	size_t room = 8ul << 20;
	char *to = memory(room, 1);

	must(pread(maps, to, room, 0) > 0 && pread(maps, to, room, 3l << 20) >= 0, "pread of maps");
	munmap(to, room);
}

static void regions_end(void)
{
	close(maps);
	munmap(p, 2 * REGIONS * PAGE);
}

/* Processes that wait, each with the most operations of a call, until the next one's are done. */
#define WAITERS 150
#define OPERATIONS 500
static int set;
static pid_t waiters[WAITERS];

static void wait_for_next(int i)
{
	static struct sembuf operations[OPERATIONS];

	operations[0] = (struct sembuf){ .sem_num = (unsigned short)(i + 1), .sem_op = -1 };
	for (int k = 1; k + 1 < OPERATIONS; k++)
		operations[k] = (struct sembuf){ .sem_num = WAITERS + 1, .sem_op = k % 2 ? 1 : -1 };
	operations[OPERATIONS - 1] = (struct sembuf){ .sem_num = (unsigned short)i, .sem_op = 1 };
	_exit(semop(set, operations, OPERATIONS) == 0 ? 0 : 1);
}

static void chain(void)
{
	set = semget(IPC_PRIVATE, WAITERS + 2, 0600);
	must(set >= 0, "semget");
	for (int i = 0; i < WAITERS; i++) {
		waiters[i] = fork();
		must(waiters[i] >= 0, "fork");
		if (waiters[i] == 0)
			wait_for_next(i);
		while (semctl(set, i + 1, GETNCNT) == 0)
			sched_yield();
	}
}

static void unchain(void)
{
	struct sembuf last = { .sem_num = WAITERS, .sem_op = 1 };

	must(semop(set, &last, 1) == 0, "semop");
}

static void chain_end(void)
{
	int status;

	for (int i = 0; i < WAITERS; i++) {
		waitpid(waiters[i], &status, 0);
		must(status == 0, "semop of one that waited");
	}
	must(semctl(set, 0, GETVAL) == 1 && semctl(set, 0, IPC_RMID) == 0, "semctl");
}

const struct gap other_calls[] = {
	{ "execve-arguments", arguments, execute, arguments_end },
	{ "poll", many_polled, poll_many, polled_end },
	{ "semop", chain, unchain, chain_end },
	{ "read-maps", many_regions, read_maps, regions_end },
	{ NULL, NULL, NULL, NULL },
};
