/* masks.c: blocked and pending signals, and waiting for signals. */
#include "usertests.h"

TEST(sigsuspend, "Does sigsuspend wait with its mask, and restore the old one?")
{
	sigset_t none = set_of(0), now;

	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	FAILS(sigsuspend(&none), EINTR);
	IS(caught[SIGUSR1], 1);
	OK(sigprocmask(SIG_BLOCK, NULL, &now));
	IS(sigismember(&now, SIGUSR1), 1);
	FAILS(RAW(SYS_rt_sigsuspend, &none, 4), EINVAL);
	FAULTS(RAW(SYS_rt_sigsuspend, wild, 8));
}

TEST(sigtimedwait, "Does sigtimedwait take a pending signal, or wait, or give up?")
{
	struct timespec soon = { 0, 20 * MS }, none = { 0, 0 }, bad = { 0, -1 };
	sigset_t set = set_of(SIGUSR1);
	siginfo_t info;
	pid_t pid;

	block(SIGUSR1);
	OK(raise(SIGUSR1));
	IS(sigtimedwait(&set, &info, &none), SIGUSR1);
	IS(info.si_pid, getpid());
	FAILS(sigtimedwait(&set, &info, &none), EAGAIN);
	FAILS(sigtimedwait(&set, &info, &soon), EAGAIN);
	FAILS(RAW(SYS_rt_sigtimedwait, &set, 0, &bad, 8), EINVAL);
	FAILS(RAW(SYS_rt_sigtimedwait, &set, 0, &none, 4), EINVAL);
	FAULTS(RAW(SYS_rt_sigtimedwait, wild, 0, &none, 8));
	START_CHILD (pid) {
		sleep_ms(20);
		kill(getppid(), SIGUSR1);
	}
	IS(sigtimedwait(&set, &info, NULL), SIGUSR1);
	IS(info.si_pid, pid);
	IS(reap(pid), 0);
}

TEST(sigtimedwait_interrupted, "Does another signal end sigtimedwait with EINTR?")
{
	sigset_t set = set_of(SIGUSR1);

	block(SIGUSR1);
	tick(5, catch, SA_RESTART);
	FAILS(RAW(SYS_rt_sigtimedwait, &set, 0, 0, 8), EINTR);
}

TEST(pause, "Does pause wait for a handler?")
{
	tick(5, catch, SA_RESTART);
	FAILS(pause(), EINTR);
	TRUE(caught[SIGALRM] > 0);
}

TEST(signal_blocked, "Does a blocked signal wait, once however often it is sent?")
{
	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 0);
	IS(is_pending(SIGUSR1), 1);
	IS(is_pending(SIGUSR2), 0);
	unblock(SIGUSR1);
	IS(caught[SIGUSR1], 1);
	IS(is_pending(SIGUSR1), 0);
}

TEST(signal_ignored_pending, "Is a pending signal dropped when it is ignored?")
{
	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	handle(SIGUSR1, SIG_IGN, 0);
	IS(is_pending(SIGUSR1), 0);
	handle(SIGUSR1, catch, 0);
	unblock(SIGUSR1);
	IS(caught[SIGUSR1], 0);
}

TEST(sigprocmask, "Does the signal mask change as asked, but for SIGKILL and SIGSTOP?")
{
	sigset_t set, old;
	uint64_t raw = ~0ull;

	sigfillset(&set);
	OK(sigprocmask(SIG_SETMASK, &set, NULL));
	OK(RAW(SYS_rt_sigprocmask, SIG_SETMASK, &raw, 0, 8));
	OK(RAW(SYS_rt_sigprocmask, SIG_BLOCK, 0, &raw, 8));
	IS(raw >> (SIGKILL - 1) & 1, 0);
	IS(raw >> (SIGSTOP - 1) & 1, 0);
	IS(raw >> (SIGUSR1 - 1) & 1, 1);
	set = set_of(SIGUSR1);
	OK(sigprocmask(SIG_SETMASK, &set, &old));
	IS(sigismember(&old, SIGUSR2), 1);
	FAILS(RAW(SYS_rt_sigprocmask, 77, &raw, 0, 8), EINVAL);
	OK(RAW(SYS_rt_sigprocmask, 77, 0, &raw, 8));
	FAILS(RAW(SYS_rt_sigprocmask, SIG_BLOCK, &raw, 0, 4), EINVAL);
	FAULTS(RAW(SYS_rt_sigprocmask, SIG_BLOCK, wild, 0, 8));
	FAULTS(RAW(SYS_rt_sigprocmask, SIG_BLOCK, 0, wild, 8));
}

TEST(signal_order, "Do several pending signals arrive, and real-time ones each time?")
{
	sigset_t set = set_of(SIGUSR1);

	handle(SIGUSR1, catch, 0);
	handle(SIGUSR2, catch, 0);
	handle(40, catch, 0);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, 40);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 3; i++) {
		OK(raise(SIGUSR1));
		OK(raise(SIGUSR2));
		OK(raise(40));
	}
	OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
	IS(caught[SIGUSR1], 1);
	IS(caught[SIGUSR2], 1);
	TRUE(caught[40] == 3);
}

TEST(signal_after_fork, "Does a child inherit handlers and mask, but not what is pending?")
{
	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	IN_CHILD (0) {
		IS(is_pending(SIGUSR1), 0);
		unblock(SIGUSR1);
		IS(caught[SIGUSR1], 0);
		OK(raise(SIGUSR1));
		IS(caught[SIGUSR1], 1);
	}
}

TEST(stop_cont_pending, "Do SIGCONT and stop signals drop each other while pending, and SIGCONT wake when blocked?")
{
	int status;
	pid_t pid;

	handle(SIGCONT, catch, 0);
	block(SIGTSTP);
	OK(raise(SIGTSTP));
	OK(raise(SIGCONT));
	IS(is_pending(SIGTSTP), 0);
	IS(caught[SIGCONT], 1);
	block(SIGCONT);
	OK(raise(SIGCONT));
	OK(raise(SIGTSTP));
	IS(is_pending(SIGCONT), 0);
	IS(is_pending(SIGTSTP), 1);
	START_CHILD (pid) {
		OK(kill(getpid(), SIGSTOP));
		_exit(caught[SIGCONT]);
	}
	IS(waitpid(pid, &status, WUNTRACED), pid);
	TRUE(WIFSTOPPED(status));
	OK(kill(pid, SIGCONT));
	IS(reap(pid), 1);
}
