/* ipc/unix-bw, tcp-bw: bytes from one process to another by a stream socket (as lmbench's bw_unix and bw_tcp).
 *
 * The peer sends only what was asked for over the same socket, so nothing waits in it when a sample begins. The first
 * word of each message is its number; the rest is the same each time, and known. */
#include "../km.h"

enum socket_bw_param { SOCKET_BW_TOTAL, SOCKET_BW_MESSAGE };

struct socket_bw {
	struct km *km;
	size_t message;        /* bytes in one write, and in a read at the most */
	uint64_t messages;     /* of one iteration */
	uint64_t *sent, *got;  /* one message each */
	uint64_t number, done; /* messages; iterations */
	int end[2];            /* the parent's, the peer's */
	long peer;
};

static void socket_bw_peer(struct km *km, void *state)
{
	struct socket_bw *p = state;
	uint64_t wanted;
	int got;

	km_close(&p->end[0]);
	while ((got = km_get(p->end[1], &wanted, sizeof wanted)) > 0)
		for (; wanted > 0 && got > 0; wanted--) {
			p->sent[0] = ++p->number;
			got = km_put(p->end[1], p->sent, p->message);
		}
	if (got < 0 && errno != ECONNRESET) /* the parent has died with something unread */
		km_fail_call(km, "read or write of the peer's socket");
}

static void *socket_bw_setup(struct km *km, int (*pair)(int end[2]), const char *call)
{
	struct socket_bw *p = km_alloc(km, sizeof *p);

	p->km = km;
	p->message = (size_t)km->arg[SOCKET_BW_MESSAGE];
	p->messages = (uint64_t)km->arg[SOCKET_BW_TOTAL] / p->message;
	p->sent = km_alloc(km, p->message);
	p->got = km_alloc(km, p->message);
	for (size_t i = 0; i < p->message / sizeof *p->sent; i++)
		p->sent[i] = km_random(km);
	if (pair(p->end) != 0)
		km_lacking(km, call);
	p->peer = km_peer(km, socket_bw_peer, p);
	km_close(&p->end[1]);
	km->bytes = (double)(p->messages * p->message);
	km->claim.writes = 1;
	return p;
}

static void *socket_bw_unix_setup(struct km *km)
{
	return socket_bw_setup(km, km_socket_unix, "socketpair");
}

static void *socket_bw_tcp_setup(struct km *km)
{
	return socket_bw_setup(km, km_socket_tcp, "a TCP connection over loopback");
}

static void socket_bw_run(void *state, uint64_t n) /* timed: n times ask for a transfer and read all of it */
{
	struct socket_bw *p = state;

	while (n--) {
		uint64_t left = p->messages;

		km_write_all(p->km, p->end[0], &left, sizeof left);
		for (; left > 0; left--) {
			km_read_all(p->km, p->end[0], p->got, p->message);
			if (p->got[0] != ++p->number)
				km_fail(p->km, "message %" PRIu64 " came as %" PRIu64, p->number, p->got[0]);
		}
		p->done++;
	}
}

static void socket_bw_verify(void *state, uint64_t n)
{
	struct socket_bw *p = state;

	if (p->done != n)
		km_fail(p->km, "%" PRIu64 " transfers were made, %" PRIu64 " counted", p->done, n);
	if (n > 0 && memcmp(p->got + 1, p->sent + 1, p->message - sizeof *p->got) != 0)
		km_fail(p->km, "a message of %lu bytes changed in the socket", (unsigned long)p->message);
}

static void socket_bw_teardown(void *state)
{
	struct socket_bw *p = state;

	km_close(&p->end[0]);
	km_peer_end(p->km, p->peer);
	km_free(p->sent);
	km_free(p->got);
	km_free(p);
}

static const struct point socket_bw_points[] = {
	{ { 1 << 20, 65536 }, QUICK, 3, SAME_CPU, 0 },
	{ { 1 << 20, 65536 }, FULL, 0, OTHER_CPU, 0 },
	{ { 1 << 20, 4096 }, FULL, 8, SAME_CPU, 0 },
	{ { 1 << 20, 4096 }, FULL, 0, OTHER_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

#define IPC_SOCKET_BW_ROW                                                                                          \
	.per = "transfer", .unit = UNIT_BYTES_PER_S, .params = { "total", "message" }, .points = socket_bw_points, \
	.run = socket_bw_run, .verify = socket_bw_verify, .teardown = socket_bw_teardown

const struct workload ipc_unix_bw = {
	.name = "ipc/unix-bw",
	IPC_SOCKET_BW_ROW,
	.source = "G's closing wish: network (lmbench's bw_unix)",
	.what = "`total` bytes go from one process to another by a UNIX-domain stream socket, in writes of `message` "
		"bytes",
	.inside = "one word that asks for the transfer, all its writes and reads, one comparison a message",
	.needs = CAP_UNIX_SOCKETS,
	.setup = socket_bw_unix_setup,
};

const struct workload ipc_tcp_bw = {
	.name = "ipc/tcp-bw",
	IPC_SOCKET_BW_ROW,
	.source = "G's closing wish: network (lmbench's bw_tcp)",
	.what = "`total` bytes go from one process to another by a TCP connection of loopback with TCP_NODELAY, in "
		"writes of `message` bytes",
	.inside = "one word that asks for the transfer, all its writes and reads, the way through the loopback device, "
		  "one comparison a message",
	.needs = CAP_INET_SOCKETS,
	.setup = socket_bw_tcp_setup,
};
