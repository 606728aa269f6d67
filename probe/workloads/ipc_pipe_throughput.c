/* ipc/pipe-throughput: 512 bytes into a pipe and out again, within one process (M: UnixBench's pipe throughput). */
#include "../km.h"

enum { PIPE_THROUGHPUT_BYTES = 512 };

struct pipe_throughput {
	struct km *km;
	int end[2];
	uint64_t loops; /* the block's first word, which tells loops apart */
	uint64_t in[PIPE_THROUGHPUT_BYTES / sizeof(uint64_t)], out[PIPE_THROUGHPUT_BYTES / sizeof(uint64_t)];
};

static void *pipe_throughput_setup(struct km *km)
{
	struct pipe_throughput *p = km_state(km, sizeof *p);

	for (size_t i = 0; i < sizeof p->in / sizeof p->in[0]; i++)
		p->in[i] = km_random(km);
	p->in[0] = 0;
	km_pipe(km, p->end);
	km->claim.syscalls = 2;
	km->claim.reads = km->claim.writes = 1;
	km->claim.switches = 0;
	km->claim.faults = 0;
	return p;
}

static void pipe_throughput_run(void *state, uint64_t n) /* timed: n writes and n reads of 512 bytes */
{
	struct pipe_throughput *p = state;

	while (n--) {
		p->in[0] = ++p->loops;
		km_write_all(p->km, p->end[1], p->in, sizeof p->in);
		km_read_all(p->km, p->end[0], p->out, sizeof p->out);
		if (p->out[0] != p->loops)
			km_fail(p->km, "block %" PRIu64 " came out of the pipe as %" PRIu64, p->loops, p->out[0]);
	}
}

static void pipe_throughput_verify(void *state, uint64_t n)
{
	struct pipe_throughput *p = state;

	if (p->loops != n)
		km_fail(p->km, "%" PRIu64 " blocks were moved, %" PRIu64 " counted", p->loops, n);
	if (n > 0 && memcmp(p->in, p->out, sizeof p->in) != 0)
		km_fail(p->km, "a block of 512 bytes changed in the pipe");
}

const struct workload ipc_pipe_throughput = {
	.name = "ipc/pipe-throughput",
	.per = "loop",
	.unit = UNIT_PER_S,
	.source = "M",
	.what = "512 bytes are written to a pipe and read back within one process",
	.inside = "one write and one read of 512 bytes, and the comparison of one word",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }),
	.setup = pipe_throughput_setup,
	.run = pipe_throughput_run,
	.verify = pipe_throughput_verify,
};
