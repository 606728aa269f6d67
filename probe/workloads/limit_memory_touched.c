/* limit/memory-touched: how many MiB a process can map and write until it is refused one or killed (C: MINIX 3 ran out
 * of memory). A child does it, and sends a byte for each MiB. By path alone: in a guest nobody else is harmed. */
#include "../km.h"

#define LIMIT_TOUCHED_STEP (1UL << 20)

struct limit_touched {
	struct km *km;
	uint64_t most, climbs;
	int killed; /* the signal that killed the last child; 0: none */
};

/* Exits with 0 if memory was refused, or nothing was; with 1 if something else ended it. */
static void limit_touched_child(const struct limit_touched *l, int made)
{
	for (uint64_t i = 0; i < l->most; i++) {
		void *block = km_map_fresh(LIMIT_TOUCHED_STEP, 1);

		if (!block)
			_exit(errno == ENOMEM || errno == EAGAIN ? 0 : 1);
		memset(block, 1, LIMIT_TOUCHED_STEP);
		if (km_put(made, "", 1) <= 0)
			_exit(1);
	}
	_exit(0);
}

static uint64_t limit_touched_run(void *state, uint64_t n) /* a count: nothing is timed */
{
	struct limit_touched *l = state;
	uint64_t touched = 0;
	int made[2], status, got;
	pid_t child;
	char one;

	km_pipe(l->km, made);
	child = fork();
	if (child < 0)
		km_fail_call(l->km, "fork");
	if (child == 0)
		limit_touched_child(l, made[1]);
	km_close(&made[1]);
	while ((got = km_get(made[0], &one, 1)) > 0)
		touched++;
	if (got < 0)
		km_fail_call(l->km, "read");
	km_close(&made[0]);
	status = km_wait(l->km, (long)child);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		km_fail(l->km, "the child was not refused memory, but could not go on");
	l->killed = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	l->climbs += n;
	return touched;
}

static void *limit_touched_setup(struct km *km)
{
	struct limit_touched *l = km_state(km, sizeof *l);

	l->most = (uint64_t)km->arg[0];
	if (limit_touched_run(l, 0) == l->most)
		km_unsupported(km, "not refused up to %" PRIu64 " MiB: give the guest less memory (+memory=256)",
			       l->most);
	if (l->killed)
		km_warn(km, "killed", "nothing was refused: the process was killed by signal %d; its parent goes on",
			l->killed);
	return l;
}

const struct workload limit_memory_touched = {
	.name = "limit/memory-touched",
	.per = "MiB",
	.unit = UNIT_COUNT,
	.only = BY_PATH,
	.source = "C",
	.what = "how many MiB a process can map and write until refused or killed; no figure if `most` succeed",
	.inside = "nothing; the parent counts private mappings of 1 MiB, each written, that its child makes",
	.needs = CAP_MMAP,
	.settings = SET_OVERCOMMIT,
	.params = { "most" },
	.points = KM_POINTS({ .arg = { 512 }, .profile = FULL, .path_n = 1 }),
	.setup = limit_touched_setup,
	.self_timed = limit_touched_run,
	.counted = { offsetof(struct limit_touched, climbs), "climbs were made" },
	.max_batch = 1,
};
