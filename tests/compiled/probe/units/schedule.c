/* The schedule against runs of known spread. Prints, for runs whose figures spread by 1.5 % and are timed until ±1 %:
 * the share of intervals around the median that hold the truth, and the mean number of runs; then which of four rows
 * take part in a round. */
#include "../../../../probe/schedule.c"

#define TRIES 20000

static double uniform(void)
{
	static uint64_t x = 88172645463325252u; /* xorshift64, Marsaglia 2003 */

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (double)(x >> 11) / 9007199254740992.0;
}

static double normal(void) /* the sum of twelve, less its mean: near enough to two decimals of a share */
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct pace row(unsigned long runs, double spread, double seconds)
{
	struct pace p = { 0, 0, 0, 0, 0 };

	for (unsigned long i = 0; i < runs; i++)
		pace_add(&p, i % 2 ? 1 + spread : 1 - spread, seconds / (double)runs);
	return p;
}

static void show(const struct pace *rows, double share, double left)
{
	size_t chosen[4], n = next_round(rows, 4, 0.01, share, left, chosen);

	printf("%.0f s a row, %.0f s left:", share, left);
	for (size_t i = 0; i < n; i++)
		printf(" %lu", (unsigned long)chosen[i]);
	printf("\n");
}

int main(void)
{
	static struct pace rows[4];
	unsigned long held = 0, runs = 0;

	for (int i = 0; i < TRIES; i++) {
		struct pace p = { 0, 0, 0, 0, 0 };
		double figure[MOST_RUNS], middle;
		size_t chosen;

		do {
			figure[p.runs] = 100 + 1.5 * normal();
			pace_add(&p, figure[p.runs], 0);
		} while (next_round(&p, 1, 0.01, 1, 1, &chosen) == 1);
		qsort(figure, p.runs, sizeof *figure, ascending);
		middle = (figure[(p.runs - 1) / 2] + figure[p.runs / 2]) / 2;
		held += middle * (1 - pace_half_width(&p)) <= 100 && 100 <= middle * (1 + pace_half_width(&p));
		runs += p.runs;
	}
	printf("held %.3f after %.1f runs\n", (double)held / TRIES, (double)runs / TRIES);
	rows[0] = row(20, 0.001, 1); /* narrow */
	rows[1] = row(20, 0.10, 1);  /* wide */
	rows[2] = row(20, 0.30, 4);  /* wider, and has had more than its share; a run takes 0.2 s */
	rows[3] = row(4, 0.001, 1);  /* too few to be called narrow */
	show(rows, 2, 9);
	show(rows, 1, 9);
	show(rows, 2, 0.1);
	rows[1].over = 1;
	show(rows, 1, 9);
	return 0;
}
