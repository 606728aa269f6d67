/* load/multiuser: `users` users at once, each a process that does five jobs, an AIM-style mix of what other rows
 * measure alone (M section 2.3). The curve is jobs a second against users, with its peak, and where two systems' curves
 * cross.
 *
 * The five jobs: execute a program; pass words through a pipe; make, read and remove a file; arithmetic; a sort. Each
 * is a fixed amount of work of about the same time. User k begins with job number k modulo 5. A separate process (the
 * gate) starts the users: it may use every CPU, as they may, while the measuring process stays where it is. */
#include "../km.h"
#define MULTIUSER_JOBS 5
#define MULTIUSER_WORDS 40 /* of MULTIUSER_WORD bytes through a pipe, which holds 4 KiB at least */
#define MULTIUSER_WORD 512
#define MULTIUSER_FILE 16384
#define MULTIUSER_FILES 4
#define MULTIUSER_ROUNDS 100000 /* of arithmetic */
#define MULTIUSER_NUMBERS 2048  /* sorted */
#define MULTIUSER_MOST 32

struct load_multiuser {
	struct km *km;
	int there[2], back[2]; /* to the gate, and from it */
	int report[2];         /* of users' failures */
	long gate;
	uint64_t wanted; /* the sum over a user's jobs */
	uint64_t jobs, sum;
};

/* What one user has done; the gate reports it for all. */
struct load_multiuser_done {
	uint64_t jobs, sum;
};

/* A job returns a sum over what it did; a failed call ends the user. */

static uint64_t load_multiuser_exec(struct load_multiuser *s, long user)
{
	static const char *const words[] = { "probe", "--internal", "exit", NULL };
	char *none[] = { NULL };
	int status;
	pid_t pid = fork();

	(void)user;
	if (pid < 0)
		km_child_fail(s->report[1], "fork");
	if (pid == 0) {
		execve(s->km->self, (char **)(uintptr_t)words, none);
		km_child_fail(s->report[1], "execve");
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		km_child_fail(s->report[1], "waitpid");
	return 1;
}

static uint64_t load_multiuser_pipe(struct load_multiuser *s, long user)
{
	uint64_t word[MULTIUSER_WORD / 8], sum = 0;
	int end[2];

	(void)user;
	if (pipe(end) != 0)
		km_child_fail(s->report[1], "pipe");
	for (uint64_t i = 0; i < MULTIUSER_WORDS; i++) {
		for (int k = 0; k < MULTIUSER_WORD / 8; k++)
			word[k] = i;
		if (km_put(end[1], word, sizeof word) != 1)
			km_child_fail(s->report[1], "write");
		if (km_get(end[0], word, sizeof word) != 1)
			km_child_fail(s->report[1], "read");
		sum += word[i % (MULTIUSER_WORD / 8)];
	}
	close(end[0]);
	close(end[1]);
	return sum;
}

static uint64_t load_multiuser_file(struct load_multiuser *s, long user)
{
	static uint64_t words[MULTIUSER_FILE / 8];
	char name[32], path[KM_PATH];
	uint64_t sum = 0;

	snprintf(name, sizeof name, "user-%ld", user);
	km_path(s->km, path, name);
	for (uint64_t i = 0; i < MULTIUSER_FILES; i++) {
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

		if (fd < 0)
			km_child_fail(s->report[1], "open");
		km_content_fill(words, sizeof words, i, 0);
		if (km_put(fd, words, sizeof words) != 1)
			km_child_fail(s->report[1], "write");
		if (lseek(fd, 0, SEEK_SET) != 0)
			km_child_fail(s->report[1], "lseek");
		memset(words, 0, sizeof words);
		if (km_get(fd, words, sizeof words) != 1)
			km_child_fail(s->report[1], "read");
		if (close(fd) != 0 || unlink(path) != 0)
			km_child_fail(s->report[1], "unlink");
		for (int k = 0; k < MULTIUSER_FILE / 8; k++)
			sum += words[k];
	}
	return sum;
}

static uint64_t load_multiuser_arithmetic(struct load_multiuser *s, long user)
{
	uint64_t sum = 0;

	(void)s;
	(void)user;
	for (uint64_t i = 0; i < MULTIUSER_ROUNDS; i++)
		sum += km_mix(i);
	return sum;
}

static uint64_t load_multiuser_sort(struct load_multiuser *s, long user)
{
	static uint64_t numbers[MULTIUSER_NUMBERS];
	uint64_t sum = 0;

	(void)s;
	(void)user;
	for (uint64_t i = 0; i < MULTIUSER_NUMBERS; i++)
		numbers[i] = km_mix(i);
	qsort(numbers, MULTIUSER_NUMBERS, sizeof numbers[0], km_ascending);
	for (uint64_t i = 0; i < MULTIUSER_NUMBERS; i++)
		sum += numbers[i] * (i + 1); /* another order has another sum */
	return sum;
}

static uint64_t (*const load_multiuser_job[MULTIUSER_JOBS])(struct load_multiuser *, long) = {
	load_multiuser_exec, load_multiuser_pipe, load_multiuser_file, load_multiuser_arithmetic, load_multiuser_sort,
};

static struct load_multiuser_done load_multiuser_user(struct load_multiuser *s, long user)
{
	struct load_multiuser_done done = { 0, 0 };

	for (int i = 0; i < MULTIUSER_JOBS; i++) {
		done.sum += load_multiuser_job[(user + i) % MULTIUSER_JOBS](s, user);
		done.jobs++;
	}
	return done;
}

/* One round: all users start, reply and exit. Replies are smaller than PIPE_BUF, so none is split. */
static struct load_multiuser_done load_multiuser_round(struct km *km, struct load_multiuser *s)
{
	struct load_multiuser_done all = { 0, 0 }, one;
	int answers[2];
	long users = km->arg[0], pid[MULTIUSER_MOST];

	km_pipe(km, answers);
	for (long user = 0; user < users; user++) {
		pid[user] = (long)fork();
		if (pid[user] < 0)
			km_fail_call(km, "fork");
		if (pid[user] == 0) {
			one = load_multiuser_user(s, user);
			_exit(km_put(answers[1], &one, sizeof one) == 1 ? 0 : 1);
		}
	}
	km_close(&answers[1]);
	while (km_get(answers[0], &one, sizeof one) == 1) {
		all.jobs += one.jobs;
		all.sum += one.sum;
	}
	km_close(&answers[0]);
	for (long user = 0; user < users; user++)
		km_child_wait(km, pid[user], s->report[0]);
	return all;
}

static void load_multiuser_gate(struct km *km, void *state)
{
	struct load_multiuser *s = state;
	char word;

	km_close(&s->there[1]);
	km_close(&s->back[0]);
	km_all_cpus(km);
	while (km_get(s->there[0], &word, 1) == 1) {
		struct load_multiuser_done done = load_multiuser_round(km, s);

		km_write_all(km, s->back[1], &done, sizeof done);
	}
}

/* A user's sum, computed without pipe, file or program. */
static uint64_t load_multiuser_wanted(struct load_multiuser *s)
{
	uint64_t sum = 1 + MULTIUSER_WORDS * (MULTIUSER_WORDS - 1) / 2;

	for (uint64_t i = 0; i < MULTIUSER_FILES; i++)
		for (uint64_t k = 0; k < MULTIUSER_FILE / 8; k++)
			sum += km_content_word(i, k);
	return sum + load_multiuser_arithmetic(s, 0) + load_multiuser_sort(s, 0);
}

static void *load_multiuser_setup(struct km *km)
{
	struct load_multiuser *s = km_state(km, sizeof *s);

	km_room(km, (unsigned)km->arg[0], MULTIUSER_FILE);
	km_pipe(km, s->there);
	km_pipe(km, s->back);
	km_pipe(km, s->report);
	s->wanted = load_multiuser_wanted(s);
	s->gate = km_peer(km, load_multiuser_gate, s);
	km_close(&s->there[0]);
	km_close(&s->back[1]);
	km->ops = (double)(km->arg[0] * MULTIUSER_JOBS);
	return s;
}

static void load_multiuser_run(void *state, uint64_t n) /* timed: n times all users come, work and go */
{
	struct load_multiuser *s = state;

	while (n--) {
		struct load_multiuser_done done;

		km_write_all(s->km, s->there[1], "r", 1);
		km_read_all(s->km, s->back[0], &done, sizeof done);
		s->jobs += done.jobs;
		s->sum += done.sum;
	}
}

static void load_multiuser_verify(void *state, uint64_t n)
{
	struct load_multiuser *s = state;
	uint64_t users = n * (uint64_t)s->km->arg[0];

	if (s->jobs != users * MULTIUSER_JOBS || s->sum != users * s->wanted)
		km_fail(s->km, "%" PRIu64 " users came and did %" PRIu64 " jobs with %" PRIu64 " as their sum", users,
			s->jobs, s->sum);
}

static void load_multiuser_teardown(void *state)
{
	struct load_multiuser *s = state;

	km_close(&s->there[1]);
	km_peer_end(s->km, s->gate);
}

const struct workload load_multiuser = {
	.name = "load/multiuser",
	.per = "job",
	.unit = UNIT_PER_S,
	.source = "M section 2.3",
	.what = "N users at once on all CPUs, each a process with 5 jobs: an execve, 40 x 512 B by pipe, 4 files of 16 "
		"KiB, 100,000 additions of mixed numbers, a sort of 2048",
	.inside =
		"for each user: fork, the jobs and their checks, exit, waitpid; for all: one word to the gate and back",
	.needs = CAP_SELF,
	.settings = SET_FOLDER,
	.params = { "users" },
	.curve = "users",
	.points = KM_POINTS({ .arg = { 1 }, .profile = FULL, .path_n = 5 },
			    { .arg = { 2 }, .profile = FULL, .path_n = 5 },
			    { .arg = { 4 }, .profile = FULL, .path_n = 5 }, { .arg = { 8 }, .profile = FULL },
			    { .arg = { 16 }, .profile = FULL }, { .arg = { 32 }, .profile = FULL }),
	.setup = load_multiuser_setup,
	.run = load_multiuser_run,
	.verify = load_multiuser_verify,
	.teardown = load_multiuser_teardown,
};
