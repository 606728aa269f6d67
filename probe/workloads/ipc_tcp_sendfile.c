/* ipc/tcp-sendfile: a cached file goes into a TCP connection by sendfile, as a web server answers, and is read at the
 * other end by the same process. The sizes fit into a new connection's buffers: nobody waits. */
#include "../km.h"

struct tcp_sendfile {
	struct km *km;
	int file, end[2];
	size_t bytes;
	uint64_t seed, done;
	uint64_t *got;
};

static void *tcp_sendfile_setup(struct km *km)
{
	struct tcp_sendfile *p = km_state(km, sizeof *p);

	p->bytes = (size_t)km->arg[0];
	p->got = km_alloc(km, p->bytes);
	p->seed = km_random(km);
	km_room(km, 1, p->bytes);
	p->file = km_content_file(km, "sent", p->seed, p->bytes);
	if (km_socket_tcp(p->end) != 0)
		km_lacking(km, "a TCP connection over loopback");
	return p;
}

static void tcp_sendfile_run(void *state, uint64_t n)
{
	struct tcp_sendfile *p = state;
	const uint64_t first = km_content_word(p->seed, 0);

	for (; n > 0; n--, p->done++) {
		ssize_t sent = km_sendfile(p->end[0], p->file, p->bytes);

		if (sent < 0)
			km_fail_call(p->km, "sendfile");
		if (sent != (ssize_t)p->bytes)
			km_fail(p->km, "sendfile moved %ld of %lu bytes", (long)sent, (unsigned long)p->bytes);
		p->got[0] = ~first;
		km_read_all(p->km, p->end[1], p->got, p->bytes);
		if (p->got[0] != first)
			km_fail(p->km, "the file's first word came with another value");
	}
}

static void tcp_sendfile_verify(void *state, uint64_t n)
{
	struct tcp_sendfile *p = state;

	if (n > 0)
		km_content_check(p->km, p->got, p->bytes, p->seed, 0);
}

const struct workload ipc_tcp_sendfile = {
	.name = "ipc/tcp-sendfile",
	.per = "file",
	.source = "beyond the sources",
	.what = "a cached file of `bytes` bytes goes by sendfile into a TCP connection of loopback, and is read there",
	.inside = "one sendfile, the loopback device, the reads of all bytes by the same process",
	.needs = CAP_INET_SOCKETS | CAP_SENDFILE,
	.params = { "bytes" },
	.points = KM_POINTS({ { 4096 }, FULL, 50, ONE_CPU, 0 }, { { 16384 }, FULL, 50, ONE_CPU, 0 }),
	.setup = tcp_sendfile_setup,
	.run = tcp_sendfile_run,
	.verify = tcp_sendfile_verify,
	.counted = { offsetof(struct tcp_sendfile, done), "files were sent" },
};
