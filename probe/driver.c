/* driver.c: runs everything for a row in a fresh process: decides the order, sets limits, checks and passes on what it
 * prints, and removes what it leaves behind. A process that crashes, hangs, fills the disk or loses a child does not
 * affect the next. By time each row is calibrated, then each is counted, then all are timed in turn (schedule.c). */
#include "engine.h"

#include <dirent.h>
#include <sys/select.h>

#define RUN_SECONDS_TIME 60           /* beyond ten times the sampling time: set-up of the largest row */
#define RUN_SECONDS_PATH 900          /* by the emulated machine's own clock */
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

/* Removes `path` and everything below it; never follows a symbolic link. */
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

/* Removes it until it is gone: a process killed while it makes a file still finishes making it. */
static void remove_folder(const char *path)
{
	struct stat s;

	remove_tree(path);
	for (int i = 0; i < 100 && (lstat(path, &s) == 0 || errno != ENOENT); i++) {
		struct timeval nap = { 0, 10000 };

		select(0, NULL, NULL, NULL, &nap);
		remove_tree(path);
	}
}

/* After a signal, or without an output, to which no row could be reported. */
static int stopping(void)
{
	return stopped_by || ferror(stdout);
}

static void report(const struct options *o, const struct row *row, long run, const char *text)
{
	json_error(stdout, row->name, run, o->block, text, "", "");
}

static void report_call(const struct options *o, const struct row *row, long run, const char *call, int error)
{
	char text[160];

	snprintf(text, sizeof text, "%s: %s (%s)", call, errno_name(error), strerror(error));
	json_error(stdout, row->name, run, o->block, text, call, errno_name(error));
}

/* Reads until the run closes its output, dies, or time is up. Returns the bytes read; *full: the output is complete. */
static size_t gather(int from, char *to, size_t size, double seconds, int *full)
{
	uint64_t limit = clock_wall() + (uint64_t)(seconds * 1e9);
	size_t n = 0;

	*full = 0;
	while (n < size && !stopping() && clock_wall() < limit) {
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
			return k < 0 ? 0 : n; /* a part may look whole */
		}
		n += (size_t)k;
	}
	return n;
}

struct plan { /* of one row */
	const struct row *row;
	long batch, baseline_batch; /* 0: not calibrated */
	struct outcome outcome;     /* of its last run, if that told it */
	int told;
	int once;    /* neither calibrated nor counted: a first call, or a row that counts */
	int refused; /* unsupported here, or not calibrated: another try would end the same */
	long runs;   /* timed ones begun */
};

/* Passes on the records that the process printed, and stores its outcome; if there are no records it reports why. A
 * zero ends `text`. 1 if the row failed. */
static int relay(const struct options *o, struct plan *p, long run, const char *text, size_t n, int full, int status,
		 double seconds)
{
	char why[128];
	size_t records = strlen(text);
	int lost = WIFEXITED(status) && WEXITSTATUS(status) == KM_OUTPUT_LOST;
	int whole = !lost && records > 0 && text[0] == '{' && text[records - 1] == '\n';

	p->told = n == records + 1 + sizeof p->outcome;
	if (whole) {
		fwrite(text, 1, records, stdout);
		fflush(stdout);
		for (size_t i = 0; i < records; i++)
			emitted_lines += text[i] == '\n';
	}
	if (p->told)
		memcpy(&p->outcome, text + records + 1, sizeof p->outcome);
	p->refused |= whole && status == 0 && !p->told;
	if (whole && WIFEXITED(status))
		return WEXITSTATUS(status) != 0;
	if (stopping())
		return 1;
	if (!full && n == MOST_OUTPUT)
		snprintf(why, sizeof why, "printed more than %lu bytes", (unsigned long)MOST_OUTPUT);
	else if (!full)
		snprintf(why, sizeof why, "gave no result within %.0f s and was killed", seconds);
	else if (lost)
		snprintf(why, sizeof why, "could not write all of its record");
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof why, "exited with status %d and no result", WEXITSTATUS(status));
	report(o, p->row, run, why);
	return 1;
}

/* Runs one process for one row; stores its output and a zero behind it in `text`. 1 if the row failed. */
static int one_process(const struct options *o, enum role role, struct plan *p, struct folders *folders, char *text)
{
	struct options own = *o;
	char dir[KM_PATH], why[2 * KM_PATH];
	const char *base = disk_folder(folders, o, p->row, why, sizeof why);
	double seconds = o->by == BY_PATH ? RUN_SECONDS_PATH : RUN_SECONDS_TIME + 10 * o->seconds;
	long run = role == TIME ? o->first_run + p->runs++ : o->first_run;
	int out[2], status = 0, full, failed, error;
	size_t n;

	text[0] = '\0';
	if (!base) {
		report(o, p->row, run, why);
		return 1;
	}
	if (pipe(out) != 0) {
		report_call(o, p->row, run, "pipe", errno);
		return 1;
	}
	if (snprintf(dir, sizeof dir, "%s/run", base) >= (int)sizeof dir || mkdir(dir, 0700) != 0) {
		report_call(o, p->row, run, "mkdir", errno);
		close(out[0]);
		close(out[1]);
		return 1;
	}
	own.batch = p->batch;
	own.baseline_batch = p->baseline_batch;
	fcntl(out[0], F_SETFD, FD_CLOEXEC);
	running = (pid_t)spawn(&own, role, p->row, run, dir, out[1], run_row);
	error = errno;
	if (running > 0)
		platform_lead_group(running); /* the child does the same: whichever is first */
	close(out[1]);
	n = gather(out[0], text, MOST_OUTPUT, seconds, &full);
	text[n] = '\0';
	close(out[0]);
	if (running > 0) {
		if (!full)
			kill(-running, SIGKILL);
		while (waitpid(running, &status, 0) < 0 && errno == EINTR)
			;
		kill(-running, SIGKILL); /* its remaining processes */
	}
	if (running < 0) {
		report_call(o, p->row, run, "fork", error);
		failed = 1;
	} else {
		failed = relay(o, p, run, text, n, full, status, seconds);
	}
	running = 0;
	remove_folder(dir);
	if (disk_needed(p->row)) /* the disk finishes this row's writes before the next row */
		km_sync(base);
	return failed;
}

/* A new order every time, so that no row always follows the same one (Fisher and Yates); by path the given order. */
static void shuffle(size_t *order, size_t n, const struct options *o)
{
	static uint64_t times;
	uint64_t x = km_mix(o->seed + 1) + (times++ + (uint64_t)o->first_run) * UINT64_C(0x9e3779b97f4a7c15);

	if (o->by == BY_PATH)
		return;
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)(km_mix(x += UINT64_C(0x9e3779b97f4a7c15)) % i), t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
}

/* The selected rows that can run here; reports each of the others as unsupported, once. */
static size_t choose(const struct options *o, struct plan *plans)
{
	size_t all, n = 0;
	const struct row *rows = registry_rows(&all);

	for (size_t i = 0; i < all; i++) {
		struct plan *p = &plans[n];
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
		if (why) {
			json_unsupported(stdout, rows[i].name, why);
			continue;
		}
		p->row = &rows[i];
		p->once = o->by == BY_PATH || rows[i].point->cold || rows[i].workload->unit == UNIT_COUNT;
		row_batch(&rows[i], o, &p->batch, &p->baseline_batch);
		n++;
	}
	return n;
}

struct drive { /* one call of the program */
	const struct options *o;
	struct plan plan[MAX_REGIONS / 2];
	struct pace pace[MAX_REGIONS / 2];
	size_t n;
	struct folders folders;
	char *text; /* what the last process printed */
	long failed;
};

/* Whether a row that needs a batch has none: reports that as its failure, once. */
static int lacks_batch(struct drive *d, struct plan *p)
{
	if (p->once || p->batch > 0)
		return 0;
	report(d->o, p->row, d->o->first_run, "has no batch: it was not calibrated");
	p->refused = 1;
	d->failed++;
	return 1;
}

/* CALIBRATE or COUNT, once for every row that needs it. */
static void once_each(struct drive *d, enum role role)
{
	static size_t order[MAX_REGIONS / 2];

	for (size_t i = 0; i < d->n; i++)
		order[i] = i;
	shuffle(order, d->n, d->o);
	for (size_t i = 0; i < d->n && !stopping(); i++) {
		struct plan *p = &d->plan[order[i]];

		if (p->once || p->refused || (role == CALIBRATE && p->batch > 0))
			continue;
		if (role == COUNT && lacks_batch(d, p))
			continue;
		if (one_process(d->o, role, p, &d->folders, d->text)) {
			/* A counting run may be killed because the counters slow it: the row is timed all the same. */
			p->refused = role == CALIBRATE || d->text[0] == '{';
			d->failed++;
		} else if (role == CALIBRATE && p->told) {
			p->batch = p->outcome.batch;
			p->baseline_batch = p->outcome.baseline_batch;
		}
	}
}

static void time_once(struct drive *d, size_t i)
{
	struct plan *p = &d->plan[i];
	uint64_t start = clock_wall();

	if (!p->refused && !lacks_batch(d, p)) {
		if (one_process(d->o, TIME, p, &d->folders, d->text))
			d->failed++;
		else if (p->told)
			pace_add(&d->pace[i], p->outcome.middle, (double)(clock_wall() - start) / 1e9);
	}
	d->pace[i].over = p->refused;
}

/* The requested runs, of all rows in turn; then further rounds within the budget. */
static void time_all(struct drive *d, uint64_t start)
{
	static size_t order[MAX_REGIONS / 2];
	double begun = (double)(clock_wall() - start) / 1e9, left;

	for (long run = 0; run < d->o->runs && !stopping(); run++) {
		for (size_t i = 0; i < d->n; i++)
			order[i] = i;
		shuffle(order, d->n, d->o);
		for (size_t i = 0; i < d->n && !stopping(); i++)
			time_once(d, order[i]);
	}
	while ((left = d->o->budget - (double)(clock_wall() - start) / 1e9) > 0 && !stopping()) {
		double share = (d->o->budget - begun) / (double)d->n;
		size_t n = next_round(d->pace, d->n, d->o->half_width, share, left, order);

		if (n == 0)
			break;
		shuffle(order, n, d->o);
		for (size_t i = 0; i < n && !stopping() && (double)(clock_wall() - start) / 1e9 < d->o->budget; i++)
			time_once(d, order[i]);
	}
}

int drive(const struct options *o)
{
	static struct drive d;
	uint64_t start = clock_wall();
	char why[2 * KM_PATH];

	d.o = o;
	d.text = malloc(MOST_OUTPUT + 1);
	if (!d.text) {
		fprintf(stderr, "probe: malloc: ENOMEM in the driver\n");
		return 2;
	}
	if (!disk_folder(&d.folders, o, NULL, why, sizeof why)) {
		fprintf(stderr, "probe: %s; name another with --dir or TMPDIR\n", why);
		return 2;
	}
	catch_signals();
	if (!o->continues)
		emit_header(stdout, o);
	d.n = choose(o, d.plan);
	for (size_t i = 0; i < d.n && !o->continues; i++)
		if (i == 0 || d.plan[i].row->workload != d.plan[i - 1].row->workload)
			emit_workload(stdout, d.plan[i].row->workload, o);
	if (o->phases & CALIBRATE)
		once_each(&d, CALIBRATE);
	if (o->phases & COUNT)
		once_each(&d, COUNT);
	if (o->phases & TIME)
		time_all(&d, start);
	for (size_t i = 0; i < FOLDERS; i++)
		if (d.folders.path[i][0])
			remove_folder(d.folders.path[i]);
	free(d.text);
	return stopped_by ? 128 + stopped_by : d.failed > 0;
}
