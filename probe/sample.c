/* sample.c: samples. By time: a batch calibrated before, in a process that does nothing else, with the empty loop
 * between samples and the clock's cost after them; by path: the fixed plan. All values are printed raw. */
#include "engine.h"

#define LEAST_SAMPLES 5 /* however long, up to the hard limit */
#define HARD_LIMIT 4    /* times the requested time: another run tells more than another long sample */
#define LOOP_SAMPLES 11
#define LOOP_BATCH 8192 /* iterations of the empty loop beside a sample: some microseconds */
#define LOOP_STEPS 100  /* clock steps, the loop's least time; a coarser clock would not tell its levels apart */
#define LOOP_SHARE 10   /* it takes at most one part in so many of the time */

/* register: unoptimised, gcc would count in memory, where the loop takes 0.5 or 3 ns, by what was stored before. */
static void empty_loop(void *state, register uint64_t n)
{
	(void)state;
	while (n > 0) {
		n--;
		KM_UNKNOWN(n);
	}
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

/* By path: one region. The empty bracket (region 0) runs the same code, so that its count is subtracted exactly. */
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

/* The ticks of a clock that went forwards, or km_fail. */
static uint64_t forwards(struct engine *e, uint64_t ticks)
{
	if (ticks > INT64_MAX)
		km_fail(&e->km, "the clock %s stepped back", e->clock->name);
	return ticks;
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
	if (e->o->by == BY_PATH || w->unit == UNIT_COUNT)
		return ticks;
	ticks = forwards(e, ticks);
	if (e->clock->ns_per_tick == 1)
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
		counters_on(); /* in a counting run; otherwise nothing */
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

void measure_clock_cost(struct engine *e, struct measured *r)
{
	double scale = e->clock->ns_per_tick;

	r->nclock_cost = sizeof r->clock_cost / sizeof r->clock_cost[0];
	for (size_t i = 0; i < r->nclock_cost; i++) {
		uint64_t t0 = e->clock->read();

		r->clock_cost[i] = (uint64_t)((double)forwards(e, e->clock->read() - t0) * scale + 0.5);
	}
}

static uint64_t loop_once(struct engine *e, struct measured *r)
{
	uint64_t ticks = forwards(e, timed(e, empty_loop, NULL, r->loop.batch));
	uint64_t ns = (uint64_t)((double)ticks * e->clock->ns_per_tick + 0.5);

	series_add(e, &r->loop, ns);
	return ns;
}

/* The clock is too coarse for the empty loop beside each sample: measures the cost of one iteration afterwards. */
static void loop_afterwards(struct engine *e, struct measured *r)
{
	r->loop.batch = r->op.batch > LOOP_BATCH ? r->op.batch : LOOP_BATCH;
	r->loop.n = 0;
	for (int i = 0; i < LOOP_SAMPLES; i++)
		loop_once(e, r);
}

/* Why sampling ends; NULL: it continues. */
static const char *enough(const struct engine *e, const struct measured *r, uint64_t spent)
{
	double seconds = (double)spent / 1e9;

	if (r->op.n >= (size_t)e->o->samples)
		return "samples";
	if (seconds > e->o->seconds && (r->op.n >= LEAST_SAMPLES || seconds > HARD_LIMIT * e->o->seconds))
		return "time";
	return NULL;
}

uint64_t loop_first(struct engine *e, struct measured *r)
{
	r->loop.batch = LOOP_BATCH;
	return KM_BESIDE ? loop_once(e, r) : 0;
}

void loop_every(const struct engine *e, struct measured *r, uint64_t loop, uint64_t sample)
{
	if ((double)loop >= LOOP_STEPS * e->clock->resolution_ns)
		r->loop_every = 1 + LOOP_SHARE * loop / (sample > 0 ? sample : 1);
}

void loop_beside(struct engine *e, struct measured *r, const struct series *samples, int last)
{
	if (r->loop_every && (last || samples->n % r->loop_every == 0))
		loop_once(e, r);
}

/* COUNT runs no empty loop. */
static const char *sample_batches(struct engine *e, struct meter *m, void *state, struct measured *r, enum role role)
{
	uint64_t start = clock_wall(), loop = role != COUNT ? loop_first(e, r) : 0;
	const char *why;

	do {
		uint64_t t = measure_once(e, m, state, r->op.batch, 0);

		note_disturbance(r, m);
		series_add(e, &r->op, t);
		r->iterations += r->op.batch;
		if (r->op.n == 1)
			loop_every(e, r, loop, t);
		why = enough(e, r, clock_wall() - start);
		loop_beside(e, r, &r->op, why != NULL);
	} while (!why);
	return why;
}

/* Rows that count: the clock decides only when to stop, so that none of its cost is measured. */
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

void sample_row(struct engine *e, struct meter *m, void *state, struct measured *r, enum role role)
{
	uint64_t limit;
	int more;

	if (e->row->workload->unit == UNIT_COUNT) {
		count_row(e, m, state, r);
		return;
	}
	clock_measure(e->clock, 0);
	r->op.batch = (uint64_t)e->o->batch;
	if (e->row->workload->max_batch && r->op.batch > e->row->workload->max_batch)
		r->op.batch = e->row->workload->max_batch;
	meter_run_begin(m);
	r->stopped = sample_batches(e, m, state, r, role);
	meter_run_end(m);
	if (role == COUNT)
		return;
	measure_clock_cost(e, r);
	if (!r->loop_every)
		loop_afterwards(e, r);
	if (!e->row->workload->baseline)
		return;
	r->baseline.batch = (uint64_t)e->o->baseline_batch;
	limit = clock_wall() + (uint64_t)(e->o->seconds * 1e9 / 4);
	do {
		series_add(e, &r->baseline, measure_once(e, NULL, state, r->baseline.batch, 1));
		more = r->baseline.n < LEAST_SAMPLES || (r->baseline.n < r->op.n / 2 && clock_wall() < limit);
		loop_beside(e, r, &r->baseline, !more);
	} while (more);
}

void measure_bracket(struct engine *e, struct measured *r)
{
	r->loop.batch = 1;
	touch_markers();
	if (KM_TOUCH_CODE)
		empty_loop(NULL, 1);
	for (int i = 0; i < 2 * LOOP_SAMPLES; i++)
		series_add(e, &r->loop, counted(0, empty_loop, NULL, 1));
}

/* By path: the fixed plan, the same on every kernel, without calibration or stopping rule; each iteration a region. */
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
