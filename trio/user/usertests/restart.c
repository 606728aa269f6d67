/* restart.c: what signals do to waiting calls: which calls they end, which continue, and that SIGKILL ends all. */
#include "usertests.h"

#include <sys/prctl.h>

/* Calls that wait forever, by number; in a process of its own. */
enum { SIGWAIT = 7, WAITS = 13 };

static void wait_for_ever(int kind)
{
	static volatile int word;
	static char text[4096];
	struct pollfd p = { -1, 0, 0 };
	struct timespec long_time = { 1000, 0 };
	sigset_t none = set_of(0), usr2 = set_of(SIGUSR2);
	char byte;
	int ends[2], fd;

	OK(pipe(ends));
	switch (kind) {
	case 0:
		read(ends[0], &byte, 1);
		break;
	case 1:
		OK(fcntl(ends[1], F_SETFL, O_NONBLOCK));
		while (write(ends[1], text, sizeof text) > 0)
			;
		OK(fcntl(ends[1], F_SETFL, 0));
		write(ends[1], text, 1);
		break;
	case 2:
		poll(&p, 1, -1);
		break;
	case 3:
		select(0, NULL, NULL, NULL, NULL);
		break;
	case 4:
		nanosleep(&long_time, NULL);
		break;
	case 5:
		pause();
		break;
	case 6:
		sigsuspend(&none);
		break;
	case SIGWAIT:
		RAW(SYS_rt_sigtimedwait, &usr2, 0, 0, 8);
		break;
	case 8:
		RAW(SYS_futex, &word, 0, 0, 0);
		break;
	case 9:
		unlink("s");
		fd = bound(SOCK_STREAM, "s");
		OK(listen(fd, 1));
		accept(fd, NULL, NULL);
		break;
	case 10:
		unlink("p");
		OK(mkfifo("p", 0600));
		open("p", O_RDONLY);
		break;
	case 11:
		if (fork_checked() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			pause();
		}
		wait(NULL);
		break;
	default:
		make_file("f", "");
		OK(flock((int)OK(open("f", O_RDONLY)), LOCK_EX));
		flock((int)OK(open("f", O_RDONLY)), LOCK_EX);
		break;
	}
}

/* Returns a child that waits in a call of this kind. It leaves with 50 + kind if the call ends. */
static pid_t waiting(int kind)
{
	int ends[2];
	pid_t pid;

	OK(pipe(ends));
	START_CHILD (pid) {
		put(ends[1]);
		wait_for_ever(kind);
		_exit(50 + kind);
	}
	get(ends[0]);
	OK(close(ends[0]));
	OK(close(ends[1]));
	sleep_ms(20);
	return pid;
}

/* Checks that it still waits, and ends it. */
static void waits_still(pid_t pid, int kind)
{
	if (waitpid(pid, NULL, WNOHANG) != 0)
		fail("the call of kind %d ended", kind);
	kill_and_reap(pid);
}

TEST_WITH(kill_waiting, "Does SIGKILL end a process in whatever call it waits?", ORPHANS)
{
	for (int kind = 0; kind < WAITS; kind++)
		kill_and_reap(waiting(kind));
}

TEST_WITH(ignored_waiting, "Does a signal that is ignored leave a waiting call as it is?", ORPHANS)
{
	static const int harmless[] = { SIGUSR1, SIGCHLD, SIGWINCH, SIGURG };

	handle(SIGUSR1, SIG_IGN, 0);
	for (int kind = 0; kind < WAITS; kind++) {
		pid_t pid = waiting(kind);

		for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
			OK(kill(pid, harmless[i]));
		sleep_ms(5);
		waits_still(pid, kind);
	}
}

TEST_WITH(stopped_waiting, "Does a call go on to wait after SIGSTOP and SIGCONT?", ORPHANS)
{
	/* Linux restarts them unnoticed by the program, except sigtimedwait. */
	for (int kind = 0; kind < WAITS; kind++) {
		pid_t pid = waiting(kind);
		int status;

		OK(kill(pid, SIGSTOP));
		IS(waitpid(pid, &status, WUNTRACED), pid);
		TRUE(WIFSTOPPED(status));
		OK(kill(pid, SIGCONT));
		sleep_ms(10);
		if (kind == SIGWAIT)
			IS(reap(pid), 50 + kind);
		else
			waits_still(pid, kind);
	}
}

/* A handler with SA_RESTART lets some calls continue; the others end with EINTR. */
TEST_WITH(restarted_waiting, "Which waiting calls go on after a handler with SA_RESTART?", ORPHANS)
{
	static const char goes_on[WAITS] = { [0] = 1, [1] = 1, [8] = 1, [9] = 1, [10] = 1, [11] = 1, [12] = 1 };

	handle(SIGUSR1, catch, SA_RESTART);
	for (int kind = 0; kind < WAITS; kind++) {
		pid_t pid = waiting(kind);

		OK(kill(pid, SIGUSR1));
		sleep_ms(20);
		if (goes_on[kind])
			waits_still(pid, kind);
		else
			IS(reap(pid), 50 + kind);
	}
}
