/* trio/copy: copying bytes from one address space into another. Nothing copies directly between two programs: a pipe
 * takes the bytes from the writer and gives them to the reader. The difference to one byte is the copying. */
#include "unit.h"

#define TRIO_COPY_MOST 4096 /* PIPE_BUF: written and read whole */

struct trio_copy {
	struct km *km;
	size_t bytes;
	int there[2], back[2];
	uint64_t sent;
	long peer;
	char text[TRIO_COPY_MOST];
};

static void trio_copy_peer(struct km *km, void *state)
{
	struct trio_copy *p = state;
	ssize_t got;

	km_close(&p->there[1]);
	km_close(&p->back[0]);
	while ((got = read(p->there[0], p->text, p->bytes)) > 0) {
		/* The first and the last byte must be the same. */
		if (p->text[0] != p->text[got - 1])
			km_fail(km, "the message's ends differ");
		if (km_put(p->back[1], p->text, 1) <= 0)
			break;
	}
	if (got < 0)
		km_fail_call(km, "read");
}

static void *trio_copy_setup(struct km *km)
{
	struct trio_copy *p = km_alloc(km, sizeof *p);

	p->km = km;
	p->bytes = (size_t)km->arg[0];
	km_pipe(km, p->there);
	km_pipe(km, p->back);
	p->peer = km_peer(km, trio_copy_peer, p);
	km_close(&p->there[0]);
	km_close(&p->back[1]);
	km->claim.syscalls = 2;
	km->claim.faults = 0;
	return p;
}

static void trio_copy_messages(struct trio_copy *p, size_t bytes, uint64_t n)
{
	while (n--) {
		char word = (char)p->sent++, back;

		p->text[0] = p->text[bytes - 1] = word;
		if (write(p->there[1], p->text, bytes) != (ssize_t)bytes || km_get(p->back[0], &back, 1) <= 0)
			km_fail_call(p->km, "write or read of a pipe");
		if (back != word)
			km_fail(p->km, "message %d was answered by %d", word, back);
	}
}

static void trio_copy_run(void *state, uint64_t n)
{
	struct trio_copy *p = state;

	trio_copy_messages(p, p->bytes, n);
}

static void trio_copy_baseline(void *state, uint64_t n)
{
	trio_copy_messages(state, 1, n);
}

static void trio_copy_verify(void *state, uint64_t n)
{
	struct trio_copy *p = state;

	if (p->sent < n)
		km_fail(p->km, "%" PRIu64 " messages were sent, %" PRIu64 " counted", p->sent, n);
}

static void trio_copy_teardown(void *state)
{
	struct trio_copy *p = state;

	km_close(&p->there[1]);
	km_peer_end(p->km, p->peer);
	km_close(&p->back[0]);
	km_free(p);
}

const struct workload trio_copy = {
	.name = "trio/copy",
	.per = "message",
	.source = "beyond the sources",
	.what = "so many bytes from one address space into another, by way of a pipe's memory: two copies",
	.inside =
		"a write and a read of the bytes and of the answer's one byte, and the switches between two processes",
	.subtracts = "the same with a message of one byte",
	.figure_less_baseline = 1,
	.params = { "bytes" },
	.curve = "bytes",
	.points = KM_POINTS({ { 64 }, QUICK, 200, SAME_CPU, 0 }, { { 512 }, FULL, 200, SAME_CPU, 0 },
			    { { 4096 }, QUICK, 200, SAME_CPU, 0 }),
	.setup = trio_copy_setup,
	.run = trio_copy_run,
	.baseline = trio_copy_baseline,
	.verify = trio_copy_verify,
	.teardown = trio_copy_teardown,
};
