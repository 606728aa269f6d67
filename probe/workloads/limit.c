/* limit/processes, files, memory: how many until the system refuses (C: MINIX 3 ran out of processes and of memory).
 *
 * An iteration is one climb: steps until the system refuses one with an expected errno; then it returns all steps, and
 * one more must succeed, or the system has not recovered. The figure is the number of steps.
 *
 * To leave the host unharmed a climb ends at `most` steps. Our ceiling is no limit of the system: where the first
 * climb, in setup, reaches it, the row is unsupported with that reason. limit/processes-own sets a limit for itself.
 * When a climb is refused, another process that existed before tries a step too; a warning reports whether it got one.
 *
 * Memory: a system refuses memory when it refuses to promise it (Linux: by RLIMIT_AS, by the accounting of
 * vm.overcommit_memory=2, or at the end of the address space). If it lacks memory that it has promised, it kills a
 * process with SIGKILL instead. So the row touches one page of each step, which proves the step, and no more. */
#include "../km.h"

enum limit_param { LIMIT_MOST, LIMIT_OWN };
enum { LIMIT_ERRORS = 3, LIMIT_STEP = 1 << 20, LIMIT_WORD = 0x5a5a };

struct limit;

struct limit_kind {
	const char *call;
	const char *things;
	int refusals[LIMIT_ERRORS];                    /* the errnos of a refusal; 0: none */
	int (*take)(struct limit *, uint64_t number);  /* 0, or -1 with errno */
	void (*give_back)(struct limit *, uint64_t n); /* steps 0 to n - 1 */
};

struct limit {
	struct km *km;
	const struct limit_kind *kind;
	uint64_t most, climbs;
	union { /* of step i */
		pid_t child;
		int fd;
		int *block;
	} *held;
	int gate[2];           /* processes: children leave when its writing end is closed */
	int ask[2], answer[2]; /* of the other process */
	long other;
	int refused; /* the errno of its step when the last climb was refused; 0: it got one */
};

static int limit_refused(const struct limit *l)
{
	for (int i = 0; i < LIMIT_ERRORS; i++)
		if (errno != 0 && errno == l->kind->refusals[i])
			return 1;
	return 0;
}

/* One climb, and the one step after it: returns the number of steps. */
static uint64_t limit_climb(struct limit *l)
{
	uint64_t n = 0;

	while (n < l->most && l->kind->take(l, n) == 0)
		n++;
	if (n < l->most && !limit_refused(l))
		km_fail_call(l->km, l->kind->call);
	if (n == 0)
		km_fail(l->km, "%s: the first one was refused: %s", l->kind->call, strerror(errno));
	if (n < l->most) {
		km_write_all(l->km, l->ask[1], "", 1);
		km_read_all(l->km, l->answer[0], &l->refused, sizeof l->refused);
	}
	l->kind->give_back(l, n);
	if (l->kind->take(l, 0) != 0)
		km_fail(l->km, "%s: after %" PRIu64 " %s were returned the system refuses even one: %s", l->kind->call,
			n, l->kind->things, strerror(errno));
	l->kind->give_back(l, 1);
	return n;
}

/* The other process takes a step on each request, and returns it. */
static void limit_peer(struct km *km, void *state)
{
	struct limit *l = state;
	char asked;

	km_close(&l->ask[1]);
	while (km_get(l->ask[0], &asked, 1) > 0) {
		l->refused = l->kind->take(l, 0) == 0 ? 0 : errno;
		if (l->refused == 0)
			l->kind->give_back(l, 1);
		km_write_all(km, l->answer[1], &l->refused, sizeof l->refused);
	}
}

/* Starts the other process; a limit that is set later does not apply to it. */
static struct limit *limit_new(struct km *km, const struct limit_kind *kind)
{
	struct limit *l = km_state(km, sizeof *l);

	l->kind = kind;
	l->most = (uint64_t)km->arg[LIMIT_MOST];
	l->held = km_alloc(km, (size_t)l->most * sizeof *l->held);
	km_pipe(km, l->ask);
	km_pipe(km, l->answer);
	l->other = km_peer(km, limit_peer, l);
	km_close(&l->ask[0]);
	km_close(&l->answer[1]);
	return l;
}

static void *limit_find(struct limit *l)
{
	if (limit_climb(l) == l->most)
		km_unsupported(l->km, "not refused up to %" PRIu64 " %s: the limit, if there is one, lies higher",
			       l->most, l->kind->things);
	km_warn(l->km, "others", "at the limit another process %s%s",
		l->refused ? "was refused one too: " : "was given one", l->refused ? strerror(l->refused) : "");
	return l;
}

static uint64_t limit_run(void *state, uint64_t n) /* a count: nothing is timed */
{
	struct limit *l = state;

	(void)n;
	l->climbs++;
	return limit_climb(l);
}

static void limit_teardown(void *state)
{
	struct limit *l = state;

	km_close(&l->ask[1]);
	km_peer_end(l->km, l->other);
}

/* Processes: children that wait for the end of a pipe, which their parent's close or death causes. --------------- */

static int limit_process_take(struct limit *l, uint64_t number)
{
	char end;
	pid_t child;

	if (number == 0)
		km_pipe(l->km, l->gate);
	child = fork();
	if (child == 0) {
		close(l->gate[1]);
		_exit(km_get(l->gate[0], &end, 1) == 0 ? 0 : 1);
	}
	l->held[number].child = child;
	if (child < 0 && number == 0) {
		int error = errno;

		km_close(&l->gate[0]);
		km_close(&l->gate[1]);
		errno = error;
	}
	return child < 0 ? -1 : 0;
}

static void limit_process_give_back(struct limit *l, uint64_t n)
{
	km_close(&l->gate[0]);
	km_close(&l->gate[1]);
	for (uint64_t i = 0; i < n; i++) {
		int status = km_wait(l->km, (long)l->held[i].child);

		if (status != 0)
			km_fail(l->km, "a waiting child ended with status 0x%x", (unsigned)status);
	}
}

static const struct limit_kind limit_process = {
	"fork", "processes", { EAGAIN, ENOMEM, 0 }, limit_process_take, limit_process_give_back
};

/* Files: /dev/null, opened anew each time, to fill the system's table as well as the process's. ------------------ */

static int limit_file_take(struct limit *l, uint64_t number)
{
	l->held[number].fd = open("/dev/null", O_RDONLY);
	return l->held[number].fd < 0 ? -1 : 0;
}

static void limit_file_give_back(struct limit *l, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (close(l->held[i].fd) != 0)
			km_fail_call(l->km, "close");
}

static const struct limit_kind limit_file = {
	"open", "open files", { EMFILE, ENFILE, ENOMEM }, limit_file_take, limit_file_give_back
};

/* Memory: private mappings of 1 MiB, a word of each written and read back. ---------------------------------------- */

static int limit_memory_take(struct limit *l, uint64_t number)
{
	int *block = km_map_fresh(LIMIT_STEP, 1);

	l->held[number].block = block;
	if (!block)
		return -1;
	*block = LIMIT_WORD + (int)number;
	return 0;
}

static void limit_memory_give_back(struct limit *l, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (*l->held[i].block != LIMIT_WORD + (int)i)
			km_fail(l->km, "MiB %" PRIu64 " does not contain what was written to it", i);
		if (km_unmap(l->held[i].block, LIMIT_STEP) != 0)
			km_fail_call(l->km, "munmap");
	}
}

static const struct limit_kind limit_of_memory = {
	"mmap", "MiB", { ENOMEM, EAGAIN, 0 }, limit_memory_take, limit_memory_give_back
};

static void *limit_processes_setup(struct km *km)
{
	return limit_find(limit_new(km, &limit_process));
}

/* An ordinary user's other processes count too: raises the limit until one more fits. */
static void *limit_processes_own_setup(struct km *km)
{
	struct limit *l = limit_new(km, &limit_process);
	int refused = 1;

	for (uint64_t own = (uint64_t)km->arg[LIMIT_OWN], most = own; refused; most += own) {
		if (km_limit_processes(most) != 0)
			km_unsupported(km, "no limit on processes can be set here: %s", strerror(errno));
		refused = limit_process_take(l, 0) != 0;
	}
	limit_process_give_back(l, 1);
	return limit_find(l);
}

static void *limit_files_setup(struct km *km)
{
	return limit_find(limit_new(km, &limit_file));
}

static void *limit_memory_setup(struct km *km)
{
	long own = km->arg[LIMIT_OWN];
	struct limit *l = limit_new(km, &limit_of_memory);

	if (own > 0 && km_limit_memory((uint64_t)own << 20) != 0)
		km_lacking(km, "setrlimit");
	return limit_find(l);
}

#define LIMIT_ROW                                                                                   \
	.unit = UNIT_COUNT, .revision = 1 /* another process, and pipes to it */, .source = "C",    \
	.self_timed = limit_run, .counted = { offsetof(struct limit, climbs), "climbs were made" }, \
	.teardown = limit_teardown, .max_batch = 1

#define LIMIT_PROCESSES_INSIDE "nothing; it counts forks until EAGAIN or ENOMEM, reaps all, and one more must succeed"

const struct workload limit_processes = {
	.name = "limit/processes",
	LIMIT_ROW,
	.per = "processes",
	.what = "how many waiting children a process can have until fork is refused; no figure if `most` succeed",
	.inside = LIMIT_PROCESSES_INSIDE,
	.params = { "most" },
	.points = KM_POINTS({ .arg = { 500 }, .profile = FULL, .path_n = 1 },
			    { .arg = { 2000 }, .profile = FULL, .path_n = 1 }),
	.setup = limit_processes_setup,
};

const struct workload limit_processes_own = {
	.name = "limit/processes-own",
	LIMIT_ROW,
	.per = "processes",
	.what = "limit/processes under a limit of `own` processes (RLIMIT_NPROC) that the process sets for itself, as "
		"nobody if it was root; of a multiple if the user has as many already",
	.inside = LIMIT_PROCESSES_INSIDE,
	.params = { "most", "own" },
	.points = KM_POINTS({ .arg = { 500, 40 }, .profile = FULL, .path_n = 1 }),
	.setup = limit_processes_own_setup,
};

const struct workload limit_files = {
	.name = "limit/files",
	LIMIT_ROW,
	.per = "open files",
	.what = "how many files a process can open, besides its own few, until open is refused; "
		"no figure if `most` succeed",
	.inside =
		"nothing; it counts opens of /dev/null until EMFILE, ENFILE or ENOMEM, closes all; one more must work",
	.params = { "most" },
	.points = KM_POINTS({ .arg = { 8192 }, .profile = FULL, .path_n = 2 }, { .arg = { 65536 }, .profile = FULL }),
	.setup = limit_files_setup,
};

const struct workload limit_memory = {
	.name = "limit/memory",
	LIMIT_ROW,
	.per = "MiB",
	.what = "how many MiB a process can map, besides its own few, until it is refused, under a limit of `own_mib` "
		"that it sets for itself (0: none); no figure if `most` succeed",
	.inside = "nothing; it counts private mappings of 1 MiB, one word of each written, until ENOMEM or EAGAIN, "
		  "reads and unmaps all, and one more must succeed",
	.needs = CAP_MMAP,
	.settings = SET_OVERCOMMIT,
	.params = { "most", "own_mib" },
	.points = KM_POINTS({ .arg = { 1024, 64 }, .profile = FULL, .path_n = 2 },
			    { .arg = { 1024, 0 }, .profile = FULL, .path_n = 2 }),
	.setup = limit_memory_setup,
};
