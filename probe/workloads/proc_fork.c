/* proc/fork-exit and proc/fork-rss: fork, the child exits, the parent waits (M: UnixBench's process creation), with
 * more or less touched memory in the parent: flat over its size is copy-on-write, a slope is copying. */
#include "../km.h"

enum { FORK_RSS_KIB };

struct proc_fork {
	struct km *km;
	int report[2];
	size_t pages, words; /* words in a page */
	uint64_t *memory;    /* the first word of each page holds its number + 1 */
	uint64_t reaped;
};

static struct proc_fork *proc_fork_new(struct km *km)
{
	struct proc_fork *p = km_alloc(km, sizeof *p);

	p->km = km;
	km_pipe(km, p->report);
	km->claim.children = 1;
	km->claim.any_switches = 1;
	km->claim.reads = km->claim.writes = 0;
	return p;
}

static void *proc_fork_exit_setup(struct km *km)
{
	return proc_fork_new(km);
}

static void *proc_fork_rss_setup(struct km *km)
{
	struct proc_fork *p = proc_fork_new(km);
	size_t bytes = (size_t)km->arg[FORK_RSS_KIB] * 1024;

	p->pages = bytes / km->page;
	p->words = km->page / sizeof *p->memory;
	p->memory = km_alloc(km, bytes ? bytes : 1);
	for (size_t i = 0; i < p->pages; i++)
		p->memory[i * p->words] = i + 1;
	KM_KEEP((uintptr_t)p->memory);
	return p;
}

static void proc_fork_run(void *state, uint64_t n) /* timed: n times fork, exit and wait */
{
	struct proc_fork *p = state;

	while (n--) {
		pid_t pid = fork();

		if (pid < 0)
			km_fail_call(p->km, "fork");
		if (pid == 0)
			_exit(0);
		km_child_wait(p->km, (long)pid, p->report[0]);
		p->reaped++;
	}
}

static void proc_fork_verify(void *state, uint64_t n)
{
	struct proc_fork *p = state;

	if (p->reaped != n)
		km_fail(p->km, "%" PRIu64 " children were reaped, %" PRIu64 " counted", p->reaped, n);
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		km_fail(p->km, "a child is left that nobody made");
	for (size_t i = 0; i < p->pages; i++)
		if (p->memory[i * p->words] != i + 1)
			km_fail(p->km, "page %zu of the parent's memory changed", i);
}

static void proc_fork_teardown(void *state)
{
	struct proc_fork *p = state;

	km_close(&p->report[0]);
	km_close(&p->report[1]);
	km_free(p->memory);
	km_free(p);
}

static const struct point proc_fork_exit_points[] = {
	{ { 0 }, QUICK, 50, ONE_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

/* By path up to 4 MiB: what a page costs shows there as exactly as at 256 MiB. */
static const struct point proc_fork_rss_points[] = {
	{ { 0 }, QUICK, 40, ONE_CPU, 0 },
	{ { 1024 }, FULL, 25, ONE_CPU, 0 },
	{ { 4096 }, QUICK, 10, ONE_CPU, 0 },
	{ { 16384 }, QUICK, 0, ONE_CPU, 0 },
	{ { 65536 }, QUICK, 0, ONE_CPU, 0 },
	{ { 262144 }, FULL, 0, ONE_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

const struct workload proc_fork_exit = {
	.name = "proc/fork-exit",
	.per = "process",
	.unit = UNIT_NS,
	.by = BY_TIME | BY_PATH,
	.source = "M",
	.what = "a process is created, exits at once, and is waited for",
	.inside = "one fork, the child's _exit, one waitpid",
	.points = proc_fork_exit_points,
	.setup = proc_fork_exit_setup,
	.run = proc_fork_run,
	.verify = proc_fork_verify,
	.teardown = proc_fork_teardown,
};

const struct workload proc_fork_rss = {
	.name = "proc/fork-rss",
	.per = "process",
	.unit = UNIT_NS,
	.by = BY_TIME | BY_PATH,
	.source = "M (its explanation of the factor 182)",
	.what = "proc/fork-exit by a process that has written to each page of `rss_kib` KiB more memory",
	.inside = "one fork, the child's _exit, one waitpid; nobody touches the memory meanwhile",
	.params = { "rss_kib" },
	.curve = "rss_kib",
	.points = proc_fork_rss_points,
	.setup = proc_fork_rss_setup,
	.run = proc_fork_run,
	.verify = proc_fork_verify,
	.teardown = proc_fork_teardown,
};
