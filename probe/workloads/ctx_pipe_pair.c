/* ctx/pipe-pair: two processes pass one word back and forth over two pipes (K table 4; M: UnixBench's pipe-based
 * context switching). The parent sends an odd word, the peer replies with the next: only the peer can send that. */
#include "../km.h"

struct pipe_pair {
	struct km *km;
	int there[2], back[2]; /* parent to peer, peer to parent; in each process only its own ends are open */
	int own[2];            /* the baseline's: both ends are the parent's */
	uint64_t sent, echoed; /* words of run, of baseline */
	long peer;
};

static void pipe_pair_peer(struct km *km, void *state)
{
	struct pipe_pair *p = state;
	uint64_t word;
	int got;

	km_close(&p->there[1]);
	km_close(&p->back[0]);
	while ((got = km_get(p->there[0], &word, sizeof word)) > 0) {
		word++;
		if ((got = km_put(p->back[1], &word, sizeof word)) <= 0)
			break;
	}
	if (got < 0)
		km_fail_call(km, "read or write of the peer's pipe");
}

static void *pipe_pair_setup(struct km *km)
{
	struct pipe_pair *p = km_state(km, sizeof *p);

	km_pipe(km, p->there);
	km_pipe(km, p->back);
	p->peer = km_peer(km, pipe_pair_peer, p);
	km_close(&p->there[0]);
	km_close(&p->back[1]);
	km_pipe(km, p->own);
	km->claim.syscalls = 2;
	km->claim.reads = km->claim.writes = 1;
	km->claim.any_switches = 1;
	km->claim.faults = 0;
	return p;
}

static void pipe_pair_run(void *state, uint64_t n) /* timed: n words there and back: 2n writes, 2n reads */
{
	struct pipe_pair *p = state;

	while (n--) {
		uint64_t word = 2 * p->sent++ + 1;

		km_write_all(p->km, p->there[1], &word, sizeof word);
		km_read_all(p->km, p->back[0], &word, sizeof word);
		if (word != 2 * p->sent)
			km_fail(p->km, "the reply to word %" PRIu64 " was %" PRIu64, 2 * p->sent - 1, word);
	}
}

static void pipe_pair_baseline(void *state, uint64_t n) /* timed: 2n writes, 2n reads, by one process */
{
	struct pipe_pair *p = state;

	while (n--)
		for (int half = 0; half < 2; half++) {
			uint64_t word = p->echoed++, back;

			km_write_all(p->km, p->own[1], &word, sizeof word);
			km_read_all(p->km, p->own[0], &back, sizeof back);
			if (back != word)
				km_fail(p->km, "word %" PRIu64 " came out of the pipe as %" PRIu64, word, back);
		}
}

static void pipe_pair_teardown(void *state)
{
	struct pipe_pair *p = state;

	km_close(&p->there[1]);
	km_peer_end(p->km, p->peer);
}

const struct workload ctx_pipe_pair = {
	.name = "ctx/pipe-pair",
	.per = "round trip",
	.source = "K table 4; M",
	.what = "two processes pass one word (8 bytes) back and forth over two pipes",
	.inside = "in each of the two processes one write and one read of a word, and the switches between them",
	.subtracts =
		"a word written to and read from one pipe twice, within one process (the same four calls, no switch)",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 500, .place = SAME_CPU },
			    { .profile = QUICK, .place = OTHER_CPU }),
	.setup = pipe_pair_setup,
	.run = pipe_pair_run,
	.baseline = pipe_pair_baseline,
	.counted = { offsetof(struct pipe_pair, sent), "round trips were made" },
	.teardown = pipe_pair_teardown,
};
