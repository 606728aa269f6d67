/* ipc/pipe-bw: bytes from one process to another by a pipe (as lmbench's bw_pipe).
 *
 * The peer sends only what was asked for, so nothing waits in the pipe when a sample begins; one word asks for one
 * iteration's bytes. The first word of each message is its number. */
#include "../km.h"

enum pipe_bw_param { PIPE_BW_TOTAL, PIPE_BW_MESSAGE };

struct pipe_bw {
	struct km *km;
	size_t message;        /* bytes in one write, and in a read at the most */
	uint64_t messages;     /* of one iteration */
	uint64_t *sent, *got;  /* one message each */
	uint64_t number, done; /* messages; iterations */
	int ask[2], data[2];
	long peer;
};

static void pipe_bw_peer(struct km *km, void *state)
{
	struct pipe_bw *p = state;
	uint64_t wanted;
	int got;

	km_close(&p->ask[1]);
	km_close(&p->data[0]);
	while ((got = km_get(p->ask[0], &wanted, sizeof wanted)) > 0)
		for (; wanted > 0 && got > 0; wanted--) {
			p->sent[0] = ++p->number;
			got = km_put(p->data[1], p->sent, p->message);
		}
	if (got < 0)
		km_fail_call(km, "read or write of the peer's pipe");
}

static void *pipe_bw_setup(struct km *km)
{
	struct pipe_bw *p = km_alloc(km, sizeof *p);

	p->km = km;
	p->message = (size_t)km->arg[PIPE_BW_MESSAGE];
	p->messages = (uint64_t)km->arg[PIPE_BW_TOTAL] / p->message;
	p->sent = km_alloc(km, p->message);
	p->got = km_alloc(km, p->message);
	for (size_t i = 0; i < p->message / sizeof *p->sent; i++)
		p->sent[i] = km_random(km);
	km_pipe(km, p->ask);
	km_pipe(km, p->data);
	p->peer = km_peer(km, pipe_bw_peer, p);
	km_close(&p->ask[0]);
	km_close(&p->data[1]);
	km->bytes = (double)(p->messages * p->message);
	km->claim.writes = 1;
	return p;
}

static void pipe_bw_run(void *state, uint64_t n) /* timed: n times ask for a transfer and read all of it */
{
	struct pipe_bw *p = state;

	while (n--) {
		uint64_t left = p->messages;

		km_write_all(p->km, p->ask[1], &left, sizeof left);
		for (; left > 0; left--) {
			km_read_all(p->km, p->data[0], p->got, p->message);
			if (p->got[0] != ++p->number)
				km_fail(p->km, "message %" PRIu64 " came as %" PRIu64, p->number, p->got[0]);
		}
		p->done++;
	}
}

static void pipe_bw_verify(void *state, uint64_t n)
{
	struct pipe_bw *p = state;

	if (p->done != n)
		km_fail(p->km, "%" PRIu64 " transfers were made, %" PRIu64 " counted", p->done, n);
	if (n > 0 && memcmp(p->got + 1, p->sent + 1, p->message - sizeof *p->got) != 0)
		km_fail(p->km, "a message of %zu bytes changed in the pipe", p->message);
}

static void pipe_bw_teardown(void *state)
{
	struct pipe_bw *p = state;

	km_close(&p->ask[1]);
	km_peer_end(p->km, p->peer);
	km_close(&p->data[0]);
	km_free(p->sent);
	km_free(p->got);
	km_free(p);
}

static const struct point pipe_bw_points[] = {
	{ { 1 << 20, 65536 }, QUICK, 12, SAME_CPU, 0 },
	{ { 1 << 20, 65536 }, QUICK, 0, OTHER_CPU, 0 },
	{ { 1 << 20, 4096 }, FULL, 8, SAME_CPU, 0 },
	{ { 1 << 20, 4096 }, FULL, 0, OTHER_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

const struct workload ipc_pipe_bw = {
	.name = "ipc/pipe-bw",
	.per = "transfer",
	.unit = UNIT_BYTES_PER_S,
	.source = "G's suite (lmbench's bw_pipe)",
	.what = "`total` bytes go from one process to another by a pipe, in writes of `message` bytes",
	.inside = "one word that asks for the transfer, all its writes and reads, one comparison a message",
	.params = { "total", "message" },
	.points = pipe_bw_points,
	.setup = pipe_bw_setup,
	.run = pipe_bw_run,
	.verify = pipe_bw_verify,
	.teardown = pipe_bw_teardown,
};
