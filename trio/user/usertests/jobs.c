/* jobs.c: process groups and sessions; stopping and continuing. */
#include "usertests.h"

TEST(process_groups, "Do setpgid and getpgid move processes between groups of a session?")
{
	pid_t pid = fork_paused();

	IS(getpgid(pid), getpgrp());
	IS(getpgid(0), getpgrp());
	OK(setpgid(pid, 0));
	IS(getpgid(pid), pid);
	OK(setpgid(pid, getpgrp()));
	IS(getpgid(pid), getpgrp());
	FAILS(setpgid(pid, 0x7ffffff), EPERM);
	FAILS(setpgid(pid, -1), EINVAL);
	FAILS(setpgid(1, 1), ESRCH);
	FAILS(getpgid(0x7ffffff), ESRCH);
	/* This process leads its session. */
	FAILS(setpgid(0, 0), EPERM);
	kill_and_reap(pid);
}

TEST(sessions, "Does setsid make a session whose leader leads its group too?")
{
	IS(getsid(0), getpid());
	FAILS(setsid(), EPERM);
	IN_CHILD (0) {
		IS(getsid(0), getppid());
		IS(setsid(), getpid());
		IS(getpgrp(), getpid());
		IS(getsid(0), getpid());
	}
	FAILS(getsid(0x7ffffff), ESRCH);
}

TEST(kill_group, "Does kill of a negative number reach every process of the group, and no other?")
{
	pid_t in[3], out = fork_paused();

	for (int i = 0; i < 3; i++) {
		in[i] = fork_paused();
		OK(setpgid(in[i], in[0]));
	}
	OK(kill(-in[0], SIGTERM));
	for (int i = 0; i < 3; i++)
		IS(reap(in[i]), 128 + SIGTERM);
	IS(waitpid(out, NULL, WNOHANG), 0);
	FAILS(kill(-in[0], SIGTERM), ESRCH);
	kill_and_reap(out);
}

TEST(stop_continue, "Does a stopped child show with WUNTRACED, and a continued one with WCONTINUED?")
{
	int status;
	pid_t pid = fork_paused();

	OK(kill(pid, SIGSTOP));
	IS(waitpid(pid, &status, WUNTRACED), pid);
	TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	IS(waitpid(pid, &status, WUNTRACED | WNOHANG), 0);
	OK(kill(pid, SIGCONT));
	IS(waitpid(pid, &status, WCONTINUED), pid);
	TRUE(WIFCONTINUED(status));
	OK(kill(pid, SIGSTOP));
	kill_and_reap(pid);
}

TEST(stop_tstp, "Does SIGTSTP stop, and wait for the handler of SIGCONT to run?")
{
	int status, ends[2];
	pid_t pid;

	OK(pipe(ends));
	START_CHILD (pid) {
		setpgid(0, 0);
		put(ends[1]);
		kill(getpid(), SIGTSTP);
		_exit(4);
	}
	get(ends[0]);
	IS(waitpid(pid, &status, WUNTRACED), pid);
	TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
	OK(kill(pid, SIGCONT));
	IS(reap(pid), 4);
}

TEST(wait_group, "Does waitpid choose children by process group?")
{
	pid_t a = fork_checked(), b;
	int status;

	if (a == 0)
		_exit(1);
	START_CHILD (b) {
		OK(setpgid(0, 0));
		_exit(2);
	}
	setpgid(b, b);
	IS(waitpid(-b, &status, 0), b);
	IS(WEXITSTATUS(status), 2);
	FAILS(waitpid(-b, &status, 0), ECHILD);
	IS(waitpid(0, &status, 0), a);
}

TEST(group_of_executed, "May a parent not move a child to another group once it has executed a program?")
{
	int ends[2];
	char byte;
	siginfo_t info;
	pid_t pid;

	OK(pipe2(ends, O_CLOEXEC));
	START_CHILD (pid)
		execute_self();
	OK(close(ends[1]));
	/* The end of the file: execve has closed the child's end. */
	IS(read(ends[0], &byte, 1), 0);
	FAILS(setpgid(pid, pid), EACCES);
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	FAILS(setpgid(pid, pid), EACCES);
	IS(reap(pid), 2);
}
