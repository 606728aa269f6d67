/* schedule.c: chooses the rows that are timed again. Runs differ by more than the samples within them, so further runs
 * narrow an interval: short ones, of all rows in turn, until each row's interval between runs is narrow enough, or its
 * share of the time is used up; the remaining time goes to the rows that need it most. */
#include "engine.h"

#define NARROW_FROM 8 /* runs: an interval of fewer runs is too often narrow by chance */
#define MOST_RUNS 1000
#define MEDIAN_OF_MEAN 1.2533 /* standard error of a median over that of a mean: the figure is the runs' median */

void pace_add(struct pace *p, double figure, double seconds)
{
	double away = figure - p->mean;

	p->runs++;
	p->mean += away / (double)p->runs;
	p->squares += away * (figure - p->mean);
	p->seconds += seconds;
}

/* Student's t at 97.5 %, to 0.5 % from five degrees of freedom on; exact enough to decide when to stop. */
static double t_quantile(double df)
{
	return 1.96 + 2.4 / df + 3.5 / (df * df);
}

/* Newton's method. (The probe needs no libm: a bare `cc probe.c` links.) */
static double square_root(double x)
{
	double r = x > 1 ? x : 1;

	for (int i = 0; i < 60 && x > 0; i++)
		r = (r + x / r) / 2;
	return x > 0 ? r : 0;
}

double pace_half_width(const struct pace *p)
{
	double df = (double)p->runs - 1;

	if (p->runs < 2 || p->mean <= 0)
		return 1;
	return MEDIAN_OF_MEAN * t_quantile(df) * square_root(p->squares / df / (double)p->runs) / p->mean;
}

static int goes_on(const struct pace *p, double half_width, double left)
{
	if (p->over || p->runs >= MOST_RUNS || p->seconds > left * (double)p->runs)
		return 0;
	return p->runs < NARROW_FROM || pace_half_width(p) >= half_width;
}

/* The rows that need it most: the half with the widest intervals. */
static size_t widest(const struct pace *p, size_t n, size_t *chosen)
{
	static double width[MAX_REGIONS / 2];
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		width[i] = pace_half_width(&p[chosen[i]]);
	for (size_t i = 0; i < n; i++) {
		size_t wider = 0;

		for (size_t k = 0; k < n; k++)
			wider += width[k] > width[i];
		if (wider < (n + 1) / 2)
			chosen[kept++] = chosen[i];
	}
	return kept;
}

size_t next_round(const struct pace *p, size_t n, double half_width, double share, double left, size_t *chosen)
{
	size_t in_need = 0, within = 0;

	for (size_t i = 0; i < n; i++)
		if (goes_on(&p[i], half_width, left))
			chosen[in_need++] = i;
	for (size_t i = 0; i < in_need; i++)
		within += p[chosen[i]].seconds < share;
	if (within == 0)
		return widest(p, in_need, chosen);
	for (size_t i = within = 0; i < in_need; i++)
		if (p[chosen[i]].seconds < share)
			chosen[within++] = chosen[i];
	return within;
}
