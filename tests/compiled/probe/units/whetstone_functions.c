/* Are cpu/whetstone's own standard functions those of libm, to the precision that its modules need?
 *
 * usage: whetstone_functions ARGUMENTS SEED. Prints each function's largest error; exit status 0, 1 or 2 (usage). */
#include "stub.h"
#include "../../../../probe/workloads/cpu_whetstone.c"

#include <math.h>

#define LARGEST_ERROR 1e-15 /* relative to the value or, for sine and cosine, to 1: four units in the last place */

static const struct {
	const char *name;
	double (*ours)(double), (*theirs)(double);
	double low, high;
	int relative;
} functions[] = {
	{ "sqrt", whet_sqrt, sqrt, 1e-6, 1e6, 1 }, { "exp", whet_exp, exp, -20, 20, 1 },
	{ "log", whet_log, log, 0.01, 0.9, 1 },    { "log", whet_log, log, 1.1, 100, 1 },
	{ "atan", whet_atan, atan, -10, 10, 1 },   { "sin", whet_sin, sin, -10, 10, 0 },
	{ "cos", whet_cos, cos, -10, 10, 0 },
};

int main(int argc, char **argv)
{
	uint64_t random;
	int wrong = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: whetstone_functions ARGUMENTS SEED\n");
		return 2;
	}
	random = strtoull(argv[2], NULL, 10);
	for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
		double worst = 0, at = 0;

		for (unsigned long n = strtoul(argv[1], NULL, 10); n > 0; n--) {
			double unit = (double)(stub_random(&random) >> 11) / 9007199254740992.0;
			double x = functions[f].low + unit * (functions[f].high - functions[f].low);
			double right = functions[f].theirs(x), error = fabs(functions[f].ours(x) - right);

			if (functions[f].relative && right != 0)
				error /= fabs(right);
			if (!(error <= worst)) {
				worst = error;
				at = x;
			}
		}
		printf("%s: %.3g at %.17g\n", functions[f].name, worst, at);
		wrong |= !(worst < LARGEST_ERROR);
	}
	free(cpu_whetstone.setup(&stub_km));
	return wrong;
}
