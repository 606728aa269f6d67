/* proc/execl: a process replaces itself over and over (M: UnixBench's execl throughput).
 *
 * No single image can time it: the first one reads the clock, passes the reading on as an argument, and the last one
 * reads the clock again. All arguments have a fixed width and are rewritten in place, and the environment is empty, so
 * each image does the same work. The last one sends its result by a pipe. */
#include "../km.h"

enum {
	EXECL_SELF,
	EXECL_INTERNAL,
	EXECL_ROLE,
	EXECL_LEFT,
	EXECL_DONE,
	EXECL_BEGIN,
	EXECL_RESULT,
	EXECL_REPORT,
	EXECL_BY,
	EXECL_REGION,
	EXECL_CLOCK,
	EXECL_ARGS,
	EXECL_DIGITS = 16
};

struct execl_result {
	uint64_t ticks, images;
};

struct proc_execl {
	struct km *km;
	int result[2], report[2];
	char *argv[EXECL_ARGS + 1];
	char *environment[1];
	char number[EXECL_ARGS][EXECL_DIGITS + 1];
	uint64_t images;
};

static void execl_put(char *to, uint64_t value)
{
	for (int i = EXECL_DIGITS; i-- > 0; value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
}

static uint64_t execl_take(const char *from)
{
	return strtoull(from, NULL, 16);
}

static void *proc_execl_setup(struct km *km)
{
	static char internal[] = "--internal", role[] = "execl";
	struct proc_execl *p = km_state(km, sizeof *p);
	char *clock = km_alloc(km, strlen(km_clock_name(km)) + 1);

	km_pipe(km, p->result);
	km_pipe(km, p->report);
	/* The images write to both. The result is read when they have exited: it is there by then, or never. */
	if (fcntl(p->result[1], F_SETFD, 0) != 0 || fcntl(p->report[1], F_SETFD, 0) != 0 ||
	    fcntl(p->result[0], F_SETFL, O_NONBLOCK) != 0)
		km_fail_call(km, "fcntl");
	for (int i = 0; i < EXECL_ARGS; i++)
		p->argv[i] = p->number[i];
	p->argv[EXECL_SELF] = km_alloc(km, strlen(km->self) + 1);
	strcpy(p->argv[EXECL_SELF], km->self);
	p->argv[EXECL_INTERNAL] = internal;
	p->argv[EXECL_ROLE] = role;
	p->argv[EXECL_CLOCK] = strcpy(clock, km_clock_name(km));
	execl_put(p->argv[EXECL_BEGIN], 0);
	execl_put(p->argv[EXECL_RESULT], (uint64_t)p->result[1]);
	execl_put(p->argv[EXECL_REPORT], (uint64_t)p->report[1]);
	execl_put(p->argv[EXECL_BY], (uint64_t)km->by);
	execl_put(p->argv[EXECL_REGION], km_region(km));
	return p;
}

/* One image of the chain: `argv` comes from the image before it, or from proc_execl_self_timed. */
int proc_execl_main(int argc, char **argv)
{
	char *environment[1] = { NULL };
	struct execl_result result;
	uint64_t left;
	enum by by;
	unsigned region;
	int report;

	if (argc != EXECL_ARGS)
		return 2;
	left = execl_take(argv[EXECL_LEFT]);
	result.images = execl_take(argv[EXECL_DONE]);
	by = (enum by)execl_take(argv[EXECL_BY]);
	region = (unsigned)execl_take(argv[EXECL_REGION]);
	report = (int)execl_take(argv[EXECL_REPORT]);
	if (left == 0) {
		result.ticks = km_internal_end(by, argv[EXECL_CLOCK], region) - execl_take(argv[EXECL_BEGIN]);
		if (km_put((int)execl_take(argv[EXECL_RESULT]), &result, sizeof result) <= 0)
			km_child_fail(report, "write");
		return 0;
	}
	if (result.images == 0)
		execl_put(argv[EXECL_BEGIN], km_internal_begin(by, argv[EXECL_CLOCK], region));
	execl_put(argv[EXECL_LEFT], left - 1);
	execl_put(argv[EXECL_DONE], result.images + 1);
	if (execve(argv[EXECL_SELF], argv, environment) != 0)
		km_child_fail(report, "execve");
	return 1;
}

/* The images time it: from the first one's marker to the last one's, n times execve and a program's start. */
static uint64_t proc_execl_self_timed(void *state, uint64_t n)
{
	struct proc_execl *p = state;
	struct execl_result result;
	pid_t pid;

	execl_put(p->argv[EXECL_LEFT], n);
	execl_put(p->argv[EXECL_DONE], 0);
	pid = fork();
	if (pid < 0)
		km_fail_call(p->km, "fork");
	if (pid == 0) {
		execve(p->km->self, p->argv, p->environment);
		km_child_fail(p->report[1], "execve");
	}
	km_child_wait(p->km, (long)pid, p->report[0]);
	if (read(p->result[0], &result, sizeof result) != (ssize_t)sizeof result)
		km_fail_call(p->km, "read of the last image's result");
	if (result.images != n)
		km_fail(p->km, "%" PRIu64 " images followed each other, not %" PRIu64, result.images, n);
	p->images += result.images;
	return result.ticks;
}

/* Otherwise the images of another set-up in this process would inherit these pipes too: see tally.c. */
static void proc_execl_teardown(void *state)
{
	struct proc_execl *p = state;

	for (int i = 0; i < 2; i++) {
		km_close(&p->result[i]);
		km_close(&p->report[i]);
	}
}

const struct workload proc_execl = {
	.name = "proc/execl",
	.per = "execve",
	.unit = UNIT_PER_S,
	.source = "M",
	.what = "a process replaces itself by this program over and over, the same arguments, an empty environment",
	.inside = "execve and the program's start up to its next execve",
	.needs = CAP_SELF,
	.settings = SET_ADDRESS_RANDOM,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 12 }),
	.setup = proc_execl_setup,
	.self_timed = proc_execl_self_timed,
	.counted = { offsetof(struct proc_execl, images), "programs were executed" },
	.teardown = proc_execl_teardown,
};
