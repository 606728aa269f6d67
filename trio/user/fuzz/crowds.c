/* crowds.c: sequences about processes and threads that wait, fork, execute and are killed. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE FUZZ_PAGE

static int for_nothing[2]; /* a pipe into which nobody writes */
static int a_lock;         /* a file that another process holds locked */
static int word;

static void *waits_in_read(void *with)
{
	char byte;

	(void)read(for_nothing[0], &byte, 1);
	return with;
}

static void *waits_in_poll(void *with)
{
	struct pollfd wait = { for_nothing[0], POLLIN, 0 };

	poll(&wait, 1, -1);
	return with;
}

static void *waits_in_futex(void *with)
{
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return with;
}

static void *waits_in_accept(void *with)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (bind(fd, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t)) == 0 && listen(fd, 1) == 0)
		accept(fd, NULL, NULL);
	return with;
}

static void *waits_in_epoll(void *with)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, for_nothing[0], &event);
	epoll_wait(fd, &event, 1, -1);
	return with;
}

static void *waits_in_flock(void *with)
{
	flock(a_lock, LOCK_EX);
	return with;
}

static void *does_not_wait(void *with)
{
	volatile unsigned long turns = 0;

	for (;;)
		turns++;
	return with;
}

static void *sleeps(void *with)
{
	sleep_us(1000000000);
	return with;
}

static void *(*const waiting[])(void *) = { waits_in_read,  waits_in_poll,  waits_in_futex, waits_in_accept,
					    waits_in_epoll, waits_in_flock, does_not_wait,  sleeps };

static void *ends_all(void *with)
{
	static char *const arguments[] = { "fuzz", "--help", NULL };

	sleep_us(((unsigned long *)with)[1]);
	switch (((unsigned long *)with)[0]) {
	case 0:
		syscall(SYS_exit_group, 0);
		break;
	case 1:
		execv("/proc/self/exe", arguments);
		broken("execve: %s", strerror(errno));
	default:
		kill(getpid(), SIGKILL);
	}
	return with;
}

static void crowd(unsigned long count, unsigned long *how)
{
	int null = open("/dev/null", O_WRONLY);

	HOLDS(dup2(null, 1) == 1);
	HOLDS(pipe(for_nothing) == 0);
	a_lock = open("lock", O_RDWR);
	HOLDS(a_lock >= 0);
	for (unsigned long i = 0; i < count; i++)
		thread_of(waiting[below(8)], NULL);
	if (below(2))
		ends_all(how);
	thread_of(ends_all, how);
	sleeps(NULL);
}

/* Threads wait in calls of every kind. One of them ends all, executes another program, or kills the process. */
void exit_of_waiting(void)
{
	int fd = file_with("lock", 1, 1);

	HOLDS(flock(fd, LOCK_EX) == 0);
	for (int round = 0; round < 4; round++) {
		unsigned long how[2] = { below(3), below(2000) };
		unsigned long count = 1 + below(10);
		pid_t pid = fork_one();

		if (pid == 0)
			crowd(count, how);
		reap(pid, how[0] == 2);
	}
	HOLDS(flock(fd, LOCK_UN) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
}

static volatile int enough;

static void *maps_and_unmaps(void *with)
{
	while (!enough) {
		char *at = room(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);

		at[PAGE] = at[3 * PAGE] = 1;
		HOLDS(mprotect(at + PAGE, PAGE, PROT_NONE) == 0);
		HOLDS(munmap(at, 4 * PAGE) == 0);
	}
	return with;
}

static void *opens_and_closes(void *with)
{
	while (!enough) {
		int ends[2];

		HOLDS(pipe(ends) == 0);
		HOLDS(close(ends[0]) == 0 && close(ends[1]) == 0);
	}
	return with;
}

/* A process forks while its threads change its memory and its descriptors; some children are killed at once. */
void fork_among_threads(void)
{
	char *own = room(8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	unsigned before = open_descriptors();
	pthread_t threads[4];

	memset(own, 7, 8 * PAGE);
	for (int i = 0; i < 4; i++)
		threads[i] = thread_of(below(2) ? maps_and_unmaps : opens_and_closes, NULL);
	for (int round = 0; round < 3; round++) {
		int killed = below(3) == 0;
		pid_t pid;

		START_CHILD (pid) {
			for (size_t i = 0; i < 8 * PAGE; i++)
				HOLDS(own[i] == 7);
			memset(own, 8, 8 * PAGE);
		}
		if (killed)
			kill(pid, SIGKILL);
		reap(pid, killed);
	}
	for (size_t i = 0; i < 8 * PAGE; i++)
		HOLDS(own[i] == 7);
	enough = 1;
	for (int i = 0; i < 4; i++)
		join(threads[i]);
	HOLDS(open_descriptors() == before);
}

static void holds_once(volatile int *inside, int how)
{
	int fd = open("lock", O_RDWR);

	HOLDS(fd >= 0);
	for (int turn = 0; turn < 5; turn++) {
		HOLDS(flock(fd, LOCK_EX) == 0);
		HOLDS(++*inside == 1);
		sched_yield();
		--*inside;
		if (how == 1 && turn == 3)
			kill(getpid(), SIGKILL);
		if (how != 2)
			HOLDS(flock(fd, LOCK_UN) == 0);
	}
}

/* Three processes wait for a lock that a fourth gives up in some way. Each holds it alone, and finally nobody does. */
void flock_waiters(void)
{
	int fd = file_with("lock", 1, 1), *inside = (int *)room(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	unsigned long victim = below(6);
	pid_t pids[3];

	HOLDS(flock(fd, LOCK_EX) == 0);
	for (int i = 0; i < 3; i++) {
		int how = (int)below(3);

		START_CHILD (pids[i]) {
			close(fd);
			holds_once(inside, how);
		}
	}
	sleep_us(below(3000));
	if (victim < 3) /* while it waits: it is not inside */
		kill(pids[victim], SIGKILL);
	if (below(2))
		HOLDS(flock(fd, LOCK_UN) == 0);
	else
		HOLDS(flock(fd, LOCK_SH) == 0 && close(fd) == 0);
	for (unsigned long i = 0; i < 3; i++)
		reap(pids[i], 1);
	fd = open("lock", O_RDWR);
	HOLDS(*inside == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
}
