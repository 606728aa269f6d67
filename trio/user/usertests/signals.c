/* signals.c: sending, handling, blocking and waiting for signals. */
#include "usertests.h"

static volatile int caught[65], last_signal;
static volatile long order;
static siginfo_t last_info;

static void catch(int signal)
{
	caught[signal]++;
	last_signal = signal;
	order = order * 100 + signal;
}

static void catch_info(int signal, siginfo_t *info, void *context)
{
	(void)context;
	caught[signal]++;
	last_info = *info;
}

static void handle_info(int signal, int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = catch_info;
	sa.sa_flags = SA_SIGINFO | flags;
	OK(sigaction(signal, &sa, NULL));
}

static sigset_t set_of(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	if (signal)
		sigaddset(&set, signal);
	return set;
}

static void block(int signal)
{
	sigset_t set = set_of(signal);

	OK(sigprocmask(SIG_BLOCK, &set, NULL));
}

static void unblock(int signal)
{
	sigset_t set = set_of(signal);

	OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
}

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
	pid_t pid;

	for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
		pid = fork_checked();
		if (pid == 0) {
			RAW(SYS_kill, getpid(), deadly[i]);
			_exit(0);
		}
		IS(reap(pid), 128 + deadly[i]);
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

TEST(signal_blocked, "Does a blocked signal wait, once however often it is sent?")
{
	sigset_t pending;

	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 0);
	OK(sigpending(&pending));
	IS(sigismember(&pending, SIGUSR1), 1);
	IS(sigismember(&pending, SIGUSR2), 0);
	unblock(SIGUSR1);
	IS(caught[SIGUSR1], 1);
	OK(sigpending(&pending));
	IS(sigismember(&pending, SIGUSR1), 0);
}

TEST(signal_ignored_pending, "Is a pending signal dropped when it is ignored?")
{
	sigset_t pending;

	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	handle(SIGUSR1, SIG_IGN, 0);
	OK(sigpending(&pending));
	IS(sigismember(&pending, SIGUSR1), 0);
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

TEST(signal_order, "Do several pending signals arrive, and real-time ones each time?")
{
	sigset_t set;

	handle(SIGUSR1, catch, 0);
	handle(SIGUSR2, catch, 0);
	handle(40, catch, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
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

TEST(signal_info, "Does SA_SIGINFO tell who sent a signal?")
{
	pid_t pid;

	handle_info(SIGUSR1, 0);
	handle_info(SIGCHLD, 0);
	OK(kill(getpid(), SIGUSR1));
	IS(last_info.si_signo, SIGUSR1);
	IS(last_info.si_code, SI_USER);
	IS(last_info.si_pid, getpid());
	IS(last_info.si_uid, getuid());
	pid = fork_checked();
	if (pid == 0)
		_exit(9);
	while (!caught[SIGCHLD])
		sleep_ms(1);
	IS(last_info.si_signo, SIGCHLD);
	IS(last_info.si_code, CLD_EXITED);
	IS(last_info.si_pid, pid);
	IS(last_info.si_status, 9);
	IS(reap(pid), 9);
}

static void *fault_at;

static void catch_fault(int signal, siginfo_t *info, void *context)
{
	(void)context;
	caught[signal]++;
	last_info = *info;
	fault_at = info->si_addr;
	if (mprotect(fault_at, PAGE, PROT_READ | PROT_WRITE) < 0)
		_exit(FAILED);
}

TEST(signal_fault, "Does SIGSEGV tell the address, and does the store go on once it is mended?")
{
	struct sigaction sa;
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(page);
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = catch_fault;
	sa.sa_flags = SA_SIGINFO;
	OK(sigaction(SIGSEGV, &sa, NULL));
	*(volatile char *)page = 42;
	IS(caught[SIGSEGV], 1);
	TRUE(fault_at == page);
	IS(last_info.si_code, SEGV_ACCERR);
	IS(*page, 42);
}

static void leave(int signal)
{
	_exit(signal);
}

TEST(signal_traps, "Which signals do wrong instructions and addresses give?")
{
	static const int wanted[] = { SIGSEGV, SIGSEGV, SIGSEGV, SIGFPE, SIGILL, SIGSEGV, SIGTRAP };

	for (int kind = 0; kind < 7; kind++) {
		pid_t pid = fork_checked();

		if (pid == 0) {
			handle(wanted[kind], leave, 0);
			if (kind == 0)
				*(volatile char *)wild_pointer(0) = 1;
			if (kind == 1)
				*(volatile char *)wild_pointer(1) = 1;
			if (kind == 2)
				*(volatile char *)wild_pointer(2) = 1;
			if (kind == 3)
				__asm__ volatile("xorl %%ecx, %%ecx; idivl %%ecx" ::: "eax", "ecx", "edx");
			if (kind == 4)
				__asm__ volatile("ud2");
			if (kind == 5)
				__asm__ volatile("cli");
			if (kind == 6)
				__asm__ volatile("int3");
			_exit(0);
		}
		IS(reap(pid), wanted[kind]);
	}
}

TEST(signal_fault_blocked, "Does a fault kill the process that blocks or ignores its signal?")
{
	pid_t pid = fork_checked();

	if (pid == 0) {
		block(SIGSEGV);
		*(volatile char *)wild_pointer(0) = 1;
		_exit(0);
	}
	IS(reap(pid), 128 + SIGSEGV);
	pid = fork_checked();
	if (pid == 0) {
		handle(SIGSEGV, SIG_IGN, 0);
		*(volatile char *)wild_pointer(0) = 1;
		_exit(0);
	}
	IS(reap(pid), 128 + SIGSEGV);
}

TEST(sigaltstack, "Does SA_ONSTACK run the handler on the other stack?")
{
	static char stack[32768];
	stack_t ss = { stack, 0, sizeof stack }, old;

	OK(sigaltstack(&ss, NULL));
	OK(sigaltstack(NULL, &old));
	TRUE(old.ss_sp == stack && old.ss_size == sizeof stack && old.ss_flags == 0);
	handle_info(SIGUSR1, SA_ONSTACK);
	OK(raise(SIGUSR1));
	IS(caught[SIGUSR1], 1);
	ss.ss_flags = SS_DISABLE;
	OK(sigaltstack(&ss, &old));
	OK(sigaltstack(NULL, &old));
	IS(old.ss_flags, SS_DISABLE);
	ss.ss_flags = 0;
	ss.ss_size = 100;
	FAILS(RAW(SYS_sigaltstack, &ss, 0), ENOMEM);
	ss.ss_flags = 77;
	FAILS(RAW(SYS_sigaltstack, &ss, 0), EINVAL);
	FAULTS(RAW(SYS_sigaltstack, wild, 0));
	FAULTS(RAW(SYS_sigaltstack, 0, wild));
}

TEST(stack_overflow, "Can a handler on its own stack see the stack overflow?")
{
	static char stack[32768];
	pid_t pid = fork_checked();

	if (pid == 0) {
		struct rlimit most = { 65536, 65536 };
		stack_t ss = { stack, 0, sizeof stack };
		volatile char *down = (volatile char *)&ss;

		OK(setrlimit(RLIMIT_STACK, &most));
		OK(sigaltstack(&ss, NULL));
		handle(SIGSEGV, leave, SA_ONSTACK);
		for (;; down -= PAGE)
			*down = 1;
	}
	IS(reap(pid), SIGSEGV);
}

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
	pid = fork_checked();
	if (pid == 0) {
		sleep_ms(20);
		kill(getppid(), SIGUSR1);
		_exit(0);
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

TEST(sigchld, "Does each child's end send SIGCHLD, and a stop only without SA_NOCLDSTOP?")
{
	pid_t pid;

	handle(SIGCHLD, catch, SA_NOCLDSTOP);
	pid = fork_checked();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	OK(kill(pid, SIGSTOP));
	IS(waitpid(pid, NULL, WUNTRACED), pid);
	IS(caught[SIGCHLD], 0);
	OK(kill(pid, SIGKILL));
	IS(reap(pid), 128 + SIGKILL);
	IS(caught[SIGCHLD], 1);
}

TEST(signal_after_fork, "Does a child inherit handlers and mask, but not what is pending?")
{
	sigset_t set;
	pid_t pid;

	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(raise(SIGUSR1));
	pid = fork_checked();
	if (pid == 0) {
		OK(sigpending(&set));
		IS(sigismember(&set, SIGUSR1), 0);
		unblock(SIGUSR1);
		IS(caught[SIGUSR1], 0);
		OK(raise(SIGUSR1));
		IS(caught[SIGUSR1], 1);
		_exit(0);
	}
	IS(reap(pid), 0);
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
