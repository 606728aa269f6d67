/* run.c: what a process does for one row, from set-up to its record: calibrates, counts, or times it. */
#include "engine.h"

/* Where a filter refuses it, a row of one process runs unpinned, and its record says so. */
static void stay_unplaced(struct engine *e)
{
	enum place place = e->row->point->place;

	if (e->o->cpu >= 0)
		km_fail_call(&e->km, KM_PIN_CALL);
	if (place == SAME_CPU || place == OTHER_CPU)
		km_unsupported(&e->km, KM_PIN_CALL ": %s (%s): its processes cannot be placed on CPUs",
			       errno_name(errno), strerror(errno));
	e->cpu = -1;
	e->ncpus = 0;
}

static void place_self(struct engine *e)
{
	e->ncpus = platform_allowed_cpus(e->cpus);
	e->cpu = e->peer_cpu = -1;
	if (e->ncpus == 0)
		return;
	e->cpu = e->o->cpu >= 0 ? (int)e->o->cpu : e->cpus[e->ncpus - 1];
	if (platform_pin(e->cpu) != 0 && (e->ncpus > 1 || e->o->cpu >= 0)) {
		stay_unplaced(e);
		return;
	}
	if (e->row->point->place == SAME_CPU)
		e->peer_cpu = e->cpu;
	for (int i = 0; e->row->point->place == OTHER_CPU && i < e->ncpus; i++)
		if (e->cpus[i] == e->cpu)
			e->peer_cpu = e->cpus[(i + 1) % e->ncpus];
}

/* One seed gives a row the same numbers in every run, and another row other numbers: FNV-1a over its name. */
static uint64_t seed_of(const struct engine *e)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ e->o->seed;

	for (const char *c = e->row->name; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return h + (e->o->by == BY_PATH ? 0 : (uint64_t)e->run);
}

static void engine_init(struct engine *e, const struct options *o, const struct row *row, long run, const char *dir)
{
	static const struct claim none = { NO_CLAIM, NO_CLAIM, NO_CLAIM, NO_CLAIM, NO_CLAIM, NO_CLAIM, 0 };

	e->o = o;
	e->row = row;
	e->run = run;
	if (dir != e->dir) /* equal in a first call's process that is a fork, not a fresh program */
		snprintf(e->dir, sizeof e->dir, "%s", dir);
	e->random = seed_of(e);
	e->km.workload = row->workload;
	e->km.point = row->point;
	e->km.arg = row->point->arg;
	e->km.row = row->name;
	e->km.by = o->by;
	e->km.page = (size_t)sysconf(_SC_PAGESIZE);
	e->km.self = platform_self(NULL);
	e->km.ops = 1;
	e->km.claim = none;
	e->km.engine = e;
	e->clock = clock_find(o->clock);
	if (!e->clock)
		km_fail(&e->km, "this platform has no clock named %s", o->clock);
	emit_or_die();
	signal(SIGPIPE, SIG_IGN);
	if (pipe(e->report) != 0)
		km_fail_call(&e->km, "pipe");
	fcntl(e->report[0], F_SETFD, FD_CLOEXEC);
	fcntl(e->report[1], F_SETFD, FD_CLOEXEC);
	e->in_setup = 1;
	place_self(e);
	e->in_setup = 0;
}

unsigned km_region(struct km *km)
{
	return km->engine->row->id;
}

const char *km_clock_name(struct km *km)
{
	return km->engine->o->clock;
}

/* Brackets a region that times itself: the clock alone, or (by path: no clock) the marker and the counter. */
static uint64_t bracket_begin(const struct clock_source *c, unsigned region)
{
	if (c)
		return c->read();
	mark_begin(region);
	return clock_cycles();
}

static uint64_t bracket_end(const struct clock_source *c, unsigned region)
{
	uint64_t now = c ? c->read() : clock_cycles();

	if (!c)
		mark_end(region);
	return now;
}

uint64_t km_internal_begin(enum by by, const char *clock, unsigned region)
{
	return bracket_begin(by == BY_PATH ? NULL : clock_find(clock), region);
}

uint64_t km_internal_end(enum by by, const char *clock, unsigned region)
{
	return bracket_end(by == BY_PATH ? NULL : clock_find(clock), region);
}

uint64_t km_begin(struct km *km)
{
	struct engine *e = km->engine;

	return bracket_begin(e->o->by == BY_PATH ? NULL : e->clock, e->row->id);
}

uint64_t km_end(struct km *km)
{
	struct engine *e = km->engine;

	return bracket_end(e->o->by == BY_PATH ? NULL : e->clock, e->row->id);
}

uint64_t (*km_clock_read(struct km *km, const char *name))(void)
{
	size_t n;
	struct clock_source *clocks = clock_table(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(clocks[i].name, name) == 0) {
			if (clocks[i].unsupported)
				km_unsupported(km, "%s", clocks[i].unsupported);
			return clocks[i].read;
		}
	km_fail(km, "this platform has no clock named %s", name);
	return NULL;
}

struct named {
	const char *name;
	double value; /* negative: unknown */
};

static void emit_named(struct json *j, const char *key, const struct named *values, size_t n)
{
	json_open(j, key, '{');
	for (size_t i = 0; i < n; i++)
		if (values[i].value >= 0)
			json_number(j, values[i].name, values[i].value);
	json_close(j, '}');
}

static void emit_claim(struct json *j, const struct claim *c)
{
	const struct named claims[] = {
		{ "syscalls", c->syscalls },
		{ "reads", c->reads },
		{ "writes", c->writes },
		{ "faults", c->faults },
		{ "switches", c->switches },
		{ "children", c->children },
		{ "any_switches", c->any_switches > 0 ? c->any_switches : NO_CLAIM },
	};

	emit_named(j, "claimed", claims, sizeof claims / sizeof claims[0]);
}

static void emit_happened(struct json *j, struct meter *m)
{
	const struct happened *h = meter_happened(m);
	const struct named counts[] = {
		{ "faults", h->faults },
		{ "major_faults", h->major_faults },
		{ "switches", h->switches },
		{ "involuntary", h->involuntary },
		{ "reads", h->reads },
		{ "writes", h->writes },
		{ "any_switches", h->switches < 0 || h->involuntary < 0 ? -1 : h->switches + h->involuntary },
	};

	emit_named(j, "happened", counts, sizeof counts / sizeof counts[0]);
}

static void emit_disturbance(struct json *j, const struct meter *m)
{
	const struct disturbance *d = meter_disturbance(m);
	const struct named meters[] = {
		{ "wall_ns", d->wall_ns },   { "cpu_ns", d->cpu_ns },   { "run_delay_ns", d->run_delay_ns },
		{ "steal_ns", d->steal_ns }, { "tick_ns", d->tick_ns }, { "others_busy", d->others_busy },
	};

	emit_named(j, "meter", meters, sizeof meters / sizeof meters[0]);
}

static void emit_disturbed_samples(struct json *j, const struct measured *r)
{
	json_open(j, "involuntary", '[');
	for (size_t i = 0; i < r->ninvoluntary; i++) {
		json_open(j, NULL, '[');
		json_unsigned(j, NULL, r->involuntary[i].sample);
		json_integer(j, NULL, r->involuntary[i].switches);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_integers(j, "migrated", r->migrated, r->nmigrated);
}

static void emit_hardware(struct json *j, const struct measured *r)
{
	double values[N_COUNTERS];

	json_open(j, "hardware", '{');
	if (r->iterations > 0 && counters_read(values, r->op.n))
		for (int i = 0; i < N_COUNTERS; i++)
			json_number(j, counter_names[i], values[i] / (double)r->iterations);
	json_close(j, '}');
}

static void emit_begin(struct json *j, const struct engine *e, const char *type, const struct measured *r)
{
	json_begin(j, stdout, type);
	json_string(j, "row", e->row->name);
	json_string(j, "workload", e->row->workload->name);
	json_integer(j, "block", e->o->block);
	json_unsigned(j, "batch", r->op.batch);
}

static void emit_calibration(struct engine *e, const struct measured *r, double seconds)
{
	struct json j;

	emit_begin(&j, e, "calibration", r);
	json_unsigned(&j, "baseline_batch", r->baseline.batch);
	json_number(&j, "seconds", seconds);
	json_end(&j);
}

/* What happened, without a figure: the samples show how much longer they took with counters and meters. */
static void emit_count(struct engine *e, const struct measured *r, struct meter *m, double seconds)
{
	struct json j;

	emit_begin(&j, e, "count", r);
	json_integers(&j, "samples", r->op.value, r->op.n);
	json_unsigned(&j, "iterations", r->iterations);
	emit_happened(&j, m);
	emit_claim(&j, &e->km.claim);
	emit_hardware(&j, r);
	json_number(&j, "seconds", seconds);
	json_end(&j);
}

static void emit_run(struct engine *e, const struct measured *r, struct meter *m, double seconds)
{
	struct json j;

	emit_begin(&j, e, "run", r);
	json_unsigned(&j, "revision", KM_REVISION + e->row->workload->revision);
	json_integer(&j, "run", e->run);
	emit_params(&j, e->row);
	json_number(&j, "ops", e->km.ops);
	json_number(&j, "bytes", e->km.bytes);
	json_integers(&j, "samples", r->op.value, r->op.n);
	json_integers(&j, "clock_cost", r->clock_cost, r->nclock_cost);
	json_unsigned(&j, "loop_batch", r->loop.batch);
	json_unsigned(&j, "loop_every", r->loop_every);
	json_integers(&j, "loop_cost", r->loop.value, r->loop.n);
	if (r->baseline.n > 0) {
		json_open(&j, "baseline", '{');
		json_unsigned(&j, "batch", r->baseline.batch);
		json_integers(&j, "samples", r->baseline.value, r->baseline.n);
		json_close(&j, '}');
	}
	json_number(&j, "resolution_ns",
		    e->row->workload->unit == UNIT_COUNT ? 0
		    : e->o->by == BY_PATH                ? 1
							 : e->clock->resolution_ns);
	json_string(&j, "stopped", r->stopped);
	json_number(&j, "seconds", seconds);
	json_integer(&j, "cpu", e->cpu);
	json_integer(&j, "peer_cpu", e->peer_cpu);
	if (e->row->point->place == OTHER_CPU && e->peer_cpu >= 0)
		json_string(&j, "relation", platform_cpu_relation(e->cpu, e->peer_cpu));
	emit_disturbed_samples(&j, r);
	json_unsigned(&j, "iterations", r->iterations);
	emit_disturbance(&j, m);
	if (e->o->by == BY_PATH) { /* metering changes no count there: one run does everything */
		emit_happened(&j, m);
		emit_claim(&j, &e->km.claim);
	}
	json_open(&j, "warnings", '[');
	for (int i = 0; i < e->nwarnings; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "code", e->warnings[i].code);
		json_string(&j, "text", e->warnings[i].text);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_end(&j);
}

/* One sample of a cold row: a fresh process makes it and prints a number; a record instead is an error. */
static uint64_t cold_sample(struct engine *e)
{
	char text[2048];
	int out[2], status;
	size_t n = 0;
	ssize_t k;
	long pid;

	if (pipe(out) != 0)
		km_fail_call(&e->km, "pipe");
	pid = spawn(e->o, COLD, e->row, e->run, e->dir, out[1], run_row);
	if (pid < 0)
		km_fail_call(&e->km, "fork");
	close(out[1]);
	do {
		k = read(out[0], text + n, sizeof text - 1 - n);
		n += k > 0 ? (size_t)k : 0;
	} while (n < sizeof text - 1 && (k > 0 || (k < 0 && errno == EINTR)));
	text[n] = '\0';
	close(out[0]);
	status = km_wait(&e->km, pid);
	if (text[0] == '{') {
		fputs(text, stdout);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	if (status != 0 || text[0] < '0' || text[0] > '9' || text[n - 1] != '\n')
		km_fail(&e->km, "the fresh process of a first call ended with status 0x%x and no figure",
			(unsigned)status);
	return strtoull(text, NULL, 10);
}

#define COLD_SAMPLES 40
#define CLOCK_READS 64

static void cold_row(struct engine *e, struct meter *m, struct measured *r)
{
	uint64_t limit = clock_wall() + (uint64_t)(2e9 * e->o->seconds);
	size_t most = e->o->by == BY_PATH ? e->row->point->path_n : COLD_SAMPLES;
	int by_time = e->o->by == BY_TIME;

	clock_measure(e->clock, 0);
	if (by_time)
		loop_every(e, r, loop_first(e, r), UINT64_MAX); /* a process takes much longer than a reading */
	r->op.batch = 1;
	r->stopped = e->o->by == BY_PATH ? "plan" : "samples";
	meter_run_begin(m);
	while (r->op.n < most) {
		series_add(e, &r->op, cold_sample(e));
		loop_beside(e, r, &r->op, 0);
		if (by_time && r->op.n >= 5 && clock_wall() > limit) {
			r->stopped = "time";
			break;
		}
	}
	meter_run_end(m);
	r->iterations = r->op.n;
	if (by_time)
		measure_clock_cost(e, r);
	else
		measure_bracket(e, r);
}

static void *set_up(struct engine *e)
{
	void *state;

	e->in_setup = 1;
	state = e->row->workload->setup(&e->km);
	e->in_setup = 0;
	return state;
}

static void verify_and_end(struct engine *e, void *state)
{
	const struct workload *w = e->row->workload;

	if (w->counted.of) {
		uint64_t counted = *(const uint64_t *)(const void *)((const char *)state + w->counted.at);

		if (counted != e->done)
			km_fail(&e->km, "%" PRIu64 " %s in %" PRIu64 " iterations", counted, w->counted.of, e->done);
	}
	if (w->verify)
		w->verify(state, e->done);
	if (w->teardown)
		w->teardown(state);
}

static void cold_call(struct engine *e)
{
	void *state = set_up(e);
	char text[DECIMAL];
	uint64_t t;

	if (e->o->by == BY_TIME && e->clock->ns_per_tick == 0)
		clock_measure(e->clock, 0);
	touch_markers();
	for (int i = 0; i < CLOCK_READS; i++) /* warms the clock: only the call is cold */
		(void)e->clock->read();
	t = measure_once(e, NULL, state, 1, 0);
	verify_and_end(e, state);
	puts(decimal_text(text, t));
}

/* A row that marks its regions itself does so in a region that is not read: the next, which is a baseline's. */
static void tally_self_timed(struct engine *e)
{
	struct row unread = *e->row;
	void *state;

	unread.id++;
	e->row = &unread;
	e->done = 0;
	state = set_up(e);
	tally_row(e, state);
	verify_and_end(e, state);
}

static void hot_row(struct engine *e, enum role role, struct meter *m, struct measured *r)
{
	void *state = set_up(e);

	if (e->o->by == BY_PATH)
		path_row(e, m, state, r);
	else if (role == CALIBRATE)
		calibrate_row(e, state, r);
	else
		sample_row(e, m, state, r, role);
	if (e->o->by == BY_PATH && !e->row->workload->self_timed)
		tally_row(e, state);
	verify_and_end(e, state);
}

/* Writes the outcome behind the records. Sorts the samples, which have been printed. */
static void tell_outcome(struct measured *r)
{
	struct outcome outcome = { (long)r->op.batch, (long)r->baseline.batch, 0 };
	size_t half = r->op.n / 2;

	if (r->op.n > 0) {
		qsort(r->op.value, r->op.n, sizeof *r->op.value, km_ascending);
		outcome.middle = (double)r->op.value[half];
	}
	fputc('\0', stdout);
	fwrite(&outcome, sizeof outcome, 1, stdout);
}

int run_row(const struct options *o, enum role role, const struct row *row, long run, const char *dir)
{
	static struct engine e;
	static struct measured r;
	uint64_t start = clock_wall();
	struct meter *m;
	double seconds;

	engine_init(&e, o, row, run, dir);
	if (role == COLD) {
		cold_call(&e);
		return 0;
	}
	if (role == COUNT)
		counters_open();
	m = meter_new(e.cpu, e.peer_cpu, role == COUNT || o->by == BY_PATH);
	if (row->point->cold)
		cold_row(&e, m, &r);
	else
		hot_row(&e, role, m, &r);
	seconds = (double)(clock_wall() - start) / 1e9;
	if (role == CALIBRATE)
		emit_calibration(&e, &r, seconds);
	else if (role == COUNT)
		emit_count(&e, &r, m, seconds);
	else
		emit_run(&e, &r, m, seconds);
	if (o->by == BY_PATH && row->workload->self_timed)
		tally_self_timed(&e);
	tally_emit(&e);
	tell_outcome(&r);
	return 0;
}
