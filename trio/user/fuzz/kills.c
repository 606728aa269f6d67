/* kills.c: sequences in which processes are killed at any point. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE FUZZ_PAGE

#define STAGES 5

/* Copies from the pipe `in` to the pipe `out`. Each end is open once. */
static void stage(int in, int out)
{
	static char bytes[512];
	long n;

	while ((n = read(in, bytes, sizeof bytes)) > 0)
		if (write(out, bytes, (size_t)n) != n)
			break;
	_exit(0);
}

static void source(int out, unsigned long seed)
{
	static char bytes[1000];

	for (unsigned long at = 0; at < 400000; at += sizeof bytes) {
		fill(bytes, sizeof bytes, seed + at);
		if (write(out, bytes, sizeof bytes) != sizeof bytes)
			break;
	}
	_exit(0);
}

/* Bytes go through processes of which one is killed. The first bytes arrive, and all processes end. */
void kill_in_pipeline(void)
{
	unsigned long seed = next(), victim = below(STAGES), arrived = 0;
	static char bytes[700];
	pid_t pids[STAGES];
	int in = -1;
	long n;

	for (int i = 0; i < STAGES; i++) {
		int ends[2];

		HOLDS(pipe(ends) == 0);
		pids[i] = fork_one();
		if (pids[i] == 0) {
			close(ends[0]);
			if (i == 0)
				source(ends[1], seed);
			stage(in, ends[1]);
		}
		close(ends[1]);
		close(in);
		in = ends[0];
	}
	for (unsigned long until = below(300000); (n = read(in, bytes, sizeof bytes)) > 0;
	     arrived += (unsigned long)n) {
		HOLDS(filled(bytes, (size_t)n, seed + arrived));
		if (arrived < until && arrived + (unsigned long)n >= until)
			kill(pids[victim], SIGKILL);
	}
	HOLDS(n == 0);
	for (unsigned long i = 0; i < STAGES; i++)
		reap(pids[i], i == victim);
}

/* Several processes write records, several read them, and one process is killed. No record is torn. */
void pipe_crowd(void)
{
	unsigned long victim = below(6), size = 1 + size_around() % PAGE;
	static char record[PAGE];
	pid_t pids[6];
	int ends[2];

	HOLDS(pipe(ends) == 0);
	for (unsigned long i = 0; i < 6; i++) {
		START_CHILD (pids[i]) {
			close(ends[i < 3 ? 0 : 1]);
			for (int turn = 0; i < 3 && turn < 40; turn++) {
				memset(record, (int)(1 + i), size);
				HOLDS(write(ends[1], record, size) == (long)size || errno == EPIPE);
			}
			while (i >= 3 && read(ends[0], record, size) == (long)size)
				for (size_t at = 1; at < size; at++)
					HOLDS(record[at] == record[0]);
		}
	}
	close(ends[0]);
	close(ends[1]);
	sleep_us(below(4000));
	kill(pids[victim], SIGKILL);
	for (unsigned long i = 0; i < 6; i++)
		reap(pids[i], i == victim);
}

static void execute(void)
{
	static char *const arguments[] = { "fuzz", "--help", NULL };

	execv("/proc/self/exe", arguments);
}

static void change_space(void)
{
	char *at = room(32 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED), *other = room(8 * PAGE, PROT_NONE, MAP_PRIVATE);

	memset(at, 1, 32 * PAGE);
	HOLDS(mprotect(at + 3 * PAGE, 5 * PAGE, PROT_READ) == 0);
	HOLDS(mremap(at + 10 * PAGE, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
	HOLDS(munmap(at, 32 * PAGE) == 0 && munmap(other, 8 * PAGE) == 0);
}

static void change_files(void)
{
	char name[32], other[32];
	int fd;

	snprintf(name, sizeof name, "own.%d", (int)getpid());
	snprintf(other, sizeof other, "other.%d", (int)getpid());
	fd = file_with(name, 3 * PAGE, 1);
	HOLDS(rename(name, other) == 0 && ftruncate(fd, 5) == 0 && unlink(other) == 0 && close(fd) == 0);
}

static void change_sockets(void)
{
	int outer[2], inner[2];

	HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, outer) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, inner) == 0);
	HOLDS(send_rights(outer[0], inner[0], 3) == 0 && send_rights(inner[0], inner[1], 2) == 0);
	for (int i = 0; i < 2; i++)
		HOLDS(close(outer[i]) == 0 && close(inner[i]) == 0);
}

static void *ends_at_once(void *with)
{
	return with;
}

static void make_thread(void)
{
	join(thread_of(ends_at_once, NULL));
}

/* Processes that map, write, send, execute or start threads are killed at any moment and leave nothing behind. */
void kill_anywhere(void)
{
	static void (*const lives[])(void) = { execute, change_space, change_files, change_sockets, make_thread };
	int null = open("/dev/null", O_WRONLY);
	pid_t pids[5];

	HOLDS(dup2(null, 1) == 1);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5; i++) {
			unsigned long life = below(5);

			pids[i] = fork_one();
			while (pids[i] == 0)
				lives[life]();
		}
		for (int i = 0; i < 5; i++) {
			sleep_us(below(800));
			kill(pids[i], SIGKILL);
			reap(pids[i], 1);
		}
	}
}

static void change_set(int set, short by)
{
	struct sembuf operation = { 0, by, SEM_UNDO };

	HOLDS(semop(set, &operation, 1) == 0);
}

/* A killed process gives its part of a semaphore back. */
void semaphore_undo(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600);
	unsigned long victims = below(16);
	pid_t pids[4];

	HOLDS(set >= 0 && semctl(set, 0, SETVAL, 2) == 0);
	for (int i = 0; i < 4; i++) {
		START_CHILD (pids[i])
			for (int turn = 0; turn < 30; turn++) {
				change_set(set, -1);
				sched_yield();
				change_set(set, 1);
			}
	}
	sleep_us(below(3000));
	for (unsigned i = 0; i < 4; i++)
		if (victims >> i & 1)
			kill(pids[i], SIGKILL);
	for (unsigned i = 0; i < 4; i++)
		reap(pids[i], victims >> i & 1);
	HOLDS(semctl(set, 0, GETVAL) == 2 && semctl(set, 0, IPC_RMID) == 0);
}
