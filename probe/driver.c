/* driver.c: a fresh process for every run of every row: their order, their limits, what they print, and what they
 * leave behind. Nothing that a run does (crash, hang, fill the disk, lose a child) reaches the next one. */
#include "engine.h"

#include <dirent.h>
#include <sys/select.h>

#define RUN_SECONDS_TIME 60           /* beyond ten times the sampling time: set-up of the largest row */
#define RUN_SECONDS_PATH 900          /* of the emulated machine's own clock */
#define MOST_OUTPUT ((size_t)4 << 20) /* bytes a run may print */

static volatile sig_atomic_t stopped_by;
static volatile pid_t running; /* the process group under way */

static void on_signal(int number)
{
	stopped_by = number;
	if (running > 0)
		kill(-running, SIGKILL);
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction a;

	memset(&a, 0, sizeof a);
	a.sa_handler = on_signal;
	sigemptyset(&a.sa_mask);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		sigaction(numbers[i], &a, NULL);
}

/* Everything below `path`, and `path`; never through a symbolic link. */
static void remove_tree(const char *path)
{
	char below[KM_PATH];
	struct dirent *d;
	struct stat s;
	DIR *dir;

	if (lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && (dir = opendir(path)) != NULL) {
		while ((d = readdir(dir)) != NULL)
			if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
			    snprintf(below, sizeof below, "%s/%s", path, d->d_name) < (int)sizeof below)
				remove_tree(below);
		closedir(dir);
		rmdir(path);
	} else {
		unlink(path);
	}
}

/* The same until it is gone: a process that was killed while it made a file ends after it, a moment later. */
static void remove_folder(const char *path)
{
	struct stat s;

	remove_tree(path);
	for (int i = 0; i < 100 && lstat(path, &s) == 0; i++) {
		struct timeval nap = { 0, 10000 };

		select(0, NULL, NULL, NULL, &nap);
		remove_tree(path);
	}
}

static void report(const struct options *o, const struct row *row, long run, const char *text)
{
	json_error(stdout, row->name, run, o->block, text, "", "");
}

/* The words of this program's call as one of its own children; `text` is where the numbers stand. NULL ends them. */
static void child_words(const char *words[32], char text[8][32], const struct options *o, const char *role,
			const struct row *row, long run, const char *dir)
{
	const char *all[] = { platform_self(NULL),
			      "--internal",
			      role,
			      "--by",
			      o->by == BY_PATH ? "path" : "time",
			      "--seconds",
			      text[0],
			      "--half-width",
			      text[1],
			      "--samples",
			      text[2],
			      "--seed",
			      text[3],
			      "--cpu",
			      text[4],
			      "--batch",
			      text[5],
			      "--block",
			      text[6],
			      "--first-run",
			      text[7],
			      "--clock",
			      o->clock,
			      "--dir",
			      dir,
			      row->name,
			      NULL };

	snprintf(text[0], sizeof text[0], "%.17g", o->seconds);
	snprintf(text[1], sizeof text[1], "%.17g", o->half_width);
	snprintf(text[2], sizeof text[2], "%ld", o->samples);
	snprintf(text[3], sizeof text[3], "%" PRIu64, o->seed);
	snprintf(text[4], sizeof text[4], "%ld", o->cpu);
	snprintf(text[5], sizeof text[5], "%ld", o->batch);
	snprintf(text[6], sizeof text[6], "%ld", o->block);
	snprintf(text[7], sizeof text[7], "%ld", run);
	memcpy(words, all, sizeof all);
}

static KM_NORETURN void become_child(const struct options *o, const char *role, const struct row *row, long run,
				     const char *dir, int out)
{
	const char *words[32];
	char text[8][32];

	platform_die_with_parent();
	if (dup2(out, 1) < 0)
		_exit(127);
	close(out);
	child_words(words, text, o, role, row, run, dir);
	if (words[0]) /* execv's argument is not const for history's sake */
		execv(words[0], (char **)(uintptr_t)words);
	exit(strcmp(role, "cold") == 0 ? run_cold(o, row, dir) : run_row(o, row, run, dir));
}

long spawn_self(const struct options *o, const char *role, const struct row *row, long run, const char *dir, int out)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* The driver kills a run by its group; a cold process belongs to its run's. */
		if (strcmp(role, "run") == 0)
			platform_lead_group(0);
		become_child(o, role, row, run, dir, out);
	}
	return (long)pid;
}

/* Reads until the run closes its output, dies, or time is up. The bytes; *full: it ended by itself. */
static size_t gather(int from, char *to, size_t size, double seconds, int *full)
{
	uint64_t limit = clock_wall() + (uint64_t)(seconds * 1e9);
	size_t n = 0;

	*full = 0;
	while (n < size && !stopped_by && clock_wall() < limit) {
		struct timeval wait = { 0, 200000 };
		fd_set set;
		ssize_t k;

		FD_ZERO(&set);
		FD_SET(from, &set);
		if (select(from + 1, &set, NULL, NULL, &wait) <= 0)
			continue;
		k = read(from, to + n, size - n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			*full = 1;
			break;
		}
		n += (size_t)k;
	}
	return n;
}

/* Rows whose set-up found that this platform cannot do them: trying may take a second, and would end the same. */
static char refused[MAX_REGIONS / 2];

static int says_unsupported(const char *text, size_t n)
{
	static const char start[] = "{\"type\":\"unsupported\"";

	return n >= sizeof start && memcmp(text, start, sizeof start - 1) == 0;
}

/* What the run printed, if it is records; otherwise why it has none. 1 if the row failed. */
static int relay(const struct options *o, const struct row *row, long run, const char *text, size_t n, int full,
		 int status, double seconds)
{
	char why[128];
	int whole = n > 0 && text[0] == '{' && text[n - 1] == '\n';

	if (whole) {
		fwrite(text, 1, n, stdout);
		fflush(stdout);
		for (size_t i = 0; i < n; i++)
			emitted_lines += text[i] == '\n';
	}
	refused[row->id / 2] = (char)(whole && says_unsupported(text, n));
	if (whole && WIFEXITED(status))
		return WEXITSTATUS(status) != 0;
	if (stopped_by)
		return 1;
	if (!full && n == MOST_OUTPUT)
		snprintf(why, sizeof why, "printed more than %lu bytes", (unsigned long)MOST_OUTPUT);
	else if (!full)
		snprintf(why, sizeof why, "gave no result within %.0f s and was killed", seconds);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof why, "left with status %d and no result", WEXITSTATUS(status));
	report(o, row, run, why);
	return 1;
}

static int one_run(const struct options *o, const struct row *row, long run, struct folders *folders)
{
	static char *text;
	char dir[KM_PATH], why[2 * KM_PATH];
	const char *base = disk_folder(folders, o, row, why, sizeof why);
	double seconds = o->by == BY_PATH ? RUN_SECONDS_PATH : RUN_SECONDS_TIME + 10 * o->seconds;
	int out[2], status = 0, full, failed;
	size_t n;

	if (!text && !(text = malloc(MOST_OUTPUT))) {
		report(o, row, run, "malloc: ENOMEM in the driver");
		return 1;
	}
	if (!base) {
		report(o, row, run, why);
		return 1;
	}
	if (snprintf(dir, sizeof dir, "%s/run", base) >= (int)sizeof dir || mkdir(dir, 0700) != 0 || pipe(out) != 0) {
		report(o, row, run, strerror(errno));
		return 1;
	}
	fcntl(out[0], F_SETFD, FD_CLOEXEC);
	running = (pid_t)spawn_self(o, "run", row, run, dir, out[1]);
	if (running > 0)
		platform_lead_group(running); /* here too: whichever of us comes first */
	close(out[1]);
	n = gather(out[0], text, MOST_OUTPUT, seconds, &full);
	close(out[0]);
	if (running > 0) {
		if (!full)
			kill(-running, SIGKILL);
		while (waitpid(running, &status, 0) < 0 && errno == EINTR)
			;
		kill(-running, SIGKILL); /* what it left behind */
	}
	failed = relay(o, row, run, text, n, full, running < 0 ? 0x7f00 : status, seconds);
	running = 0;
	remove_folder(dir);
	if (disk_needed(row)) /* what this row left to be written is not written during the next one */
		km_sync(base);
	return failed;
}

/* A new order for every run, so that no row always follows the same one (Fisher and Yates; by path as it stands). */
static void shuffle(const struct row **rows, size_t n, const struct options *o, long run)
{
	uint64_t x = km_mix(o->seed + 1) + (uint64_t)run * UINT64_C(0x9e3779b97f4a7c15);

	if (o->by == BY_PATH)
		return;
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)(km_mix(x += UINT64_C(0x9e3779b97f4a7c15)) % i);
		const struct row *t = rows[i - 1];

		rows[i - 1] = rows[k];
		rows[k] = t;
	}
}

/* The rows asked for that can be run here; the others are said to be unsupported, once. */
static size_t choose(const struct options *o, const struct row **chosen)
{
	size_t all, n = 0;
	const struct row *rows = registry_rows(&all);

	for (size_t i = 0; i < all; i++) {
		const char *why;

		if (!row_selected(&rows[i], o))
			continue;
		why = row_unsupported(&rows[i], o->by);
		if (!why)
			why = disk_missing(o, &rows[i]);
		if (!why)
			why = program_missing(o, &rows[i]);
		if (!why)
			why = display_missing(&rows[i]);
		if (!why) {
			chosen[n++] = &rows[i];
			continue;
		}
		json_unsupported(stdout, rows[i].name, why);
	}
	return n;
}

int drive(const struct options *o)
{
	static const struct row *chosen[MAX_REGIONS];
	static struct folders folders;
	char why[2 * KM_PATH];
	size_t n;
	long failed = 0;

	if (!disk_folder(&folders, o, NULL, why, sizeof why)) {
		fprintf(stderr, "probe: %s; name another with --dir\n", why);
		return 2;
	}
	catch_signals();
	if (!o->continues)
		emit_header(stdout, o);
	n = choose(o, chosen);
	for (size_t i = 0; i < n && !o->continues; i++)
		if (i == 0 || chosen[i]->workload != chosen[i - 1]->workload)
			emit_workload(stdout, chosen[i]->workload, o);
	for (long run = o->first_run; run < o->first_run + o->runs && !stopped_by; run++) {
		shuffle(chosen, n, o, run);
		for (size_t i = 0; i < n && !stopped_by; i++)
			failed += refused[chosen[i]->id / 2] ? 0 : one_run(o, chosen[i], run, &folders);
	}
	for (size_t i = 0; i < FOLDERS; i++)
		if (folders.path[i][0])
			remove_tree(folders.path[i]);
	return stopped_by ? 128 + stopped_by : failed > 0;
}
