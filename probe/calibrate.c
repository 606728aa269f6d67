/* calibrate.c: finds how many iterations of a row make one sample. By time, once a session, in a process of its own:
 * every run of the row uses the batch found here. */
#include "engine.h"

#define RESOLUTIONS 1000 /* a sample takes at least that many clock steps: a step is then 0.1 % */
#define LEAST_STEPS 10   /* the least where so many would take too long: a sample is then clearly more than a step */
#define CLOCK_COSTS 100  /* and at least that many clock reads: the subtracted cost is then below 2 % */
#define CHECKS 2         /* further measurements of a batch that seems long enough */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* The least time of one sample, ns. Where the clock is so coarse that one sample would take all the time, a sample
 * takes an eighth of it, or a few clock steps: one step is then a visible part of a sample. */
static double least_sample(const struct engine *e)
{
	double budget = e->o->seconds * 1e9, steps = RESOLUTIONS * e->clock->resolution_ns;
	double wanted = larger(larger(steps, CLOCK_COSTS * e->clock->cost_ns), budget / (double)e->o->samples / 2);

	return steps > budget / 8 ? larger(budget / 8, LEAST_STEPS * e->clock->resolution_ns) : wanted;
}

/* The least of several measurements of n iterations: an interrupted measurement, or one with cold caches, takes too
 * long, and its batch would be too short. Stops at the first one below `least`. */
static double least_of(struct engine *e, void *state, uint64_t n, double least, uint64_t limit, int baseline)
{
	double t = (double)measure_once(e, NULL, state, n, baseline);

	for (int i = 0; i < CHECKS && t >= least && (i == 0 || clock_wall() < limit); i++) {
		double again = (double)measure_once(e, NULL, state, n, baseline);

		t = again < t ? again : t;
	}
	return t;
}

static uint64_t calibrate(struct engine *e, void *state, double least, int baseline)
{
	uint64_t most = baseline ? 0 : e->row->workload->max_batch, n = 1;
	uint64_t limit =
		clock_wall() + (uint64_t)larger(e->o->seconds * 1e9, 4 * least); /* the latter: a coarse clock */

	for (;;) {
		double t = least_of(e, state, n, least, limit, baseline), times;

		if (t >= least || (most && n >= most) || clock_wall() > limit)
			return n;
		times = 1.1 * least / (t > 0 ? t : 1);
		n = (uint64_t)((double)n * (times > 10 ? 10 : larger(2, times)));
		if (most && n > most)
			n = most;
	}
}

void calibrate_row(struct engine *e, void *state, struct measured *r)
{
	double least;

	clock_measure(e->clock, 0);
	least = least_sample(e);
	r->op.batch = calibrate(e, state, least, 0);
	if (e->row->workload->baseline)
		r->baseline.batch = calibrate(e, state, least, 1);
}
