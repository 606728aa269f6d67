/* sample.c: samples. By time: calibrate the batch until one sample is far above the clock's resolution, measure clock
 * and empty loop the same way next to it, then take samples until the median is known well enough, with a hard limit.
 * Everything is shipped raw; the one statistic here is the stopping rule's. */
#include "engine.h"

#define RESOLUTIONS 1000 /* a sample is that many clock steps at least: a step is then 0.1 % */
#define LEAST_STEPS 10   /* where so many would take too long: a step is then visible, but is no figure by itself */
#define CLOCK_COSTS 100  /* and that many clock reads: what is subtracted is then below 2 % */
#define LEAST_SAMPLES 5  /* whatever they take, up to the hard limit */
#define WIDTH_FROM 30    /* samples before the stopping rule looks */
#define HARD_LIMIT 4     /* times the time asked for: another run tells more than another long sample of this one */
#define LOOP_SAMPLES 11
#define LOOP_LEAST 16384 /* iterations of the empty loop in a sample: enough to see it */

static void empty_loop(void *state, uint64_t n)
{
	(void)state;
	while (n--)
		KM_KEEP(n);
}

static KM_NOINLINE uint64_t timed(struct engine *e, void (*f)(void *, uint64_t), void *state, uint64_t n)
{
	uint64_t (*now)(void) = e->clock->read;
	uint64_t t0 = now(), t1;

	f(state, n);
	if (KM_HANDICAP > 0 && f != empty_loop)
		empty_loop(NULL, n * KM_HANDICAP);
	t1 = now();
	return t1 - t0;
}

/* By path: one region. The empty bracket (region 0) goes the same way, so that its count is subtracted exactly. */
static KM_NOINLINE uint64_t counted(unsigned region, void (*f)(void *, uint64_t), void *state, uint64_t n)
{
	uint64_t t0, t1;

	mark_begin(region);
	t0 = clock_cycles();
	f(state, n);
	t1 = clock_cycles();
	mark_end(region);
	return t1 - t0;
}

static uint64_t elapsed(struct engine *e, void *state, uint64_t n, int baseline)
{
	const struct workload *w = e->row->workload;
	uint64_t ticks;

	if (w->self_timed && !baseline)
		ticks = w->self_timed(state, n);
	else if (e->o->by == BY_PATH)
		ticks = counted(e->row->id + (baseline ? 1u : 0u), baseline ? w->baseline : w->run, state, n);
	else
		ticks = timed(e, baseline ? w->baseline : w->run, state, n);
	if (e->o->by == BY_PATH || w->unit == UNIT_COUNT || e->clock->ns_per_tick == 1)
		return ticks;
	return (uint64_t)((double)ticks * e->clock->ns_per_tick + 0.5);
}

uint64_t measure_once(struct engine *e, struct meter *m, void *state, uint64_t n, int baseline)
{
	const struct workload *w = e->row->workload;
	uint64_t t;

	if (w->prepare && !baseline)
		w->prepare(state, n);
	if (m) {
		meter_sample_begin(m);
		counters_on();
	}
	t = elapsed(e, state, n, baseline);
	if (m) {
		counters_off();
		meter_sample_end(m);
	}
	if (w->settle && !baseline)
		w->settle(state, n);
	if (!baseline)
		e->done += n;
	return t;
}

void series_add(struct engine *e, struct series *s, uint64_t value)
{
	if (!s->value)
		s->value = km_alloc(&e->km, MAX_SAMPLES * sizeof *s->value);
	if (s->n < MAX_SAMPLES)
		s->value[s->n++] = value;
}

void note_disturbance(struct measured *r, const struct meter *m)
{
	long switches = meter_last_involuntary(m);

	if (switches > 0 && r->ninvoluntary < MAX_SAMPLES) {
		r->involuntary[r->ninvoluntary].sample = r->op.n;
		r->involuntary[r->ninvoluntary++].switches = switches;
	}
	if (meter_last_migrated(m) && r->nmigrated < MAX_SAMPLES)
		r->migrated[r->nmigrated++] = r->op.n;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The least integer whose square is n or more. (The probe does without libm: a bare `cc probe.c` links.) */
static size_t square_root(size_t n)
{
	size_t r = 0;

	while (r * r < n)
		r++;
	return r;
}

/* The median's 95 % interval by order statistics (binomial, normal approximation: n/2 -+ 1.96 sqrt(n)/2, rounded
 * outwards), as a relative half-width. */
static double half_width(const struct series *s)
{
	static uint64_t sorted[MAX_SAMPLES];
	size_t low = s->n / 2 - square_root(s->n), high = s->n - 1 - low;
	uint64_t width, middle;

	memcpy(sorted, s->value, s->n * sizeof *sorted);
	qsort(sorted, s->n, sizeof *sorted, ascending);
	width = sorted[high] - sorted[low];
	middle = sorted[s->n / 2];
	return middle == 0 ? 1 : (double)width / 2 / (double)middle;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* The least ns that one sample is to take. A clock so coarse that this would eat the whole time gets an eighth of it,
 * or a few of its steps, and a warning: one step is then a visible part of a sample. */
static double least_sample(struct engine *e)
{
	double budget = e->o->seconds * 1e9, wanted = RESOLUTIONS * e->clock->resolution_ns;

	wanted = larger(wanted, CLOCK_COSTS * e->clock->cost_ns);
	wanted = larger(wanted, budget / (double)e->o->samples / 2);
	if (wanted > budget / 8 && e->clock->resolution_ns * RESOLUTIONS > budget / 8) {
		wanted = larger(budget / 8, LEAST_STEPS * e->clock->resolution_ns);
		km_warn(&e->km, "coarse-clock", "one step of the clock (%.4g ns) is %.2g %% of the shortest sample",
			e->clock->resolution_ns, 100 * e->clock->resolution_ns / wanted);
	}
	return wanted;
}

static uint64_t calibrate(struct engine *e, void *state, double least, int baseline)
{
	uint64_t most = e->row->workload->max_batch, n = 1, start = clock_wall();
	double limit = larger(e->o->seconds * 1e9, 4 * least); /* the latter: of a coarse clock */

	if (e->o->batch > 0)
		return most && (uint64_t)e->o->batch > most && !baseline ? most : (uint64_t)e->o->batch;
	for (;;) {
		double t = (double)measure_once(e, NULL, state, n, baseline), times;

		if (n == 1 && t >= least) { /* it may have been interrupted: a batch of one is for long iterations */
			double again = (double)measure_once(e, NULL, state, n, baseline);

			t = again < t ? again : t;
		}
		times = 1.1 * least / (t > 0 ? t : 1);
		if (t >= least || (most && n >= most && !baseline) || (double)(clock_wall() - start) > limit)
			return n;
		n = (uint64_t)((double)n * (times > 10 ? 10 : larger(2, times)));
		if (most && n > most && !baseline)
			n = most;
	}
}

void measure_clock_cost(struct engine *e, struct measured *r)
{
	double scale = e->clock->ns_per_tick;

	r->nclock_cost = sizeof r->clock_cost / sizeof r->clock_cost[0];
	for (size_t i = 0; i < r->nclock_cost; i++) {
		uint64_t t0 = e->clock->read();

		r->clock_cost[i] = (uint64_t)((double)(e->clock->read() - t0) * scale + 0.5);
	}
}

static void measure_loop(struct engine *e, struct measured *r)
{
	double scale = e->clock->ns_per_tick;

	r->loop.batch = r->op.batch > LOOP_LEAST ? r->op.batch : LOOP_LEAST;
	for (int i = 0; i < LOOP_SAMPLES; i++)
		series_add(e, &r->loop, (uint64_t)((double)timed(e, empty_loop, NULL, r->loop.batch) * scale + 0.5));
}

static uint64_t sample_once(struct engine *e, struct meter *m, void *state, struct measured *r)
{
	uint64_t t = measure_once(e, m, state, r->op.batch, 0);

	note_disturbance(r, m);
	series_add(e, &r->op, t);
	r->iterations += r->op.batch;
	return t;
}

/* Why sampling ends; NULL: it goes on. */
static const char *enough(const struct engine *e, const struct measured *r, uint64_t spent)
{
	double seconds = (double)spent / 1e9;

	if (r->op.n >= (size_t)e->o->samples)
		return "samples";
	if (seconds > e->o->seconds && (r->op.n >= LEAST_SAMPLES || seconds > HARD_LIMIT * e->o->seconds))
		return "time";
	if (r->op.n >= WIDTH_FROM && r->op.n % 10 == 0 && seconds > e->o->seconds / 4 &&
	    half_width(&r->op) < e->o->half_width)
		return "half-width";
	return NULL;
}

/* Iterations so long that five of them need more than the time asked for are samples as they are: were they made for
 * calibration alone, the run of such a row would take up to twice as long. A short one that was interrupted looks the
 * same: the first that is short ends this, NULL, with nothing kept, and one that was interrupted never stands alone. */
static const char *sample_long(struct engine *e, struct meter *m, void *state, struct measured *r)
{
	uint64_t start = clock_wall();
	const char *why;

	r->op.batch = 1;
	do {
		double t = (double)sample_once(e, m, state, r);

		if (t * LEAST_SAMPLES <= e->o->seconds * 1e9) {
			r->op.n = r->ninvoluntary = r->nmigrated = 0;
			r->iterations = 0;
			counters_reset();
			return NULL;
		}
		why = enough(e, r, clock_wall() - start);
	} while (!why || (r->op.n == 1 && r->ninvoluntary > 0));
	return why;
}

static const char *sample_batches(struct engine *e, struct meter *m, void *state, struct measured *r)
{
	uint64_t start = clock_wall();
	const char *why;

	do {
		sample_once(e, m, state, r);
		why = enough(e, r, clock_wall() - start);
	} while (!why);
	return why;
}

/* Counts: the clock decides only when there are enough of them, so that none of its cost is measured. */
static void count_row(struct engine *e, struct meter *m, void *state, struct measured *r)
{
	uint64_t limit = clock_wall() + (uint64_t)(e->o->seconds * 1e9);
	size_t most = e->o->by == BY_PATH ? e->row->point->path_n : (size_t)e->o->samples;

	r->op.batch = 1;
	r->stopped = e->o->by == BY_PATH ? "plan" : "samples";
	meter_run_begin(m);
	while (r->op.n < most) {
		uint64_t count = measure_once(e, m, state, 1, 0);

		note_disturbance(r, m);
		series_add(e, &r->op, count);
		if (e->o->by == BY_TIME && clock_wall() > limit) {
			r->stopped = "time";
			break;
		}
	}
	meter_run_end(m);
	r->iterations = r->op.n;
}

void sample_row(struct engine *e, struct meter *m, void *state, struct measured *r)
{
	double least;
	uint64_t limit;

	if (e->row->workload->unit == UNIT_COUNT) {
		count_row(e, m, state, r);
		return;
	}
	clock_measure(e->clock, 0);
	least = least_sample(e);
	meter_run_begin(m);
	r->stopped = e->o->batch > 0 ? NULL : sample_long(e, m, state, r);
	if (!r->stopped) {
		r->op.batch = calibrate(e, state, least, 0);
		meter_run_begin(m);
		r->stopped = sample_batches(e, m, state, r);
	}
	meter_run_end(m);
	measure_clock_cost(e, r);
	measure_loop(e, r);
	if (!e->row->workload->baseline)
		return;
	r->baseline.batch = calibrate(e, state, least, 1);
	limit = clock_wall() + (uint64_t)(e->o->seconds * 1e9 / 4);
	do
		series_add(e, &r->baseline, measure_once(e, NULL, state, r->baseline.batch, 1));
	while (r->baseline.n < LEAST_SAMPLES || (r->baseline.n < r->op.n / 2 && clock_wall() < limit));
}

void measure_bracket(struct engine *e, struct measured *r)
{
	r->loop.batch = 1;
	for (int i = 0; i < 2 * LOOP_SAMPLES; i++)
		series_add(e, &r->loop, counted(0, empty_loop, NULL, 1));
}

/* By path: the fixed plan, the same on every kernel: no calibration, no stopping rule; each iteration a region. */
void path_row(struct engine *e, struct meter *m, void *state, struct measured *r)
{
	unsigned n = e->row->point->path_n;

	if (e->row->workload->unit == UNIT_COUNT) {
		count_row(e, m, state, r);
		return;
	}
	r->op.batch = 1;
	measure_bracket(e, r);
	meter_run_begin(m);
	for (unsigned i = 0; i < n; i++) {
		uint64_t t = measure_once(e, m, state, 1, 0);

		note_disturbance(r, m);
		series_add(e, &r->op, t);
	}
	meter_run_end(m);
	r->iterations = n;
	r->stopped = "plan";
	if (!e->row->workload->baseline)
		return;
	r->baseline.batch = 1;
	for (unsigned i = 0; i < n; i++)
		series_add(e, &r->baseline, measure_once(e, NULL, state, 1, 1));
}
