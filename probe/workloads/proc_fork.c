/* proc/fork-exit and proc/fork-rss: fork, the child exits, the parent waits (M: UnixBench's process creation), with
 * more or less touched memory in the parent: a flat curve means copy-on-write, a slope copying, of memory or of its
 * page tables, which are shorter for huge pages (fork-rss-huge). fork-exit also has M's two other forms, as syscall/mix
 * has: N in a row timed once, and as many as fit in a fixed time. */
#include "../km.h"

#define FORK_STATED 10 /* processes whose time one iteration of the fixed-time form states */

enum { FORK_RSS_KIB };

struct proc_fork {
	struct km *km;
	int report[2];
	size_t pages, words; /* words in a page */
	uint64_t *memory;    /* the first word of each page holds its number + 1; NULL: none */
	int huge;            /* in huge pages, all of it */
	uint64_t reaped;
};

static struct proc_fork *proc_fork_new(struct km *km)
{
	struct proc_fork *p = km_state(km, sizeof *p);

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

static struct proc_fork *proc_fork_rss_with(struct km *km, void *(*area)(struct km *, size_t))
{
	struct proc_fork *p = proc_fork_new(km);
	size_t bytes = (size_t)km->arg[FORK_RSS_KIB] * 1024;

	p->pages = bytes / km->page;
	p->words = km->page / sizeof *p->memory;
	p->memory = bytes ? area(km, bytes) : NULL;
	for (size_t i = 0; i < p->pages; i++)
		p->memory[i * p->words] = i + 1;
	KM_KEEP((uintptr_t)p->memory);
	return p;
}

static void *proc_fork_rss_setup(struct km *km)
{
	return proc_fork_rss_with(km, km_area);
}

static void *proc_fork_rss_huge_setup(struct km *km)
{
	struct proc_fork *p = proc_fork_rss_with(km, km_area_huge);
	long huge = km_huge_bytes(p->memory);

	if (huge >= 0 && (size_t)huge != p->pages * km->page)
		km_unsupported(km, "the system gave %ld of %ld KiB in huge pages", huge / 1024, km->arg[FORK_RSS_KIB]);
	if (huge < 0)
		km_unsupported(km, "this platform cannot tell whether memory is in huge pages");
	p->huge = 1;
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

/* N in a row, timed once --------------------------------------------------------------------------------------- */

static void *proc_fork_exit_loops_setup(struct km *km)
{
	void *p = proc_fork_new(km);

	km->claim.children = km->claim.any_switches = (double)km->arg[0];
	return p;
}

static void proc_fork_exit_loops_run(void *state, uint64_t n)
{
	struct proc_fork *p = state;

	while (n--)
		proc_fork_run(p, (uint64_t)p->km->arg[0]);
}

/* As many as fit in a fixed time ------------------------------------------------------------------------------- */

static void *proc_fork_exit_fixed_time_setup(struct km *km)
{
	void *p = proc_fork_new(km);

	km_fixed_time_setup(km, FORK_STATED);
	return p;
}

static uint64_t proc_fork_exit_fixed_time_run(void *state, uint64_t n)
{
	struct proc_fork *p = state;

	return km_fixed_time(p->km, proc_fork_run, p, &p->reaped, n);
}

static void proc_fork_verify(void *state, uint64_t n)
{
	struct proc_fork *p = state;

	if (p->reaped != n)
		km_fail(p->km, "%" PRIu64 " children were reaped, %" PRIu64 " counted", p->reaped, n);
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		km_fail(p->km, "an unknown child is left");
	for (size_t i = 0; i < p->pages; i++)
		if (p->memory[i * p->words] != i + 1)
			km_fail(p->km, "page %zu of the parent's memory changed", i);
	if (p->huge && (size_t)km_huge_bytes(p->memory) != p->pages * p->km->page)
		km_fail(p->km, "the system split huge pages of the parent's memory");
}

static void proc_fork_exit_loops_verify(void *state, uint64_t n)
{
	struct proc_fork *p = state;

	proc_fork_verify(p, n * (uint64_t)p->km->arg[0]);
}

static void proc_fork_exit_fixed_time_verify(void *state, uint64_t n)
{
	struct proc_fork *p = state;

	(void)n; /* iterations are stated, processes are counted */
	proc_fork_verify(p, p->reaped);
}

static const struct point proc_fork_exit_loops_points[] = {
	{ .arg = { 1 }, .profile = FULL, .path_n = 50 },
	{ .arg = { 10 }, .profile = FULL, .path_n = 10 },
	{ .arg = { 100 }, .profile = FULL, .path_n = 3 },
	{ .arg = { 1000 }, .profile = FULL }, /* by path just ten times the row before it */
	{ .profile = 0 },
};

/* By path up to 4 MiB: the cost of a page shows there as exactly as at 256 MiB. */
static const struct point proc_fork_rss_points[] = {
	{ { 0 }, QUICK, 40, ONE_CPU, 0 },
	{ { 1024 }, FULL, 25, ONE_CPU, 0 },
	{ { 4096 }, QUICK, 10, ONE_CPU, 0 },
	{ { 16384 }, QUICK, 0, ONE_CPU, 0 },
	{ { 65536 }, QUICK, 0, ONE_CPU, 0 },
	{ { 262144 }, FULL, 0, ONE_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

#define PROC_FORK_ROW .per = "process", .run = proc_fork_run, .verify = proc_fork_verify

const struct workload proc_fork_exit = {
	.name = "proc/fork-exit",
	PROC_FORK_ROW,
	.source = "M",
	.what = "fork a process that exits at once, and wait for it",
	.inside = "one fork, the child's _exit, one waitpid",
	.settings = SET_ADDRESS_RANDOM,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 50 }),
	.setup = proc_fork_exit_setup,
};

const struct workload proc_fork_exit_loops = {
	.name = "proc/fork-exit-loops",
	.per = "set of processes",
	.source = "M table 2",
	.what = "N processes of proc/fork-exit in a row, timed once: M's microsecond form",
	.inside = "N times what proc/fork-exit contains",
	.settings = SET_ADDRESS_RANDOM,
	.params = { "loops" },
	.curve = "loops",
	.max_batch = 1,
	.points = proc_fork_exit_loops_points,
	.setup = proc_fork_exit_loops_setup,
	.run = proc_fork_exit_loops_run,
	.verify = proc_fork_exit_loops_verify,
};

const struct workload proc_fork_exit_fixed_time = {
	.name = "proc/fork-exit-fixed-time",
	.per = "process",
	.only = BY_TIME,
	.source = "M table 1",
	.what = "processes of proc/fork-exit until an alarm set 50 ms ahead: M's fixed-time form",
	.inside = "what proc/fork-exit contains, a test of the alarm's flag, one signal in 50 ms",
	.needs = CAP_SETITIMER,
	.settings = SET_ADDRESS_RANDOM,
	.max_batch = 1,
	.points = KM_POINTS({ .profile = FULL }),
	.setup = proc_fork_exit_fixed_time_setup,
	.self_timed = proc_fork_exit_fixed_time_run,
	.verify = proc_fork_exit_fixed_time_verify,
};

const struct workload proc_fork_rss = {
	.name = "proc/fork-rss",
	PROC_FORK_ROW,
	.revision = 1, /* ordinary pages; before, as the system chose */
	.source = "M (its explanation of the factor 182)",
	.what = "proc/fork-exit by a process that has written to each page of `rss_kib` KiB more memory (ordinary "
		"pages)",
	.inside = "one fork, the child's _exit, one waitpid; no process touches the memory meanwhile",
	.settings = SET_OVERCOMMIT | SET_ADDRESS_RANDOM,
	.params = { "rss_kib" },
	.curve = "rss_kib",
	.points = proc_fork_rss_points,
	.setup = proc_fork_rss_setup,
};

const struct workload proc_fork_rss_huge = {
	.name = "proc/fork-rss-huge",
	PROC_FORK_ROW,
	.source = "after M (its explanation of the factor 182)",
	.what = "proc/fork-rss with all its memory in huge pages",
	.inside = "one fork, the child's _exit, one waitpid; no process touches the memory meanwhile",
	.needs = CAP_MMAP,
	.settings = SET_OVERCOMMIT | SET_ADDRESS_RANDOM | SET_HUGE_PAGES,
	.params = { "rss_kib" },
	.curve = "rss_kib",
	/* By path 4 and 8 MiB: the difference is the cost of huge pages. */
	.points = KM_POINTS({ { 4096 }, FULL, 25, ONE_CPU, 0 }, { { 8192 }, FULL, 25, ONE_CPU, 0 },
			    { { 65536 }, FULL, 0, ONE_CPU, 0 }, { { 262144 }, FULL, 0, ONE_CPU, 0 }),
	.setup = proc_fork_rss_huge_setup,
};
