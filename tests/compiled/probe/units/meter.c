/* The meter against a /proc of our own: 10 ticks on a machine of three CPUs, of which 0 is the measuring process's.
 * CPU 0 is busy all the time, CPU 1 half of it, CPU 2 never; the hypervisor took 1 tick of CPU 0 and 2 of CPU 1. The
 * arguments: the CPUs of this process and of its peer. */
#define _GNU_SOURCE
#define KM_PROC "proc"
#include "../../../../probe/meter.c"

uint64_t clock_wall(void)
{
	static uint64_t now;

	return now += 100000000;
}

int platform_current_cpu(void)
{
	return 0;
}

static void put(const char *stat, const char *schedstat)
{
	FILE *f = fopen("proc/stat", "w");

	if (!f || fputs(stat, f) < 0 || fclose(f) != 0)
		exit(2);
	f = fopen("proc/self/schedstat", "w");
	if (!f || fputs(schedstat, f) < 0 || fclose(f) != 0)
		exit(2);
}

int main(int argc, char **argv)
{
	struct meter *m = meter_new(atoi(argv[argc > 1 ? 1 : 0]), argc > 2 ? atoi(argv[2]) : -1, 0);
	const struct disturbance *d;

	put("cpu  300 0 0 900 0 0 0 20 0 0\ncpu0 100 0 0 300 0 0 0 5 0 0\ncpu1 100 0 0 300 0 0 0 10 0 0\n"
	    "cpu2 100 0 0 300 0 0 0 5 0 0\nintr 1\n",
	    "1000 500 7\n");
	meter_run_begin(m);
	put("cpu  314 0 1 913 0 0 0 23 0 0\ncpu0 110 0 0 300 0 0 0 6 0 0\ncpu1 103 0 1 304 0 0 0 12 0 0\n"
	    "cpu2 100 0 0 310 0 0 0 5 0 0\nintr 1\n",
	    "2000 900 9\n");
	meter_run_end(m);
	d = meter_disturbance(m);
	printf("others %.4f steal %.1f delay %.0f ", d->others_busy, d->steal_ns / d->tick_ns, d->run_delay_ns);
	printf("wall %.0f\n", d->wall_ns);
	return 0;
}
