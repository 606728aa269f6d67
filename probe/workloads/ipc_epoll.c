/* ipc/epoll-wait, ipc/epoll-ctl: a set of descriptors (Linux's epoll), one of them ready, as a server has it. All are
 * pipes; one has a byte that is never read. */
#include "../km.h"

struct ipc_epoll {
	struct km *km;
	int set, ready;
	uint64_t done;
};

static struct ipc_epoll *ipc_epoll_start(struct km *km, long pipes)
{
	struct ipc_epoll *p = km_state(km, sizeof *p);
	int end[2] = { -1, -1 };

	p->set = km_epoll_new();
	if (p->set < 0)
		km_lacking(km, "epoll_create1");
	for (long i = 0; i < pipes; i++) {
		km_pipe(km, end);
		if (km_epoll_add(p->set, end[0]) != 0)
			km_fail_call(km, "epoll_ctl");
	}
	p->ready = end[0];
	km_write_all(km, end[1], "r", 1);
	return p;
}

static void *ipc_epoll_wait_setup(struct km *km)
{
	void *state = ipc_epoll_start(km, km->arg[0]);

	km->claim = (struct claim){ .syscalls = 1 };
	return state;
}

static void ipc_epoll_wait_run(void *state, uint64_t n)
{
	struct ipc_epoll *p = state;

	for (; n > 0; n--, p->done++) {
		int ready = km_epoll_wait(p->set);

		if (ready < 0)
			km_fail_call(p->km, "epoll_wait");
		if (ready != p->ready)
			km_fail(p->km, "descriptor %d is said to be ready, not %d", ready, p->ready);
	}
}

static void *ipc_epoll_ctl_setup(struct km *km)
{
	struct ipc_epoll *p = ipc_epoll_start(km, 10);

	km->claim = (struct claim){ .syscalls = 2 };
	return p;
}

static void ipc_epoll_ctl_run(void *state, uint64_t n)
{
	struct ipc_epoll *p = state;

	for (; n > 0; n--, p->done++)
		if (km_epoll_remove(p->set, p->ready) != 0 || km_epoll_add(p->set, p->ready) != 0)
			km_fail_call(p->km, "epoll_ctl");
}

/* It is in the set, and ready: the pipe was really added again. */
static void ipc_epoll_ctl_verify(void *state, uint64_t n)
{
	struct ipc_epoll *p = state;

	(void)n;
	if (km_epoll_wait(p->set) != p->ready)
		km_fail(p->km, "the pipe is not in the set");
}

const struct workload ipc_epoll_wait = {
	.name = "ipc/epoll-wait",
	.per = "call",
	.source = "beyond the sources (lmbench's lat_select, by epoll)",
	.what = "epoll_wait for `pipes` pipes, of which one can be read",
	.inside = "one epoll_wait, which does not wait, a comparison of the descriptor",
	.needs = CAP_EPOLL,
	.params = { "pipes" },
	.points = KM_POINTS({ { 10 }, FULL, 200, ONE_CPU, 0 }, { { 100 }, FULL, 200, ONE_CPU, 0 }),
	.setup = ipc_epoll_wait_setup,
	.run = ipc_epoll_wait_run,
	.counted = { offsetof(struct ipc_epoll, done), "calls found the pipe that can be read" },
};

const struct workload ipc_epoll_ctl = {
	.name = "ipc/epoll-ctl",
	.per = "removal and addition",
	.source = "beyond the sources",
	.what = "a pipe that can be read is removed from a set of 10 and added again",
	.inside = "two epoll_ctl",
	.needs = CAP_EPOLL,
	.points = KM_POINTS({ .profile = FULL, .path_n = 100 }),
	.setup = ipc_epoll_ctl_setup,
	.run = ipc_epoll_ctl_run,
	.verify = ipc_epoll_ctl_verify,
	.counted = { offsetof(struct ipc_epoll, done), "times the pipe was removed and added" },
};
