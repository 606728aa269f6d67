/* process.c: making, waiting for and ending processes; groups, sessions, users. */
#include "usertests.h"

#include <sys/prctl.h>

static void process_tick(int signal)
{
	(void)signal;
}

TEST(fork_pids, "Does fork give the child 0 and the parent the child's number?")
{
	int ends[2], told, parent = getpid();
	pid_t pid;

	OK(pipe(ends));
	pid = fork_checked();
	if (pid == 0) {
		told = getpid();
		IS(getppid(), parent);
		IS(write(ends[1], &told, sizeof told), sizeof told);
		_exit(0);
	}
	IS(read(ends[0], &told, sizeof told), sizeof told);
	IS(told, pid);
	TRUE(pid != parent && pid > 0);
	IS(reap(pid), 0);
}

TEST(exit_status, "Does the parent get eight bits of the exit status, or the signal?")
{
	int status;
	pid_t pid = fork_checked();

	if (pid == 0)
		_exit(0x12345);
	IS(waitpid(pid, &status, 0), pid);
	IS(status, 0x4500);
	pid = fork_checked();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	OK(kill(pid, SIGKILL));
	IS(waitpid(pid, &status, 0), pid);
	IS(status & ~0x80, SIGKILL);
}

TEST(wait_errors, "Does wait4 say ECHILD without children, and refuse what it should?")
{
	int status;
	pid_t pid;

	FAILS(wait(&status), ECHILD);
	FAILS(waitpid(1, &status, 0), ECHILD);
	pid = fork_checked();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	IS(waitpid(pid, &status, WNOHANG), 0);
	IS(waitpid(-1, &status, WNOHANG), 0);
	FAILS(waitpid(pid, &status, 0x100), EINVAL);
	FAILS(waitpid(pid + 1, &status, 0), ECHILD);
	OK(kill(pid, SIGKILL));
	IS(reap(pid), 128 + SIGKILL);
}

TEST(wait_wild, "Does a wait with a wild pointer give EFAULT?")
{
	for (int i = 0; i < WILD_POINTERS; i++) {
		pid_t pid = fork_checked();

		if (pid == 0)
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
		pid[i] = fork_checked();
		if (pid[i] == 0)
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

TEST(wait_group, "Does waitpid choose children by process group?")
{
	pid_t a = fork_checked(), b;
	int status;

	if (a == 0)
		_exit(1);
	b = fork_checked();
	if (b == 0) {
		OK(setpgid(0, 0));
		_exit(2);
	}
	setpgid(b, b);
	IS(waitpid(-b, &status, 0), b);
	IS(WEXITSTATUS(status), 2);
	FAILS(waitpid(-b, &status, 0), ECHILD);
	IS(waitpid(0, &status, 0), a);
}

TEST(wait_rusage, "Does wait4 tell what the child used?")
{
	struct rusage used;
	int status;
	pid_t pid = fork_checked();

	if (pid == 0) {
		long until = now_ms() + 60;

		while (now_ms() < until)
			;
		_exit(0);
	}
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
	pid_t pid = fork_checked();

	if (pid == 0)
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
	pid_t pid = fork_checked();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	tick(5, process_tick, 0);
	FAILS(waitpid(pid, NULL, 0), EINTR);
	tick(0, NULL, 0);
	OK(kill(pid, SIGKILL));
	IS(reap(pid), 128 + SIGKILL);
}

TEST(children_ignored, "Do children leave no zombie when SIGCHLD is ignored?")
{
	handle(SIGCHLD, SIG_IGN, 0);
	for (int i = 0; i < 3; i++)
		if (fork_checked() == 0)
			_exit(0);
	FAILS(wait(NULL), ECHILD);
}

TEST_WITH(orphans, "Does a process whose parent has gone belong to another?", ORPHANS)
{
	int ends[2];
	pid_t pid, told;

	OK(pipe(ends));
	pid = fork_checked();
	if (pid == 0) {
		int parent = getpid();

		if (fork_checked() == 0) {
			for (int i = 0; i < 1000 && getppid() == parent; i++)
				sleep_ms(2);
			told = getppid();
			IS(write(ends[1], &told, sizeof told), sizeof told);
			_exit(0);
		}
		_exit(0);
	}
	IS(reap(pid), 0);
	IS(read(ends[0], &told, sizeof told), sizeof told);
	TRUE(told != pid && told != getpid());
}

TEST(zombies, "Can a zombie be signalled, and is its number free only after the wait?")
{
	pid_t pid = fork_checked();
	siginfo_t info;

	if (pid == 0)
		_exit(3);
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	OK(kill(pid, 0));
	OK(kill(pid, SIGKILL));
	IS(getpgid(pid), getpgrp());
	IS(reap(pid), 3);
	FAILS(kill(pid, 0), ESRCH);
}

TEST(fork_many, "Can a process fork and reap a thousand times?")
{
	for (int i = 0; i < 1000; i++) {
		pid_t pid = fork_checked();

		if (pid == 0)
			_exit(i & 63);
		IS(reap(pid), i & 63);
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
			/* Each of the 31 others told of itself. */
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

TEST(process_groups, "Do setpgid and getpgid move processes between groups of a session?")
{
	pid_t pid = fork_checked();

	if (pid == 0) {
		pause();
		_exit(0);
	}
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
	OK(kill(pid, SIGKILL));
	IS(reap(pid), 128 + SIGKILL);
}

TEST(sessions, "Does setsid make a session whose leader leads its group too?")
{
	pid_t pid;

	IS(getsid(0), getpid());
	FAILS(setsid(), EPERM);
	pid = fork_checked();
	if (pid == 0) {
		IS(getsid(0), getppid());
		IS(setsid(), getpid());
		IS(getpgrp(), getpid());
		IS(getsid(0), getpid());
		_exit(0);
	}
	IS(reap(pid), 0);
	FAILS(getsid(0x7ffffff), ESRCH);
}

TEST(kill_group, "Does kill of a negative number reach every process of the group, and no other?")
{
	pid_t in[3], out = fork_checked();

	if (out == 0) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < 3; i++) {
		in[i] = fork_checked();
		if (in[i] == 0) {
			pause();
			_exit(0);
		}
		OK(setpgid(in[i], in[0]));
	}
	OK(kill(-in[0], SIGTERM));
	for (int i = 0; i < 3; i++)
		IS(reap(in[i]), 128 + SIGTERM);
	IS(waitpid(out, NULL, WNOHANG), 0);
	FAILS(kill(-in[0], SIGTERM), ESRCH);
	OK(kill(out, SIGKILL));
	IS(reap(out), 128 + SIGKILL);
}

TEST(stop_continue, "Does a stopped child show with WUNTRACED, and a continued one with WCONTINUED?")
{
	int status;
	pid_t pid = fork_checked();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	OK(kill(pid, SIGSTOP));
	IS(waitpid(pid, &status, WUNTRACED), pid);
	TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	IS(waitpid(pid, &status, WUNTRACED | WNOHANG), 0);
	OK(kill(pid, SIGCONT));
	IS(waitpid(pid, &status, WCONTINUED), pid);
	TRUE(WIFCONTINUED(status));
	OK(kill(pid, SIGSTOP));
	OK(kill(pid, SIGKILL));
	IS(reap(pid), 128 + SIGKILL);
}

TEST(stop_tstp, "Does SIGTSTP stop, and wait for the handler of SIGCONT to run?")
{
	int status, ends[2];
	pid_t pid;

	OK(pipe(ends));
	pid = fork_checked();
	if (pid == 0) {
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

TEST(users_ordinary, "Can a process give up root's rights, and not take them back?")
{
	uid_t r, e, s;

	if (is_root()) {
		become_ordinary();
		IS(getuid(), OTHER_USER);
	}
	OK(getresuid(&r, &e, &s));
	IS(r, e);
	IS(e, s);
	FAILS(setuid(0), EPERM);
	FAILS(seteuid(0), EPERM);
	FAILS(setgid(getgid() + 1), EPERM);
	FAILS(RAW(SYS_setresuid, 0, -1, -1), EPERM);
	OK(RAW(SYS_setresuid, -1, -1, -1));
	FAILS(RAW(SYS_setgroups, 0, 0), EPERM);
	OK(setuid(getuid()));
	FAILS(kill(1, SIGCONT), EPERM);
}

TEST(users_saved, "Can a process with saved root go back to it?")
{
	gid_t groups[4] = { 5, 6, 7, 0 }, found[4];

	if (!is_root())
		skip("only for root");
	OK(RAW(SYS_setgroups, 3, groups));
	IS(getgroups(0, NULL), 3);
	IS(getgroups(4, found), 3);
	IS(found[1], 6);
	FAILS(getgroups(2, found), EINVAL);
	FAILS(RAW(SYS_getgroups, -1, found), EINVAL);
	OK(seteuid(1000));
	IS(geteuid(), 1000);
	IS(getuid(), 0);
	FAILS(RAW(SYS_setgroups, 0, 0), EPERM);
	OK(seteuid(0));
	OK(RAW(SYS_setreuid, 0, 1000));
	OK(RAW(SYS_setresuid, -1, 0, -1));
	OK(RAW(SYS_setregid, 20, 30));
	IS(getegid(), 30);
	IS(getgid(), 20);
	OK(setuid(1000));
	FAILS(setuid(0), EPERM);
}

TEST(names, "Does PR_SET_NAME keep fifteen characters?")
{
	char name[32] = "";

	OK(prctl(PR_SET_NAME, "a name that is far too long", 0, 0, 0));
	OK(prctl(PR_GET_NAME, name, 0, 0, 0));
	TRUE(strcmp(name, "a name that is ") == 0);
	FAULTS(RAW(SYS_prctl, PR_SET_NAME, wild, 0, 0, 0));
	FAILS(RAW(SYS_prctl, 999999, 0, 0, 0, 0), EINVAL);
}

TEST_WITH(death_signal, "Does PR_SET_PDEATHSIG kill a child whose parent has gone?", ORPHANS)
{
	int ends[2];
	char byte;
	pid_t pid;

	OK(pipe(ends));
	pid = fork_checked();
	if (pid == 0) {
		if (fork_checked() == 0) {
			OK(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
			put(ends[1]);
			pause();
			put(ends[1]);
			_exit(0);
		}
		get(ends[0]);
		_exit(0);
	}
	OK(close(ends[1]));
	IS(reap(pid), 0);
	IS(read(ends[0], &byte, 1), 0);
	FAILS(RAW(SYS_prctl, PR_SET_PDEATHSIG, 200, 0, 0, 0), EINVAL);
}

TEST(priority, "Do getpriority and setpriority agree, and only root lower a nice value?")
{
	int least = getpriority(PRIO_PROCESS, 0);

	TRUE(least >= 0);
	OK(setpriority(PRIO_PROCESS, 0, 10));
	IS(getpriority(PRIO_PROCESS, 0), 10);
	IS(RAW(SYS_getpriority, PRIO_PROCESS, 0), 10);
	OK(setpriority(PRIO_PROCESS, getpid(), 100));
	IS(getpriority(PRIO_PROCESS, 0), 19);
	become_ordinary();
	FAILS(setpriority(PRIO_PROCESS, 0, 5), EACCES);
	FAILS(setpriority(77, 0, 5), EINVAL);
	FAILS(RAW(SYS_getpriority, 77, 0), EINVAL);
	FAILS(RAW(SYS_getpriority, PRIO_PROCESS, 0x7ffffff), ESRCH);
}

TEST(unknown_calls, "Does a call that does not exist give ENOSYS?")
{
	static const long numbers[] = { 400, 423, 999, 2000, 100000, -1, 0x7fffffff };

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		FAILS(RAW(numbers[i]), ENOSYS);
}
