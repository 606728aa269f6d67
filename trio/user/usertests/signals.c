/* signals.c: sending and handling signals. */
#include "usertests.h"

#include <setjmp.h>

static volatile int last_signal;

TEST(signal_caught, "Does a handler run before kill of oneself returns?")
{
	handle(SIGUSR1, catch, 0);
	OK(kill(getpid(), SIGUSR1));
	IS(caught[SIGUSR1], 1);
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 2);
	handle(SIGUSR1, SIG_IGN, 0);
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 2);
}

TEST(signal_defaults, "What does each signal do to a process by default?")
{
	static const int deadly[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,
				      SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGVTALRM,
				      SIGPROF, SIGSYS,  SIGXCPU, SIGXFSZ, SIGIO,   40,      64 };
	static const int harmless[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH };

	for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
		IN_CHILD (128 + deadly[i]) {
			RAW(SYS_kill, getpid(), deadly[i]);
		}
	}
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
		OK(kill(getpid(), harmless[i]));
}

TEST(kill_errors, "Does kill say ESRCH and EINVAL, and send nothing with 0?")
{
	OK(kill(getpid(), 0));
	OK(kill(0, 0));
	FAILS(kill(getpid(), 65), EINVAL);
	FAILS(kill(getpid(), -1), EINVAL);
	FAILS(kill(0x7ffffff, SIGTERM), ESRCH);
	FAILS(kill(-0x7ffffff, SIGTERM), ESRCH);
	FAILS(kill(INT_MIN, 0), ESRCH);
}

TEST(kill_ordinary, "May an ordinary user signal his own processes alone?")
{
	become_ordinary();
	FAILS(kill(1, SIGTERM), EPERM);
	FAILS(kill(1, 0), EPERM);
	OK(kill(getpid(), 0));
}

TEST(sigaction_errors, "Does sigaction refuse bad numbers and pointers, and SIGKILL and SIGSTOP?")
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = catch;
	FAILS(RAW(SYS_rt_sigaction, 0, &sa, 0, 8), EINVAL);
	FAILS(RAW(SYS_rt_sigaction, 65, &sa, 0, 8), EINVAL);
	FAILS(RAW(SYS_rt_sigaction, SIGKILL, &sa, 0, 8), EINVAL);
	FAILS(RAW(SYS_rt_sigaction, SIGSTOP, &sa, 0, 8), EINVAL);
	FAILS(RAW(SYS_rt_sigaction, SIGUSR1, &sa, 0, 16), EINVAL);
	OK(RAW(SYS_rt_sigaction, SIGKILL, 0, &sa, 8));
	FAULTS(RAW(SYS_rt_sigaction, SIGUSR1, wild, 0, 8));
	FAULTS(RAW(SYS_rt_sigaction, SIGUSR1, 0, wild, 8));
}

TEST(sigaction_old, "Does sigaction give back what was set?")
{
	struct sigaction old;

	handle(SIGUSR1, catch, SA_RESTART);
	OK(sigaction(SIGUSR1, NULL, &old));
	TRUE(old.sa_handler == catch);
	IS(old.sa_flags & SA_RESTART, SA_RESTART);
	handle(SIGUSR1, SIG_DFL, 0);
	OK(sigaction(SIGUSR1, NULL, &old));
	TRUE(old.sa_handler == SIG_DFL);
}

static void nest(int signal)
{
	caught[signal]++;
	if (signal == SIGUSR1 && caught[SIGUSR1] == 1) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		last_signal = caught[SIGUSR1] * 10 + caught[SIGUSR2];
	}
}

TEST(signal_in_handler, "Is a signal blocked in its own handler, and others not?")
{
	handle(SIGUSR1, nest, 0);
	handle(SIGUSR2, nest, 0);
	OK(raise(SIGUSR1));
	IS(last_signal, 11);
	IS(caught[SIGUSR1], 2);
}

TEST(signal_nodefer, "Does SA_NODEFER let a handler be entered again?")
{
	handle(SIGUSR1, nest, SA_NODEFER);
	handle(SIGUSR2, nest, 0);
	OK(raise(SIGUSR1));
	IS(last_signal, 21);
}

TEST(signal_mask, "Does sa_mask block others while the handler runs?")
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = nest;
	sigaddset(&sa.sa_mask, SIGUSR2);
	OK(sigaction(SIGUSR1, &sa, NULL));
	handle(SIGUSR2, nest, 0);
	OK(raise(SIGUSR1));
	IS(last_signal, 10);
	IS(caught[SIGUSR2], 1);
}

TEST(signal_resethand, "Does SA_RESETHAND handle once?")
{
	struct sigaction old;

	handle(SIGUSR1, catch, (int)SA_RESETHAND);
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 1);
	OK(sigaction(SIGUSR1, NULL, &old));
	TRUE(old.sa_handler == SIG_DFL);
}

TEST(signal_info, "Does SA_SIGINFO tell who sent a signal?")
{
	pid_t pid;

	handle_info(SIGUSR1, catch_info, 0);
	handle_info(SIGCHLD, catch_info, 0);
	OK(kill(getpid(), SIGUSR1));
	IS(last_info.si_signo, SIGUSR1);
	IS(last_info.si_code, SI_USER);
	IS(last_info.si_pid, getpid());
	IS(last_info.si_uid, getuid());
	START_CHILD (pid)
		_exit(9);
	while (!caught[SIGCHLD])
		sleep_ms(1);
	IS(last_info.si_signo, SIGCHLD);
	IS(last_info.si_code, CLD_EXITED);
	IS(last_info.si_pid, pid);
	IS(last_info.si_status, 9);
	IS(reap(pid), 9);
}

TEST(sigchld, "Does each child's end send SIGCHLD, and a stop only without SA_NOCLDSTOP?")
{
	pid_t pid;

	handle(SIGCHLD, catch, SA_NOCLDSTOP);
	pid = fork_paused();
	OK(kill(pid, SIGSTOP));
	IS(waitpid(pid, NULL, WUNTRACED), pid);
	IS(caught[SIGCHLD], 0);
	kill_and_reap(pid);
	IS(caught[SIGCHLD], 1);
}

TEST(tkill, "Do tkill and tgkill reach a thread, and refuse what they should?")
{
	long self = RAW(SYS_gettid);

	handle(SIGUSR1, catch, 0);
	OK(RAW(SYS_tkill, self, SIGUSR1));
	OK(RAW(SYS_tgkill, getpid(), self, SIGUSR1));
	IS(caught[SIGUSR1], 2);
	FAILS(RAW(SYS_tkill, -1, SIGUSR1), EINVAL);
	FAILS(RAW(SYS_tkill, 0, SIGUSR1), EINVAL);
	FAILS(RAW(SYS_tgkill, getpid(), 0x7ffffff, SIGUSR1), ESRCH);
	FAILS(RAW(SYS_tgkill, getpid() + 1, getpid(), SIGUSR1), ESRCH);
	FAILS(RAW(SYS_tkill, getpid(), 65), EINVAL);
}

static sigjmp_buf *jump_buffer;

static void jump(int signal)
{
	static int jumps;

	(void)signal;
	siglongjmp(*jump_buffer, ++jumps);
}

TEST(signal_jump, "Does a jump out of a handler restore the mask that was saved?")
{
	static sigjmp_buf back;
	static volatile int jumps;
	sigset_t now;

	if (sigsetjmp(back, 1) < 3) {
		jumps++;
		jump_buffer = &back;
		handle(SIGUSR1, jump, 0);
		raise(SIGUSR1);
	}
	IS(jumps, 3);
	OK(sigprocmask(SIG_BLOCK, NULL, &now));
	IS(sigismember(&now, SIGUSR1), 0);
}

TEST(signal_no_zombies, "Does SA_NOCLDWAIT leave no zombie and call the handler all the same?")
{
	handle(SIGCHLD, catch, SA_NOCLDWAIT);
	if (fork_checked() == 0)
		_exit(0);
	while (wait(NULL) >= 0 || errno == EINTR)
		;
	IS(errno, ECHILD);
	IS(caught[SIGCHLD], 1);
}

TEST(signal_storm, "Do a thousand signals from a child arrive or merge, and none afterwards?")
{
	handle(SIGUSR1, catch, 0);
	IN_CHILD (0) {
		for (int i = 0; i < 1000; i++)
			kill(getppid(), SIGUSR1);
	}
	TRUE(caught[SIGUSR1] >= 1 && caught[SIGUSR1] <= 1000);
}

TEST(signal_resethand_rest, "Does SA_RESETHAND take the handler away, and leave flags and mask?")
{
	struct sigaction action = { .sa_flags = (int)SA_RESETHAND | SA_SIGINFO | SA_RESTART };

	action.sa_handler = catch;
	sigaddset(&action.sa_mask, SIGUSR2);
	OK(sigaction(SIGUSR1, &action, NULL));
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 1);
	OK(sigaction(SIGUSR1, NULL, &action));
	TRUE(action.sa_handler == SIG_DFL);
	TRUE(action.sa_flags & SA_SIGINFO && action.sa_flags & SA_RESTART);
	TRUE(sigismember(&action.sa_mask, SIGUSR2));
}
