/* sig/install, catch, raise: signals within one process.
 *
 * install: sigaction replaces a handler. catch: kill to oneself, less kill with signal 0 (which only looks up the
 * process): delivery, handler and return. raise: all of raise(3), with what libc does around it, and delivery, handler
 * and return; nothing subtracted. ctx/signal-pair subtracts it. */
#include "../km.h"

struct sig {
	struct km *km;
	pid_t self;
	uint64_t done;
};

static volatile sig_atomic_t sig_caught;

static void sig_handler(int number)
{
	(void)number;
	sig_caught++;
}

static void sig_act(struct sigaction *act)
{
	act->sa_handler = sig_handler;
	act->sa_flags = 0;
	sigemptyset(&act->sa_mask);
}

static void *sig_setup(struct km *km)
{
	struct sig *s = km_state(km, sizeof *s);
	sigset_t ours;

	s->self = getpid();
	km_handle(km, SIGUSR1, sig_handler, 0);
	sigemptyset(&ours);
	sigaddset(&ours, SIGUSR1);
	if (sigprocmask(SIG_UNBLOCK, &ours, NULL) != 0)
		km_fail_call(km, "sigprocmask");
	return s;
}

static void *sig_install_setup(struct km *km)
{
	void *s = sig_setup(km);

	km->claim = (struct claim){ .syscalls = 1 };
	return s;
}

static void *sig_catch_setup(struct km *km)
{
	void *s = sig_setup(km);

	km->claim = (struct claim){ .syscalls = 2 }; /* kill, and the return from the handler */
	return s;
}

static void *sig_raise_setup(struct km *km)
{
	void *s = sig_setup(km);

	km->claim = (struct claim){ .syscalls = NO_CLAIM }; /* the calls in raise depend on libc */
	return s;
}

static void sig_install_run(void *state, uint64_t n)
{
	struct sig *s = state;
	struct sigaction act, old;

	while (n--) {
		sig_act(&act);
		if (sigaction(SIGUSR1, &act, &old) != 0)
			km_fail_call(s->km, "sigaction");
		s->done += old.sa_handler == sig_handler;
	}
}

/* The signal is delivered before kill or raise returns, as POSIX requires for a process of one thread. */
static void sig_catch_run(void *state, uint64_t n)
{
	struct sig *s = state;

	sig_caught = 0;
	while (n--)
		if (kill(s->self, SIGUSR1) != 0)
			km_fail_call(s->km, "kill");
	s->done += (uint64_t)sig_caught;
}

static void sig_catch_baseline(void *state, uint64_t n)
{
	struct sig *s = state;

	while (n--)
		if (kill(s->self, 0) != 0)
			km_fail_call(s->km, "kill");
}

static void sig_raise_run(void *state, uint64_t n)
{
	struct sig *s = state;

	sig_caught = 0;
	while (n--)
		if (raise(SIGUSR1) != 0)
			km_fail_call(s->km, "raise");
	s->done += (uint64_t)sig_caught;
}

static void sig_install_verify(void *state, uint64_t n)
{
	struct sig *s = state;

	if (s->done != n)
		km_fail(s->km, "%" PRIu64 " of %" PRIu64 " calls found the handler installed", s->done, n);
	sig_caught = 0;
	if (kill(s->self, SIGUSR1) != 0 || sig_caught != 1)
		km_fail(s->km, "the installed handler is not called");
}

#define SIG_ROW .points = KM_POINTS({ .profile = QUICK, .path_n = 1000 })
#define SIG_HANDLED .per = "signal", .counted = { offsetof(struct sig, done), "signals reached the handler" }, SIG_ROW

const struct workload sig_install = {
	.name = "sig/install",
	SIG_ROW,
	.per = "call",
	.source = "K, lmbench",
	.what = "sigaction installs a handler for SIGUSR1 and returns the old one",
	.inside = "filling in the handler's structure, libc's sigaction, a comparison of the old handler",
	.setup = sig_install_setup,
	.run = sig_install_run,
	.verify = sig_install_verify,
};

const struct workload sig_catch = {
	.name = "sig/catch",
	SIG_HANDLED,
	.source = "K, lmbench",
	.what = "delivery of SIGUSR1 to oneself, its handler and the return, less the cost of sending",
	.inside = "kill to the process itself, delivery, a handler that counts, the return from it",
	.subtracts = "kill to the process itself with signal 0",
	.figure_less_baseline = 1,
	.setup = sig_catch_setup,
	.run = sig_catch_run,
	.baseline = sig_catch_baseline,
};

const struct workload sig_raise = {
	.name = "sig/raise",
	SIG_HANDLED,
	.source = "K table 4",
	.what = "raise(SIGUSR1) within one process, handled",
	.inside = "libc's raise with all the calls it makes, delivery, a handler that counts, the return from it",
	.setup = sig_raise_setup,
	.run = sig_raise_run,
};
