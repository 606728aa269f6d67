/* ends.c: how processes stop and end when threads, groups, vfork and the parent's settings are involved. */
#include "usertests.h"

static void *pause_long(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *spin_long(void *unused)
{
	for (volatile unsigned i = 0;; i++)
		;
	return unused;
}

TEST(stop_threads, "Does a stop halt all threads, show once, and put off what else is sent?")
{
	siginfo_t info;
	int status;
	pid_t pid = fork_checked();

	if (pid == 0) {
		start_thread(pause_long, NULL);
		start_thread(spin_long, NULL);
		pause_long(NULL);
	}
	sleep_ms(10);
	OK(kill(pid, SIGSTOP));
	IS(waitpid(pid, &status, WUNTRACED), pid);
	TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	IS(waitpid(pid, &status, WUNTRACED | WNOHANG), 0);
	OK(kill(pid, SIGTERM));
	sleep_ms(10);
	IS(waitpid(pid, &status, WNOHANG), 0);
	OK(kill(pid, SIGCONT));
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED));
	IS(info.si_code, CLD_KILLED);
	IS(info.si_status, SIGTERM);
}

TEST_WITH(orphaned_group, "Do stopped processes get SIGHUP and SIGCONT when nobody is left to continue them?", ORPHANS)
{
	int ends[2];
	char hits;

	OK(pipe(ends));
	IN_CHILD (0) {
		pid_t stopped;

		START_CHILD (stopped) {
			OK(setpgid(0, 0));
			handle_info(SIGHUP, catch_info, 0);
			handle_info(SIGCONT, catch_info, 0);
			OK(kill(getpid(), SIGSTOP));
			hits = (char)(caught[SIGHUP] + caught[SIGCONT]);
			IS(write(ends[1], &hits, 1), 1);
		}
		setpgid(stopped, stopped);
		IS(waitpid(stopped, NULL, WUNTRACED), stopped);
	}
	OK(close(ends[1]));
	IS(read(ends[0], &hits, 1), 1);
	IS(hits, 2);
}

TEST_WITH(vfork_killed, "Can a process be killed while it waits for its vfork?", ORPHANS)
{
	pid_t pid;

	START_CHILD (pid) {
		if (vfork() == 0) {
			sleep_ms(100);
			_exit(0);
		}
		_exit(1);
	}
	sleep_ms(20);
	kill_and_reap(pid);
}

TEST(vfork_signal, "Does a signal wait for the end of vfork?")
{
	pid_t pid;

	handle_info(SIGUSR1, catch_info, 0);
	pid = vfork();
	if (pid == 0) {
		kill(getppid(), SIGUSR1);
		sleep_ms(10);
		_exit(caught[SIGUSR1]);
	}
	IS(caught[SIGUSR1], 1);
	IS(reap(pid), 0);
}

TEST(sigchld_flags, "Does SIGCHLD tell of a stop and an end as SA_NOCLDSTOP and SA_NOCLDWAIT say?")
{
	pid_t pid = fork_checked();

	if (pid == 0)
		pause_long(NULL);
	handle_info(SIGCHLD, catch_info, 0);
	OK(kill(pid, SIGSTOP));
	while (caught[SIGCHLD] < 1)
		sleep_ms(1);
	IS(last_info.si_code, CLD_STOPPED);
	IS(last_info.si_status, SIGSTOP);
	OK(kill(pid, SIGCONT));
	while (caught[SIGCHLD] < 2)
		sleep_ms(1);
	IS(last_info.si_code, CLD_CONTINUED);
	handle_info(SIGCHLD, catch_info, SA_NOCLDSTOP);
	OK(kill(pid, SIGSTOP));
	sleep_ms(10);
	IS(caught[SIGCHLD], 2);
	handle_info(SIGCHLD, catch_info, SA_NOCLDWAIT);
	OK(kill(pid, SIGKILL));
	while (caught[SIGCHLD] < 3)
		sleep_ms(1);
	IS(last_info.si_code, CLD_KILLED);
	IS(last_info.si_status, SIGKILL);
	IS(last_info.si_pid, pid);
	FAILS(waitpid(pid, NULL, 0), ECHILD);
}

TEST(wait_clone, "Are children without SIGCHLD waited for with __WCLONE or __WALL alone?")
{
	int status;
	pid_t pid = (pid_t)OK(RAW(SYS_clone, 0));

	if (pid == 0)
		RAW(SYS_exit, 2);
	FAILS(waitpid(pid, &status, 0), ECHILD);
	IS(waitpid(pid, &status, __WCLONE), pid);
	IS(WEXITSTATUS(status), 2);
	handle(SIGUSR2, SIG_IGN, 0);
	pid = (pid_t)OK(RAW(SYS_clone, SIGUSR2));
	if (pid == 0)
		RAW(SYS_exit, 3);
	IS(waitpid(pid, &status, __WALL), pid);
	IS(WEXITSTATUS(status), 3);
}

TEST(sigqueue, "Do values arrive in the order they were sent, and is RLIMIT_SIGPENDING kept?")
{
	struct rlimit none = { 0, 0 };
	const struct timespec at_once = { 0, 0 };
	union sigval value;
	siginfo_t info;
	sigset_t set = set_of(SIGRTMIN + 1);

	block(SIGRTMIN + 1);
	for (value.sival_int = 1; value.sival_int <= 3; value.sival_int++)
		OK(sigqueue(getpid(), SIGRTMIN + 1, value));
	for (int i = 1; i <= 3; i++) {
		IS(sigtimedwait(&set, &info, &at_once), SIGRTMIN + 1);
		IS(info.si_code, SI_QUEUE);
		IS(info.si_value.sival_int, i);
		IS(info.si_pid, getpid());
	}
	FAILS(sigtimedwait(&set, &info, &at_once), EAGAIN);
	FAILS(sigqueue(getpid(), 65, value), EINVAL);
	OK(setrlimit(RLIMIT_SIGPENDING, &none));
	FAILS(sigqueue(getpid(), SIGRTMIN + 1, value), EAGAIN);
}

/* Spins until the signal was caught `hits` times, but at most some seconds, mostly in user mode. */
static void spin_until(int signal, int hits)
{
	long until = now_ms() + 5000;

	while (caught[signal] < hits && now_ms() < until)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void processor_timer(int which, int signal)
{
	const struct itimerval every = { { 0, 10000 }, { 0, 10000 } }, once = { { 0, 0 }, { 0, 20000 } };
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };
	struct itimerval left;

	handle_info(signal, catch_info, 0);
	OK(setitimer(which, &every, NULL));
	sleep_ms(50);
	TRUE(caught[signal] <= 1);
	spin_until(signal, 3);
	TRUE(caught[signal] >= 3);
	OK(getitimer(which, &left));
	IS(left.it_interval.tv_usec, 10000);
	TRUE(left.it_value.tv_usec > 0);
	OK(setitimer(which, &off, NULL));
	OK(getitimer(which, &left));
	IS(left.it_value.tv_usec, 0);
	caught[signal] = 0;
	OK(setitimer(which, &once, NULL));
	spin_until(signal, 1);
	IS(caught[signal], 1);
}

TEST(itimer_processor, "Do ITIMER_VIRTUAL and ITIMER_PROF pass with the processor's time alone, again or once?")
{
	processor_timer(ITIMER_VIRTUAL, SIGVTALRM);
	processor_timer(ITIMER_PROF, SIGPROF);
}
