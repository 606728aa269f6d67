/* ctx/yield: two processes on one CPU pass a turn by sched_yield.
 *
 * A yield guarantees no switch: so the turn is in shared memory, and each process yields until it is its own. If the
 * scheduler switches at once, a round trip is one yield of each; a warning reports more. Where there are very many
 * (Asterinas: 2,507), it says that no yield switches, but a timer does. The peer yields during samples and sleeps
 * otherwise: it does not compete with the baseline. */
#include "../km.h"

enum ctx_yield_turn { CTX_YIELD_PARENT, CTX_YIELD_PEER, CTX_YIELD_SLEEP, CTX_YIELD_ASLEEP };
enum { CTX_YIELD_BYTES = 4096, CTX_YIELD_STAYS = 20 };

struct ctx_yield {
	struct km *km;
	volatile uint32_t *turn; /* whose; [1]: the peer's turns so far, modulo 2^32 */
	int wake[2];
	uint64_t made, yields; /* round trips; the parent's yields in them */
	long peer;
};

static void ctx_yield_once(struct km *km)
{
	if (km_yield() != 0)
		km_fail_call(km, "sched_yield");
}

static void ctx_yield_peer(struct km *km, void *state)
{
	struct ctx_yield *p = state;
	char byte;

	km_watch_parent(km);
	km_close(&p->wake[1]);
	while (km_get(p->wake[0], &byte, 1) > 0) {
		while (*p->turn != CTX_YIELD_SLEEP) {
			if (*p->turn == CTX_YIELD_PEER) {
				p->turn[1]++;
				*p->turn = CTX_YIELD_PARENT;
			}
			ctx_yield_once(km);
		}
		*p->turn = CTX_YIELD_ASLEEP;
	}
}

static void *ctx_yield_setup(struct km *km)
{
	struct ctx_yield *p = km_state(km, sizeof *p);

	p->turn = km_map_shared(CTX_YIELD_BYTES);
	if (!p->turn)
		km_lacking(km, "mmap");
	*p->turn = CTX_YIELD_ASLEEP;
	km_pipe(km, p->wake);
	km_watch(km);
	p->peer = km_peer(km, ctx_yield_peer, p);
	km_close(&p->wake[0]);
	km->claim.reads = km->claim.writes = 0;
	km->claim.any_switches = 1;
	km->claim.faults = 0;
	return p;
}

static uint64_t ctx_yield_until(struct ctx_yield *p, enum ctx_yield_turn turn)
{
	uint64_t yields = 0;

	while (*p->turn != (uint32_t)turn) {
		ctx_yield_once(p->km);
		km_watch_look(p->km);
		yields++;
	}
	return yields;
}

static void ctx_yield_prepare(void *state, uint64_t n)
{
	struct ctx_yield *p = state;
	const char byte = 'w';

	(void)n;
	*p->turn = CTX_YIELD_PEER;
	km_write_all(p->km, p->wake[1], &byte, 1);
	ctx_yield_until(p, CTX_YIELD_PARENT);
}

static void ctx_yield_run(void *state, uint64_t n) /* timed: n times the turn there and back */
{
	struct ctx_yield *p = state;

	while (n--) {
		*p->turn = CTX_YIELD_PEER;
		p->yields += ctx_yield_until(p, CTX_YIELD_PARENT);
		p->made++;
	}
}

static void ctx_yield_settle(void *state, uint64_t n)
{
	struct ctx_yield *p = state;

	(void)n;
	*p->turn = CTX_YIELD_SLEEP;
	ctx_yield_until(p, CTX_YIELD_ASLEEP);
	p->turn[1]--; /* the turn that prepare handed over */
}

static void ctx_yield_baseline(void *state, uint64_t n) /* timed: 2n yields to nobody */
{
	struct ctx_yield *p = state;

	for (n *= 2; n > 0; n--)
		ctx_yield_once(p->km);
}

static void ctx_yield_verify(void *state, uint64_t n)
{
	struct ctx_yield *p = state;

	if (p->made != n || p->turn[1] != (uint32_t)n)
		km_fail(p->km, "%" PRIu64 " turns were handed over, %lu taken (modulo 2^32), %" PRIu64 " counted",
			p->made, (unsigned long)p->turn[1], n);
	if (n > 0 && p->yields > n + n / 10)
		km_warn(p->km, "yields", "a round trip took %.2f yields of each process: %s",
			(double)p->yields / (double)n,
			p->yields / n < CTX_YIELD_STAYS ? "not every yield switched"
							: "no yield switches: the figure is a timer's");
}

static void ctx_yield_teardown(void *state)
{
	struct ctx_yield *p = state;

	km_watch_end(p->km);
	km_close(&p->wake[1]);
	km_peer_end(p->km, p->peer);
}

const struct workload ctx_yield = {
	.name = "ctx/yield",
	.per = "round trip",
	.source = "beyond the sources",
	.what = "two processes on one CPU pass a turn back and forth in shared memory, and switch by sched_yield",
	.inside = "one yield of each process or more, the stores of the turn, and the switches between them",
	.subtracts = "two yields while no other process wants the CPU",
	.needs = CAP_SCHED_YIELD | CAP_SHARED_MAP | CAP_MMAP,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 200, .place = SAME_CPU }),
	.setup = ctx_yield_setup,
	.run = ctx_yield_run,
	.baseline = ctx_yield_baseline,
	.prepare = ctx_yield_prepare,
	.settle = ctx_yield_settle,
	.verify = ctx_yield_verify,
	.teardown = ctx_yield_teardown,
};
