/* wait.c: waiting for children: which one, how it ended, and what remains of it until then. */
#include "usertests.h"

TEST(wait_errors, "Does wait4 say ECHILD without children, and refuse what it should?")
{
	int status;
	pid_t pid;

	FAILS(wait(&status), ECHILD);
	FAILS(waitpid(1, &status, 0), ECHILD);
	pid = fork_paused();
	IS(waitpid(pid, &status, WNOHANG), 0);
	IS(waitpid(-1, &status, WNOHANG), 0);
	FAILS(waitpid(pid, &status, 0x100), EINVAL);
	FAILS(waitpid(pid + 1, &status, 0), ECHILD);
	kill_and_reap(pid);
}

TEST(wait_wild, "Does a wait with a wild pointer give EFAULT?")
{
	for (int i = 0; i < WILD_POINTERS; i++) {
		pid_t pid;

		START_CHILD (pid)
			_exit(0);
		FAILS(RAW(SYS_wait4, pid, wild_pointer(i), 0, 0), EFAULT);
		while (waitpid(pid, NULL, 0) > 0)
			;
	}
}

TEST(wait_any, "Does wait take whichever child ends, each once?")
{
	enum { CHILDREN = 10 };
	pid_t pid[CHILDREN];
	int status, seen[CHILDREN] = { 0 };

	for (int i = 0; i < CHILDREN; i++) {
		START_CHILD (pid[i])
			_exit(i + 1);
	}
	for (int k = 0; k < CHILDREN; k++) {
		pid_t got = (pid_t)OK(wait(&status));

		for (int i = 0; i < CHILDREN; i++)
			if (pid[i] == got) {
				IS(WEXITSTATUS(status), i + 1);
				seen[i]++;
			}
	}
	for (int i = 0; i < CHILDREN; i++)
		IS(seen[i], 1);
	FAILS(wait(&status), ECHILD);
}

TEST(wait_rusage, "Does wait4 tell what the child used?")
{
	struct rusage used;
	int status;
	pid_t pid;

	START_CHILD (pid)
		work_ms(60);
	memset(&used, 0xff, sizeof used);
	IS(wait4(pid, &status, 0, &used), pid);
	TRUE(used.ru_utime.tv_sec >= 0 && used.ru_utime.tv_sec < TIME_LIMIT && used.ru_utime.tv_usec < 1000000);
	TRUE(used.ru_utime.tv_sec + used.ru_utime.tv_usec + used.ru_stime.tv_usec > 0);
	OK(getrusage(RUSAGE_CHILDREN, &used));
	TRUE(used.ru_utime.tv_sec + used.ru_utime.tv_usec + used.ru_stime.tv_usec > 0);
}

TEST(waitid, "Does waitid fill in who and how, and leave a zombie where asked?")
{
	siginfo_t info;
	pid_t pid;

	START_CHILD (pid)
		_exit(7);
	memset(&info, 0, sizeof info);
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	IS(info.si_pid, pid);
	IS(info.si_code, CLD_EXITED);
	IS(info.si_status, 7);
	IS(info.si_signo, SIGCHLD);
	OK(waitid(P_ALL, 0, &info, WEXITED));
	FAILS(waitid(P_PID, (id_t)pid, &info, WEXITED), ECHILD);
	FAILS(waitid(P_ALL, 0, &info, 0), EINVAL);
	FAILS(RAW(SYS_waitid, 77, 0, &info, WEXITED, 0), EINVAL);
}

TEST(wait_interrupted, "Does a handler's signal end a wait with EINTR?")
{
	pid_t pid = fork_paused();

	tick(5, catch, 0);
	FAILS(waitpid(pid, NULL, 0), EINTR);
	tick(0, NULL, 0);
	kill_and_reap(pid);
}

TEST(children_ignored, "Do children leave no zombie when SIGCHLD is ignored?")
{
	handle(SIGCHLD, SIG_IGN, 0);
	for (int i = 0; i < 3; i++)
		if (fork_checked() == 0)
			_exit(0);
	FAILS(wait(NULL), ECHILD);
}

TEST(zombies, "Can a zombie be signalled, and is its number free only after the wait?")
{
	pid_t pid;
	siginfo_t info;

	START_CHILD (pid)
		_exit(3);
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	OK(kill(pid, 0));
	OK(kill(pid, SIGKILL));
	IS(getpgid(pid), getpgrp());
	IS(reap(pid), 3);
	FAILS(kill(pid, 0), ESRCH);
}
