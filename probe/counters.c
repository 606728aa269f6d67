/* counters.c: the processor's own counters (instructions and cycles, user and kernel) in timed samples, through
 * perf_event_open where the kernel and its settings allow it. They follow this process and the children it makes. */
#include "engine.h"

const char *const counter_names[N_COUNTERS] = { "instructions_user", "instructions_kernel", "cycles_user",
						"cycles_kernel" };

#if HAVE_PERF_EVENT
#include <linux/perf_event.h>
#include <sys/ioctl.h>

static int fds[N_COUNTERS] = { -1, -1, -1, -1 };

static int open_one(int i)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof a);
	a.size = sizeof a;
	a.type = PERF_TYPE_HARDWARE;
	a.config = i < 2 ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES;
	a.exclude_kernel = i % 2 == 0;
	a.exclude_user = i % 2 == 1;
	a.exclude_hv = 1;
	a.disabled = 1;
	a.inherit = 1;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

const char *counters_open(void)
{
	static char why[128];

	for (int i = 0; i < N_COUNTERS; i++) {
		fds[i] = open_one(i);
		if (fds[i] < 0) {
			snprintf(why, sizeof why, "perf_event_open (%s): %s (%s)", counter_names[i], errno_name(errno),
				 strerror(errno));
			while (i-- > 0) {
				close(fds[i]);
				fds[i] = -1;
			}
			return why;
		}
	}
	return NULL;
}

static void all(unsigned long request)
{
	for (int i = 0; i < N_COUNTERS; i++)
		if (fds[i] >= 0)
			ioctl(fds[i], request, 0);
}

void counters_reset(void)
{
	all(PERF_EVENT_IOC_RESET);
}

void counters_on(void)
{
	all(PERF_EVENT_IOC_ENABLE);
}

void counters_off(void)
{
	all(PERF_EVENT_IOC_DISABLE);
}

int counters_read(double values[N_COUNTERS])
{
	for (int i = 0; i < N_COUNTERS; i++) {
		uint64_t r[3]; /* value, time enabled, time running: less means it shared the counter */

		if (fds[i] < 0 || read(fds[i], r, sizeof r) != (ssize_t)sizeof r || r[2] < r[1] || r[2] == 0)
			return 0;
		values[i] = (double)r[0];
	}
	return 1;
}
#else
const char *counters_open(void)
{
	return "this probe was built without perf_event_open (no such call here, or no kernel headers)";
}

void counters_reset(void)
{
}

void counters_on(void)
{
}

void counters_off(void)
{
}

int counters_read(double values[N_COUNTERS])
{
	(void)values;
	return 0;
}
#endif
