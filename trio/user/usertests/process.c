/* process.c: making and ending processes, and whose they are. */
#include "usertests.h"

#include <sys/prctl.h>

TEST(fork_pids, "Does fork give the child 0 and the parent the child's number?")
{
	int ends[2], told, parent = getpid();
	pid_t pid;

	OK(pipe(ends));
	START_CHILD (pid) {
		told = getpid();
		IS(getppid(), parent);
		IS(write(ends[1], &told, sizeof told), sizeof told);
	}
	IS(read(ends[0], &told, sizeof told), sizeof told);
	IS(told, pid);
	TRUE(pid != parent && pid > 0);
	IS(reap(pid), 0);
}

TEST(exit_status, "Does the parent get eight bits of the exit status, or the signal?")
{
	int status;
	pid_t pid;

	START_CHILD (pid)
		_exit(0x12345);
	IS(waitpid(pid, &status, 0), pid);
	IS(status, 0x4500);
	pid = fork_paused();
	OK(kill(pid, SIGKILL));
	IS(waitpid(pid, &status, 0), pid);
	IS(status & ~0x80, SIGKILL);
}

TEST_WITH(orphans, "Does a process whose parent has gone belong to another?", ORPHANS)
{
	int ends[2];
	pid_t pid, told;

	OK(pipe(ends));
	START_CHILD (pid) {
		int parent = getpid();

		if (fork_checked() == 0) {
			for (int i = 0; i < 1000 && getppid() == parent; i++)
				sleep_ms(2);
			told = getppid();
			IS(write(ends[1], &told, sizeof told), sizeof told);
			_exit(0);
		}
	}
	IS(reap(pid), 0);
	IS(read(ends[0], &told, sizeof told), sizeof told);
	TRUE(told != pid && told != getpid());
}

TEST(fork_many, "Can a process fork and reap a thousand times?")
{
	for (int i = 0; i < 1000; i++) {
		IN_CHILD (i & 63)
			_exit(i & 63);
	}
}

TEST(fork_tree, "Does a tree of forks end with every leaf reaped?")
{
	int ends[2], leaves = 0;
	char byte;

	OK(pipe(ends));
	for (int level = 0; level < 5; level++) {
		pid_t pid = fork_checked();

		if (pid == 0) {
			leaves = -1;
			continue;
		}
		if (leaves == 0 && level == 4) {
			OK(close(ends[1]));
			while (OK(read(ends[0], &byte, 1)) == 1)
				leaves++;
			/* Each of the 31 other processes has written a byte. */
			IS(leaves, 31);
		}
	}
	if (leaves == -1)
		put(ends[1]);
	while (wait(NULL) > 0)
		;
}

TEST(vfork_order, "Does vfork's parent go on only when the child has left, seeing what it wrote?")
{
	static volatile int written;
	pid_t pid = vfork();

	if (pid == 0) {
		written = 1;
		for (volatile int i = 0; i < 100000; i++)
			;
		written = 2;
		_exit(5);
	}
	IS(written, 2);
	IS(reap(pid), 5);
}

TEST_WITH(death_signal, "Does PR_SET_PDEATHSIG kill a child whose parent has gone?", ORPHANS)
{
	int ends[2];
	char byte;
	pid_t pid;

	OK(pipe(ends));
	START_CHILD (pid) {
		if (fork_checked() == 0) {
			OK(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
			put(ends[1]);
			pause();
			put(ends[1]);
			_exit(0);
		}
		get(ends[0]);
	}
	OK(close(ends[1]));
	IS(reap(pid), 0);
	IS(read(ends[0], &byte, 1), 0);
	FAILS(RAW(SYS_prctl, PR_SET_PDEATHSIG, 200, 0, 0, 0), EINVAL);
}
