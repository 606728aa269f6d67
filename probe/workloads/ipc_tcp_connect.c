/* ipc/tcp-connect: makes, accepts and closes a TCP connection of loopback (as lmbench's lat_connect).
 *
 * The side that closes first keeps the port for a minute (TIME_WAIT), and some 28,000 connections later none is left.
 * So the parent closes by a reset, and the peer waits for it: neither side keeps anything. Only the connection that
 * tells the peer to exit ends in the ordinary way. */
#include "../km.h"

struct tcp_connect {
	struct km *km;
	int listener, report[2];
	unsigned port;
	uint64_t made;
	long peer;
};

static void tcp_connect_peer(struct km *km, void *state)
{
	struct tcp_connect *p = state;
	uint64_t accepted = 0;
	char byte = 'a';

	km_watch_parent(km);
	for (;;) {
		int fd = km_socket_accept(p->listener);
		ssize_t end;

		if (fd < 0) {
			km_interrupted(km, "accept");
			continue;
		}
		if (write(fd, &byte, 1) != 1)
			km_fail_call(km, "write");
		while ((end = read(fd, &byte, 1)) < 0 && errno != ECONNRESET)
			km_interrupted(km, "read");
		close(fd);
		if (end == 0)
			break;
		accepted++;
	}
	km_write_all(km, p->report[1], &accepted, sizeof accepted);
}

static void *tcp_connect_setup(struct km *km)
{
	struct tcp_connect *p = km_state(km, sizeof *p);

	if (km_socket_listen(&p->listener, &p->port) != 0)
		km_lacking(km, "a TCP port of loopback");
	km_pipe(km, p->report);
	km_watch(km);
	p->peer = km_peer(km, tcp_connect_peer, p);
	km_close(&p->report[1]);
	km_close(&p->listener); /* connections fail once the peer has died */
	km->claim.syscalls = 5; /* socket, connect, read, setsockopt, close */
	km->claim.reads = 1;
	return p;
}

static int tcp_connect_open(struct tcp_connect *p)
{
	char byte = 0;
	int fd;

	while (km_socket_connect(&fd, p->port) != 0)
		km_interrupted(p->km, "connect");
	km_read_all(p->km, fd, &byte, 1);
	return fd;
}

static void tcp_connect_run(void *state, uint64_t n) /* timed: n connections made, accepted and closed */
{
	struct tcp_connect *p = state;

	while (n--) {
		if (km_socket_close_hard(tcp_connect_open(p)) != 0)
			km_fail_call(p->km, "close");
		p->made++;
	}
}

static void tcp_connect_verify(void *state, uint64_t n)
{
	struct tcp_connect *p = state;
	uint64_t accepted;
	int last;

	km_watch_end(p->km);
	last = tcp_connect_open(p);
	km_close(&last);
	km_read_all(p->km, p->report[0], &accepted, sizeof accepted);
	if (accepted != n || p->made != n)
		km_fail(p->km, "%" PRIu64 " connections were made, %" PRIu64 " accepted, %" PRIu64 " counted", p->made,
			accepted, n);
}

static void tcp_connect_teardown(void *state)
{
	struct tcp_connect *p = state;

	km_peer_end(p->km, p->peer);
}

const struct workload ipc_tcp_connect = {
	.name = "ipc/tcp-connect",
	.per = "connection",
	.source = "G's closing wish: network (lmbench's lat_connect)",
	.what = "a process connects to another by TCP over loopback, is accepted, and closes",
	.inside = "socket, connect, the read of one byte that proves the other's accept, close by a reset (SO_LINGER "
		  "0, so that no port stays in TIME_WAIT); in the other process accept, the byte's write, a read that "
		  "the reset ends, close, unless they fall into the next iteration",
	.needs = CAP_INET_SOCKETS,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 30, .place = SAME_CPU },
			    { .profile = FULL, .place = OTHER_CPU }),
	.setup = tcp_connect_setup,
	.run = tcp_connect_run,
	.verify = tcp_connect_verify,
	.teardown = tcp_connect_teardown,
};
