/* counters.c: the processor's counters (instructions and cycles, user and kernel) in the samples of a counting run,
 * through perf_event_open where the kernel and its settings allow it. They count this process and its children. On a
 * virtual machine each process switch saves and restores them through the hypervisor, which makes the switch up to a
 * hundred times as long: so no timed process has them open, nor any of its ancestors. */
#include "engine.h"

const char *const counter_names[N_COUNTERS] = { "instructions_user", "instructions_kernel", "cycles_user",
						"cycles_kernel" };

#if HAVE_PERF_EVENT
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#endif

static int fds[N_COUNTERS] = { -1, -1, -1, -1 };

#if HAVE_PERF_EVENT
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
	a.disabled = i == 0; /* the leader switches the whole group */
	a.inherit = 1;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, fds[0], (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

static void group(unsigned long request)
{
	if (fds[0] >= 0)
		ioctl(fds[0], request, PERF_IOC_FLAG_GROUP);
}
#else
enum { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET };

static int open_one(int i)
{
	(void)i;
	errno = ENOSYS;
	return -1;
}

static void group(unsigned long request)
{
	(void)request;
}
#endif

static void close_all(void)
{
	for (int i = 0; i < N_COUNTERS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* The first counter that cannot be opened, with errno; then none is open. N_COUNTERS: all are open. */
static int open_all(void)
{
	for (int i = 0; i < N_COUNTERS; i++) {
		fds[i] = open_one(i);
		if (fds[i] < 0) {
			int error = errno;

			close_all();
			errno = error;
			return i;
		}
	}
	return N_COUNTERS;
}

const char *counters_missing(void)
{
	static char why[128];
	int i = open_all();

	if (!HAVE_PERF_EVENT)
		return "this probe was built without perf_event_open (no such call here, or no kernel headers)";
	if (i == N_COUNTERS) {
		close_all();
		return "";
	}
	snprintf(why, sizeof why, "perf_event_open (%s): %s (%s)", counter_names[i], errno_name(errno),
		 strerror(errno));
	return why;
}

void counters_on(void)
{
	group(PERF_EVENT_IOC_ENABLE);
}

void counters_off(void)
{
	group(PERF_EVENT_IOC_DISABLE);
}

static int read_all(double values[N_COUNTERS])
{
	for (int i = 0; i < N_COUNTERS; i++) {
		uint64_t r[3]; /* value, time enabled, time running; less running than enabled: it shared the counter */

		if (fds[i] < 0 || read(fds[i], r, sizeof r) != (ssize_t)sizeof r || r[2] < r[1] || r[2] == 0)
			return 0;
		values[i] = (double)r[0];
	}
	return 1;
}

#define EMPTY 64 /* empty intervals, whose mean is what the switching itself counts */
static double empty[N_COUNTERS];

void counters_open(void)
{
	if (open_all() != N_COUNTERS)
		return;
	for (int i = 0; i < EMPTY; i++) {
		counters_on();
		counters_off();
	}
	if (!read_all(empty))
		close_all();
	group(PERF_EVENT_IOC_RESET);
}

int counters_read(double values[N_COUNTERS], uint64_t intervals)
{
	if (!read_all(values))
		return 0;
	for (int i = 0; i < N_COUNTERS; i++)
		values[i] -= empty[i] / EMPTY * (double)intervals;
	return 1;
}
