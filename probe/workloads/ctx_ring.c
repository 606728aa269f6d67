/* ctx/ring: a token goes round a ring of processes, by pipes (G figures 2 and 3, after lmbench's lat_ctx).
 *
 * Process 0 measures; pipe i leads from process i to the next. Each has open only the read end before it and the write
 * end after it: when one dies, the next sees the end of file and exits, up to process 0. Each hop adds 1 to byte 0. */
#include "../km.h"

enum ctx_ring_param { CTX_RING_PROCS, CTX_RING_TOKEN, CTX_RING_WS };

struct ctx_ring {
	struct km *km;
	long procs;
	size_t token;                /* bytes sent: at least 1, to wake the next process */
	unsigned char *bytes, *sent; /* the token; its last sent state, but for the first byte */
	size_t words;                /* of the working set */
	uint64_t *set, sum;          /* each process has its own set, with the same sum */
	int from, to;                /* this process's ends */
	int first, next;             /* not this process's: process 0's write end, the next process's read end */
	int own[2];                  /* the baseline's pipe */
	size_t piece;                /* what it takes from a single process at once */
	uint64_t rounds;
	long peer[96];
};

static void ctx_ring_touch(struct ctx_ring *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->words; i++)
		sum += r->set[i];
	if (sum != r->sum)
		km_fail(r->km, "the working set's sum is %" PRIu64 ", not %" PRIu64, sum, r->sum);
}

/* This process's own working set: written here, after the fork. */
static void ctx_ring_set(struct ctx_ring *r)
{
	r->sum = 0;
	r->set = km_alloc(r->km, r->words ? r->words * sizeof *r->set : 1);
	for (size_t i = 0; i < r->words; i++)
		r->sum += r->set[i] = i * 0x9e3779b97f4a7c15u + 1;
	KM_KEEP((uintptr_t)r->set);
}

static void ctx_ring_peer(struct km *km, void *state)
{
	struct ctx_ring *r = state;
	int got;

	km_close(&r->first);
	km_close(&r->next);
	ctx_ring_set(r);
	while ((got = km_get(r->from, r->bytes, r->token)) > 0) {
		ctx_ring_touch(r);
		r->bytes[0]++;
		if ((got = km_put(r->to, r->bytes, r->token)) <= 0)
			break;
	}
	if (got < 0)
		km_fail_call(km, "read or write of the ring's pipe");
}

/* Processes 1 to procs - 1. Between two forks only process 0's write end and the newest read end are open. */
static void ctx_ring_start(struct ctx_ring *r)
{
	int end[2];

	km_pipe(r->km, end);
	r->next = end[0];
	r->first = end[1];
	for (long i = 1; i < r->procs; i++) {
		r->from = r->next;
		km_pipe(r->km, end);
		r->next = end[0];
		r->to = end[1];
		r->peer[i] = km_peer(r->km, ctx_ring_peer, r);
		km_close(&r->from);
		km_close(&r->to);
	}
	r->from = r->next;
	r->to = r->first;
	ctx_ring_set(r);
}

/* The baseline's pipe, and how much of the token it takes while nobody reads. */
static void ctx_ring_own_pipe(struct ctx_ring *r)
{
	ssize_t taken;

	km_pipe(r->km, r->own);
	if (fcntl(r->own[1], F_SETFL, O_NONBLOCK) != 0)
		km_fail_call(r->km, "fcntl");
	taken = write(r->own[1], r->bytes, r->token);
	if (taken <= 0)
		km_fail_call(r->km, "write");
	r->piece = (size_t)taken;
	km_read_all(r->km, r->own[0], r->bytes, r->piece);
	if (fcntl(r->own[1], F_SETFL, 0) != 0)
		km_fail_call(r->km, "fcntl");
	if (r->piece < r->token)
		km_warn(r->km, "pipe-capacity", "a pipe takes %zu bytes: the baseline passes its token in pieces",
			r->piece);
}

static void *ctx_ring_setup(struct km *km)
{
	struct ctx_ring *r = km_state(km, sizeof *r);

	r->procs = km->arg[CTX_RING_PROCS];
	r->token = km->arg[CTX_RING_TOKEN] ? (size_t)km->arg[CTX_RING_TOKEN] : 1;
	r->words = (size_t)km->arg[CTX_RING_WS] / sizeof *r->set;
	r->bytes = km_alloc(km, r->token);
	r->sent = km_alloc(km, r->token);
	for (size_t i = 0; i < r->token; i++)
		r->sent[i] = r->bytes[i] = (unsigned char)km_random(km);
	ctx_ring_start(r);
	ctx_ring_own_pipe(r);
	km->ops = (double)r->procs;
	if ((long)r->token <= fpathconf(r->to, _PC_PIPE_BUF)) { /* otherwise in pieces of the system's choice */
		km->claim.syscalls = 2;
		km->claim.reads = km->claim.writes = 1;
	}
	if (r->procs == 2) /* in a longer ring this process may or may not lose the CPU once more */
		km->claim.any_switches = 1;
	km->claim.faults = 0;
	return r;
}

static void ctx_ring_run(void *state, uint64_t n) /* timed: n rounds, each of `procs` hops */
{
	struct ctx_ring *r = state;

	while (n--) {
		unsigned char sent = r->bytes[0];

		km_write_all(r->km, r->to, r->bytes, r->token);
		km_read_all(r->km, r->from, r->bytes, r->token);
		ctx_ring_touch(r);
		if (r->bytes[0] != (unsigned char)(sent + r->procs - 1))
			km_fail(r->km, "the token came back after %d hops, not %ld",
				(unsigned char)(r->bytes[0] - sent), r->procs - 1);
		r->rounds++;
	}
}

static void ctx_ring_baseline(void *state, uint64_t n) /* timed: as many hops, from this process to itself */
{
	struct ctx_ring *r = state;

	for (uint64_t hops = n * (uint64_t)r->procs; hops > 0; hops--) {
		for (size_t at = 0; at < r->token; at += r->piece) {
			size_t piece = r->token - at < r->piece ? r->token - at : r->piece;

			km_write_all(r->km, r->own[1], r->bytes + at, piece);
			km_read_all(r->km, r->own[0], r->bytes + at, piece);
		}
		ctx_ring_touch(r);
	}
}

static void ctx_ring_verify(void *state, uint64_t n)
{
	struct ctx_ring *r = state;

	if (r->rounds != n)
		km_fail(r->km, "%" PRIu64 " rounds were made, %" PRIu64 " counted", r->rounds, n);
	if (memcmp(r->bytes + 1, r->sent + 1, r->token - 1) != 0)
		km_fail(r->km, "the token of %zu bytes changed on its way", r->token);
}

static void ctx_ring_teardown(void *state)
{
	struct ctx_ring *r = state;

	km_close(&r->to); /* process 1 exits, and so the next one, and so on */
	for (long i = 1; i < r->procs; i++)
		km_peer_end(r->km, r->peer[i]);
}

/* All N of lmbench's figure for one token and working set, on one CPU; `some`: N = 2, 8, 32. By path about 200 hops. */
#define CTX_RING_LINE(token, ws, some)                                                                     \
	{ { 2, token, ws }, some, 100, SAME_CPU, 0 }, { { 4, token, ws }, FULL, 50, SAME_CPU, 0 },         \
		{ { 8, token, ws }, some, 25, SAME_CPU, 0 }, { { 16, token, ws }, FULL, 12, SAME_CPU, 0 }, \
		{ { 24, token, ws }, FULL, 8, SAME_CPU, 0 }, { { 32, token, ws }, some, 6, SAME_CPU, 0 },  \
		{ { 64, token, ws }, FULL, 3, SAME_CPU, 0 }, { { 96, token, ws }, FULL, 3, SAME_CPU, 0 }

const struct workload ctx_ring = {
	.name = "ctx/ring",
	.per = "hop",
	.source = "G figures 2 and 3",
	.what = "a token of `token` bytes (0: the one byte that wakes a process) goes round `procs` processes by "
		"pipes; each reads all words of a working set of `ws` bytes before it passes the token on",
	.inside = "per hop one write, one switch, one read of the token, and reading the working set",
	.subtracts = "per hop the same write, read and working set within one process by one pipe (the cost of "
		     "refilling caches stays in the figure)",
	.figure_less_baseline = 1,
	.params = { "procs", "token", "ws" },
	.curve = "procs",
	.points = KM_POINTS(/* G calls the size "of the token"; lat_ctx's size is the working set's: both. */
			    CTX_RING_LINE(0, 0, QUICK), CTX_RING_LINE(4096, 0, FULL), CTX_RING_LINE(8192, 0, FULL),
			    CTX_RING_LINE(16384, 0, FULL), CTX_RING_LINE(32768, 0, FULL), CTX_RING_LINE(65536, 0, FULL),
			    CTX_RING_LINE(0, 4096, FULL), CTX_RING_LINE(0, 8192, FULL), CTX_RING_LINE(0, 16384, QUICK),
			    CTX_RING_LINE(0, 32768, FULL), CTX_RING_LINE(0, 65536, FULL),
			    { { 2, 0, 0 }, QUICK, 0, OTHER_CPU, 0 }, { { 8, 0, 0 }, FULL, 0, OTHER_CPU, 0 },
			    { { 2, 65536, 0 }, FULL, 0, OTHER_CPU, 0 }, { { 2, 0, 65536 }, FULL, 0, OTHER_CPU, 0 }),
	.setup = ctx_ring_setup,
	.run = ctx_ring_run,
	.baseline = ctx_ring_baseline,
	.verify = ctx_ring_verify,
	.teardown = ctx_ring_teardown,
};
