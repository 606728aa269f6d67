/* ipc/pipe-bw, unix-bw, tcp-bw: bytes from one process to another by a pipe or a stream socket (as lmbench's bw_pipe,
 * bw_unix and bw_tcp).
 *
 * The peer sends only on request, by a second pipe or over the same socket, so nothing is pending when a sample begins;
 * one word requests one iteration's bytes. The first word of each message is its number; the rest is constant. */
#include "../km.h"

enum ipc_bw_param { IPC_BW_TOTAL, IPC_BW_MESSAGE };

/* A process's two descriptors, which are equal for a socket. */
struct ipc_bw_ends {
	int in, out;
};

struct ipc_bw {
	struct km *km;
	size_t message;        /* bytes in one write, and in a read at most */
	uint64_t messages;     /* of one iteration */
	uint64_t *sent, *got;  /* one message each */
	uint64_t number, done; /* messages; iterations */
	struct ipc_bw_ends own, peers;
	long peer;
};

static void ipc_bw_close(struct ipc_bw_ends *ends)
{
	if (ends->in != ends->out)
		km_close(&ends->in);
	km_close(&ends->out);
}

static void ipc_bw_peer(struct km *km, void *state)
{
	struct ipc_bw *p = state;
	uint64_t wanted;
	int got;

	ipc_bw_close(&p->own);
	do {
		got = km_get(p->peers.in, &wanted, sizeof wanted);
		for (; got > 0 && wanted > 0; wanted--) {
			p->sent[0] = ++p->number;
			got = km_put(p->peers.out, p->sent, p->message);
		}
	} while (got > 0); /* after a failed write too: otherwise nobody would answer a parent that waits */
	if (got < 0 && errno != ECONNRESET) /* a socket's: the parent has died with data unread */
		km_fail_call(km, "read or write of the peer");
}

static void *ipc_bw_start(struct km *km, struct ipc_bw_ends own, struct ipc_bw_ends peers)
{
	struct ipc_bw *p = km_state(km, sizeof *p);

	p->own = own;
	p->peers = peers;
	p->message = (size_t)km->arg[IPC_BW_MESSAGE];
	p->messages = (uint64_t)km->arg[IPC_BW_TOTAL] / p->message;
	p->sent = km_alloc(km, p->message);
	p->got = km_alloc(km, p->message);
	for (size_t i = 0; i < p->message / sizeof *p->sent; i++)
		p->sent[i] = km_random(km);
	p->peer = km_peer(km, ipc_bw_peer, p);
	ipc_bw_close(&p->peers);
	km->bytes = (double)(p->messages * p->message);
	km->claim.writes = 1;
	return p;
}

static void *ipc_pipe_bw_setup(struct km *km)
{
	int ask[2], data[2];

	km_pipe(km, ask);
	km_pipe(km, data);
	return ipc_bw_start(km, (struct ipc_bw_ends){ data[0], ask[1] }, (struct ipc_bw_ends){ ask[0], data[1] });
}

static void *ipc_bw_by_socket(struct km *km, int (*pair)(int end[2]), const char *call)
{
	int end[2];

	if (pair(end) != 0)
		km_lacking(km, call);
	return ipc_bw_start(km, (struct ipc_bw_ends){ end[0], end[0] }, (struct ipc_bw_ends){ end[1], end[1] });
}

static void *ipc_unix_bw_setup(struct km *km)
{
	return ipc_bw_by_socket(km, km_socket_unix, "socketpair");
}

static void *ipc_tcp_bw_setup(struct km *km)
{
	return ipc_bw_by_socket(km, km_socket_tcp, "a TCP connection over loopback");
}

static void ipc_bw_run(void *state, uint64_t n) /* timed: n times ask for a transfer and read all of it */
{
	struct ipc_bw *p = state;

	while (n--) {
		uint64_t left = p->messages;

		km_write_all(p->km, p->own.out, &left, sizeof left);
		for (; left > 0; left--) {
			km_read_all(p->km, p->own.in, p->got, p->message);
			if (p->got[0] != ++p->number)
				km_fail(p->km, "message %" PRIu64 " came as %" PRIu64, p->number, p->got[0]);
		}
		p->done++;
	}
}

static void ipc_bw_verify(void *state, uint64_t n)
{
	struct ipc_bw *p = state;

	if (n > 0 && memcmp(p->got + 1, p->sent + 1, p->message - sizeof *p->got) != 0)
		km_fail(p->km, "a message of %lu bytes changed on its way", (unsigned long)p->message);
}

static void ipc_bw_teardown(void *state)
{
	struct ipc_bw *p = state;

	ipc_bw_close(&p->own);
	km_peer_end(p->km, p->peer);
}

static const struct point ipc_socket_bw_points[] = {
	{ { 1 << 20, 65536 }, QUICK, 3, SAME_CPU, 0 },
	{ { 1 << 20, 65536 }, FULL, 0, OTHER_CPU, 0 },
	{ { 1 << 20, 4096 }, FULL, 8, SAME_CPU, 0 },
	{ { 1 << 20, 4096 }, FULL, 0, OTHER_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

#define IPC_BW_ROW                                                                                        \
	.per = "transfer", .unit = UNIT_BYTES_PER_S, .params = { "total", "message" }, .run = ipc_bw_run, \
	.counted = { offsetof(struct ipc_bw, done), "transfers were made" }, .verify = ipc_bw_verify,     \
	.teardown = ipc_bw_teardown

const struct workload ipc_pipe_bw = {
	.name = "ipc/pipe-bw",
	IPC_BW_ROW,
	.source = "G's suite (lmbench's bw_pipe)",
	.what = "`total` bytes go from one process to another by a pipe, in writes of `message` bytes",
	.inside = "one word that requests the transfer, all its writes and reads, one comparison a message",
	.points = KM_POINTS({ { 1 << 20, 65536 }, QUICK, 12, SAME_CPU, 0 },
			    { { 1 << 20, 65536 }, QUICK, 0, OTHER_CPU, 0 }, { { 1 << 20, 4096 }, FULL, 8, SAME_CPU, 0 },
			    { { 1 << 20, 4096 }, FULL, 0, OTHER_CPU, 0 }),
	.setup = ipc_pipe_bw_setup,
};

const struct workload ipc_unix_bw = {
	.name = "ipc/unix-bw",
	IPC_BW_ROW,
	.source = "G's closing wish: network (lmbench's bw_unix)",
	.what = "`total` bytes go from one process to another by a UNIX stream socket, in writes of `message` bytes",
	.inside = "one word that requests the transfer, all its writes and reads, one comparison a message",
	.needs = CAP_UNIX_SOCKETS,
	.points = ipc_socket_bw_points,
	.setup = ipc_unix_bw_setup,
};

const struct workload ipc_tcp_bw = {
	.name = "ipc/tcp-bw",
	IPC_BW_ROW,
	.source = "G's closing wish: network (lmbench's bw_tcp)",
	.what = "`total` bytes go from one process to another by a TCP connection of loopback with TCP_NODELAY, in "
		"writes of `message` bytes",
	.inside =
		"one request word, all writes and reads of the transfer, the loopback device, one comparison a message",
	.needs = CAP_INET_SOCKETS,
	.points = ipc_socket_bw_points,
	.setup = ipc_tcp_bw_setup,
};
