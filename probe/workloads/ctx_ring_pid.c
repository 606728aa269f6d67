/* ctx/ring-pid and ctx/ring-pid-hops: a token that sums process ids, forks included (L table 2).
 *
 * L does not define a "pass" as a hop or a round, and the MINIX column hardly grows with the ring, as if it were a hop:
 * so both are rows. One iteration is the whole: fork procs - 1 children, send the token, reap them. Process 0 (the
 * parent) reads from the last child. The token starts where its last hop will end at the parent: at the parent if the
 * number of hops is a multiple of procs, otherwise at the child that is so many hops away. */
#include "../km.h"

enum ring_pid_param { RING_PID_PROCS, RING_PID_PASSES };
enum { RING_PID_MAX = 200 };

struct ring_pid {
	struct km *km;
	long procs;
	uint64_t hops, start; /* of one iteration; the first sender */
	int report[2];        /* children's failures */
	int first, next;      /* not this process's: the parent's write end, the next child's read end */
	int from, to;
	uint64_t pid[RING_PID_MAX];
	uint64_t done;
};

/* Child `i`: passes the token until the process before it has exited. */
static void ring_pid_child(struct ring_pid *r, uint64_t i) KM_NORETURN;
static void ring_pid_child(struct ring_pid *r, uint64_t i)
{
	uint64_t sum = 0, self = (uint64_t)getpid();
	int got = 1;

	km_close(&r->first);
	km_close(&r->next);
	if (i != r->start)
		got = km_get(r->from, &sum, sizeof sum);
	while (got > 0) {
		sum += self;
		got = km_put(r->to, &sum, sizeof sum);
		if (got > 0)
			got = km_get(r->from, &sum, sizeof sum);
	}
	if (got < 0)
		km_child_fail(r->report[1], "read or write of the ring");
	_exit(0);
}

static void ring_pid_fork(struct ring_pid *r)
{
	int end[2];

	km_pipe(r->km, end);
	r->next = end[0];
	r->first = end[1];
	for (long i = 1; i < r->procs; i++) {
		pid_t pid;

		r->from = r->next;
		km_pipe(r->km, end);
		r->next = end[0];
		r->to = end[1];
		pid = fork();
		if (pid < 0)
			km_fail_call(r->km, "fork");
		if (pid == 0)
			ring_pid_child(r, (uint64_t)i);
		r->pid[i] = (uint64_t)pid;
		km_close(&r->from);
		km_close(&r->to);
	}
	r->from = r->next;
	r->to = r->first;
}

/* The ring is broken: reports its children's failures once they have all exited. */
static void ring_pid_broken(struct ring_pid *r) KM_NORETURN;
static void ring_pid_broken(struct ring_pid *r)
{
	km_close(&r->to);
	km_close(&r->from);
	for (long i = 1; i < r->procs; i++)
		km_child_wait(r->km, (long)r->pid[i], r->report[0]);
	km_fail(r->km, "the ring was closed before the token came back");
}

static void ring_pid_check(struct ring_pid *r, uint64_t sum)
{
	uint64_t procs = (uint64_t)r->procs, all = 0, part = 0;

	if (procs == 0)
		km_fail(r->km, "a ring needs a process");
	for (uint64_t i = 0; i < procs; i++) {
		all += r->pid[i];
		if (r->start != 0 && i >= r->start)
			part += r->pid[i];
	}
	all = all * (r->hops / procs) + part;
	if (sum != all)
		km_fail(r->km, "the sum of process ids is %" PRIu64 ", not %" PRIu64, sum, all);
}

static void ring_pid_run(void *state, uint64_t n) /* timed: n times fork, pass, reap, and the sum's check */
{
	struct ring_pid *r = state;

	while (n--) {
		uint64_t sum = 0, rounds = r->hops / (uint64_t)r->procs;

		ring_pid_fork(r);
		if (r->start != 0 && km_get(r->from, &sum, sizeof sum) <= 0)
			ring_pid_broken(r);
		for (; rounds > 0; rounds--) {
			sum += r->pid[0];
			if (km_put(r->to, &sum, sizeof sum) <= 0 || km_get(r->from, &sum, sizeof sum) <= 0)
				ring_pid_broken(r);
		}
		km_close(&r->to); /* child 1 exits, and so the next one, and so on */
		for (long i = 1; i < r->procs; i++)
			km_child_wait(r->km, (long)r->pid[i], r->report[0]);
		km_close(&r->from);
		ring_pid_check(r, sum);
		r->done++;
	}
}

static void *ring_pid_start(struct km *km, uint64_t hops)
{
	struct ring_pid *r = km_state(km, sizeof *r);
	uint64_t procs = (uint64_t)km->arg[RING_PID_PROCS];

	r->procs = (long)procs;
	r->hops = hops;
	r->start = (procs - hops % procs) % procs;
	r->pid[0] = (uint64_t)getpid();
	km_pipe(km, r->report);
	km->claim.children = (double)(procs - 1);
	km->claim.writes = (double)hops;
	km->claim.reads = (double)(hops + procs - 1); /* each child reads the end of file */
	return r;
}

static void *ring_pid_setup(struct km *km)
{
	return ring_pid_start(km, (uint64_t)(km->arg[RING_PID_PASSES] * km->arg[RING_PID_PROCS]));
}

static void *ring_pid_hops_setup(struct km *km)
{
	return ring_pid_start(km, (uint64_t)km->arg[RING_PID_PASSES]);
}

#define RING_PID_INSIDE "the pipes, fork of all but the first process, every hop, their exit and wait, the sum's check"

#define CTX_RING_PID_ROW                                               \
	.per = "ring", .inside = RING_PID_INSIDE, .run = ring_pid_run, \
	.counted = { offsetof(struct ring_pid, done), "rings were made" }

const struct workload ctx_ring_pid = {
	.name = "ctx/ring-pid",
	CTX_RING_PID_ROW,
	.source = "L table 2, its \"times passed\" read as rounds",
	.what = "make a ring of `procs` processes and pass a token that sums their process ids round it `rounds` times",
	.params = { "procs", "rounds" },
	/* By path a row stays below 2e8 instructions, which the two largest rings of rounds exceed. */
	.points = KM_POINTS({ { 10, 10 }, QUICK, 4, SAME_CPU, 0 }, { { 10, 100 }, QUICK, 2, SAME_CPU, 0 },
			    { { 10, 1000 }, FULL, 1, SAME_CPU, 0 }, { { 100, 10 }, FULL, 1, SAME_CPU, 0 },
			    { { 100, 100 }, FULL, 1, SAME_CPU, 0 }, { { 100, 1000 }, FULL, 0, SAME_CPU, 0 },
			    { { 200, 10 }, FULL, 1, SAME_CPU, 0 }, { { 200, 100 }, FULL, 0, SAME_CPU, 0 },
			    { { 200, 1000 }, FULL, 0, SAME_CPU, 0 }),
	.setup = ring_pid_setup,
};

const struct workload ctx_ring_pid_hops = {
	.name = "ctx/ring-pid-hops",
	CTX_RING_PID_ROW,
	.source = "L table 2, its \"times passed\" read as hops",
	.what = "make a ring of `procs` processes and pass a token that sums process ids on `hops` times in all",
	.params = { "procs", "hops" },
	.points = KM_POINTS({ { 10, 10 }, QUICK, 4, SAME_CPU, 0 }, { { 10, 100 }, FULL, 4, SAME_CPU, 0 },
			    { { 10, 1000 }, FULL, 1, SAME_CPU, 0 }, { { 100, 10 }, FULL, 1, SAME_CPU, 0 },
			    { { 100, 100 }, FULL, 1, SAME_CPU, 0 }, { { 100, 1000 }, FULL, 1, SAME_CPU, 0 },
			    { { 200, 10 }, FULL, 1, SAME_CPU, 0 }, { { 200, 100 }, FULL, 1, SAME_CPU, 0 },
			    { { 200, 1000 }, FULL, 1, SAME_CPU, 0 }),
	.setup = ring_pid_hops_setup,
};
