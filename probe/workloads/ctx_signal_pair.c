/* ctx/signal-pair: SIGUSR1 from parent to peer, SIGUSR2 back (K table 4), waiting by sigsuspend.
 *
 * A process blocks its signal except inside sigsuspend, so no signal is lost between test and wait. Each side has at
 * most one pending, so none is merged. A signal, unlike a pipe, does not report a dead peer: SIGCHLD wakes the parent,
 * and the peer checks every SIGNAL_PAIR_LOOK seconds whether its parent is still there. */
#include "../km.h"

enum { SIGNAL_PAIR_LOOK = 2, SIGNAL_PAIR_WRAP = 0x7f };

static volatile sig_atomic_t signal_pair_got;  /* SIGUSR1 and SIGUSR2 handled by this process, modulo 128 */
static volatile sig_atomic_t signal_pair_told; /* SIGTERM or SIGALRM (peer), SIGCHLD (parent) */

struct signal_pair {
	struct km *km;
	sigset_t before, open; /* the mask before setup; the parent's in sigsuspend */
	uint64_t sent, raised;
	pid_t parent;
	long peer;
};

static void signal_pair_on(int number)
{
	if (number == SIGUSR1 || number == SIGUSR2)
		signal_pair_got = (signal_pair_got + 1) & SIGNAL_PAIR_WRAP;
	else
		signal_pair_told = number;
}

/* Waits for a signal from the peer's parent; 0 when the peer is to exit. */
static int signal_pair_next(const struct signal_pair *p, const sigset_t *open, int seen)
{
	while (signal_pair_got == seen) {
		sigsuspend(open);
		if (signal_pair_told == SIGTERM)
			return 0;
		if (signal_pair_told == SIGALRM) {
			signal_pair_told = 0;
			if (getppid() != p->parent)
				return 0;
			alarm(SIGNAL_PAIR_LOOK);
		}
	}
	return 1;
}

static void signal_pair_peer(struct km *km, void *state)
{
	struct signal_pair *p = state;
	sigset_t open = p->before;

	sigdelset(&open, SIGUSR1);
	sigdelset(&open, SIGTERM);
	sigdelset(&open, SIGALRM);
	km_handle(km, SIGTERM, signal_pair_on, 0);
	km_handle(km, SIGALRM, signal_pair_on, 0);
	alarm(SIGNAL_PAIR_LOOK);
	for (int seen = 0; signal_pair_next(p, &open, seen); seen = signal_pair_got)
		if (kill(p->parent, SIGUSR2) != 0) {
			if (errno == ESRCH)
				return;
			km_fail_call(km, "kill");
		}
}

static void *signal_pair_setup(struct km *km)
{
	struct signal_pair *p = km_state(km, sizeof *p);
	sigset_t mask;

	p->parent = getpid();
	signal_pair_got = signal_pair_told = 0;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGALRM);
	if (sigprocmask(SIG_BLOCK, &mask, &p->before) != 0)
		km_fail_call(km, "sigprocmask");
	km_handle(km, SIGUSR1, signal_pair_on, 0);
	km_handle(km, SIGUSR2, signal_pair_on, 0);
	km_handle(km, SIGCHLD, signal_pair_on, 0);
	p->peer = km_peer(km, signal_pair_peer, p);

	mask = p->open = p->before; /* the peer inherits all five blocked; here two stay blocked */
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGCHLD);
	sigdelset(&mask, SIGUSR1);
	sigdelset(&p->open, SIGUSR2);
	sigdelset(&p->open, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) != 0)
		km_fail_call(km, "sigprocmask");
	km->claim.syscalls = 3; /* kill, sigsuspend, the return from the handler */
	km->claim.reads = km->claim.writes = 0;
	km->claim.any_switches = 1;
	km->claim.faults = 0;
	return p;
}

static void signal_pair_run(void *state, uint64_t n) /* timed: n signals there and back */
{
	struct signal_pair *p = state;

	while (n--) {
		int seen = signal_pair_got;

		if (kill((pid_t)p->peer, SIGUSR1) != 0)
			km_fail_call(p->km, "kill");
		while (signal_pair_got == seen && !signal_pair_told)
			sigsuspend(&p->open);
		if (signal_pair_got != ((seen + 1) & SIGNAL_PAIR_WRAP))
			km_fail(p->km, signal_pair_told ? "the peer has exited" : "several signals replied to one");
		p->sent++;
	}
}

static void signal_pair_baseline(void *state, uint64_t n) /* timed: 2n signals raised and handled */
{
	struct signal_pair *p = state;

	while (n--) {
		int seen = signal_pair_got;

		if (raise(SIGUSR1) != 0 || raise(SIGUSR1) != 0)
			km_fail_call(p->km, "raise");
		if (signal_pair_got != ((seen + 2) & SIGNAL_PAIR_WRAP))
			km_fail(p->km, "a raised signal was not handled at once");
		p->raised += 2;
	}
}

static void signal_pair_verify(void *state, uint64_t n)
{
	struct signal_pair *p = state;

	if (p->sent != n || signal_pair_got != (int)((p->sent + p->raised) & SIGNAL_PAIR_WRAP))
		km_fail(p->km, "%" PRIu64 " round trips were made, %" PRIu64 " counted", p->sent, n);
}

static void signal_pair_teardown(void *state)
{
	struct signal_pair *p = state;

	if (kill((pid_t)p->peer, SIGTERM) != 0)
		km_fail_call(p->km, "kill");
	km_peer_end(p->km, p->peer);
}

const struct workload ctx_signal_pair = {
	.name = "ctx/signal-pair",
	.per = "round trip",
	.source = "K table 4",
	.what = "SIGUSR1 from one process to another by kill, SIGUSR2 back, each waiting by sigsuspend",
	.inside = "in each of the two processes one kill, one sigsuspend and one handler; the switches between them",
	.subtracts = "two signals that a process sends to itself by raise and handles at once (libc's raise may change "
		     "the signal mask around each)",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 400, .place = SAME_CPU },
			    { .profile = QUICK, .place = OTHER_CPU }),
	.setup = signal_pair_setup,
	.run = signal_pair_run,
	.baseline = signal_pair_baseline,
	.verify = signal_pair_verify,
	.teardown = signal_pair_teardown,
};
