/* fixed_time.c: as many iterations as fit in a fixed time: an alarm ends the loop, and the iterations are counted.
 * This is UnixBench's way of timing, and M's first. */
#include "km.h"

#define FIXED_TIME_US 50000

static volatile sig_atomic_t fixed_time_over;

static void fixed_time_alarm(int number)
{
	(void)number;
	fixed_time_over = 1;
}

void km_fixed_time_setup(struct km *km, double stated)
{
	static const struct claim none = { NO_CLAIM, NO_CLAIM, NO_CLAIM, NO_CLAIM, NO_CLAIM, NO_CLAIM, 0 };

	km->claim = none;
	km->ops = stated;
	km_handle(km, SIGALRM, fixed_time_alarm, SA_RESTART);
}

uint64_t km_fixed_time(struct km *km, void (*run)(void *, uint64_t), void *state, const uint64_t *done, uint64_t n)
{
	struct itimerval period;
	uint64_t before = *done, begin, end;

	memset(&period, 0, sizeof period);
	period.it_value.tv_usec = FIXED_TIME_US;
	fixed_time_over = 0;
	if (setitimer(ITIMER_REAL, &period, NULL) != 0)
		km_fail_call(km, "setitimer");
	begin = km_begin(km);
	do
		run(state, 1);
	while (!fixed_time_over);
	end = km_end(km);
	return (uint64_t)((double)(end - begin) * (double)n * km->ops / (double)(*done - before) + 0.5);
}
