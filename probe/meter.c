/* meter.c: what happened in the samples, and what disturbed the run, as far as the platform tells.
 *
 * Everything is read right before and right after the timed region. What the platform does not tell is -1, never 0. */
#include "engine.h"

#include <sys/select.h>

struct reading {
	double faults, major_faults, switches, involuntary, child_faults, cpu_ns;
	double reads, writes;
	int cpu;
};

struct meter {
	int self_cpu, peer_cpu, counts;
	struct happened total;
	struct disturbance disturbance;
	struct reading before, after;
	uint64_t wall0;
	double cpu0, delay0, steal0, busy0, all0;
	int io; /* /proc/self/io, kept open; -1 */
};

#if HAVE_PROC && KM_METER
static ssize_t read_file(const char *path, char *to, size_t n)
{
	int fd = open(path, O_RDONLY);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, to, n - 1);
	close(fd);
	if (got >= 0)
		to[got] = '\0';
	return got;
}

static double field(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	char *end = NULL;
	double value = at ? strtod(at + strlen(key), &end) : -1;

	return end && *end == '\n' ? value : -1; /* otherwise digits may be missing */
}

static void read_io(struct meter *m, struct reading *r)
{
	char text[512];
	ssize_t n = m->io < 0 ? -1 : pread(m->io, text, sizeof text - 1, 0);

	r->reads = r->writes = -1;
	if (n <= 0)
		return;
	text[n] = '\0';
	r->reads = field(text, "syscr: ");
	r->writes = field(text, "syscw: ");
}

/* Time spent runnable but not running: field 2 of schedstat, ns. */
static double run_delay(void)
{
	char text[128];
	double on_cpu, waiting, times;

	if (read_file(KM_PROC "/self/schedstat", text, sizeof text) <= 0)
		return -1;
	return sscanf(text, "%lf %lf %lf", &on_cpu, &waiting, &times) == 3 ? waiting : -1;
}

static int is_ours(const struct meter *m, int cpu)
{
	return m->self_cpu < 0 || cpu == m->self_cpu || cpu == m->peer_cpu;
}

/* Ticks of all CPUs but ours, busy and in all; and ticks stolen from each of ours, on average. */
static void cpu_ticks(const struct meter *m, double *busy, double *all, double *steal)
{
	char line[512];
	FILE *f = fopen(KM_PROC "/stat", "r");
	int ours = 0;

	*busy = *all = *steal = -1;
	while (f && fgets(line, sizeof line, f) && strncmp(line, "cpu", 3) == 0) {
		double t[8] = { 0 };
		int cpu;

		if (line[3] == ' ') /* the sum of all: %d would read its first figure as a CPU's number */
			continue;
		if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, t, t + 1, t + 2, t + 3, t + 4, t + 5,
			   t + 6, t + 7) < 8)
			continue;
		if (*all < 0)
			*all = *busy = *steal = 0;
		if (is_ours(m, cpu)) {
			ours++;
			*steal += t[7];
		}
		if (is_ours(m, cpu) && m->self_cpu >= 0)
			continue;
		for (int i = 0; i < 7; i++)
			*all += t[i];
		*busy += t[0] + t[1] + t[2] + t[5] + t[6];
	}
	*steal = ours > 0 ? *steal / ours : -1;
	if (f)
		fclose(f);
}
#else
static void read_io(struct meter *m, struct reading *r)
{
	(void)m;
	r->reads = r->writes = -1;
}

static double run_delay(void)
{
	return -1;
}

static void cpu_ticks(const struct meter *m, double *busy, double *all, double *steal)
{
	(void)m;
	*busy = *all = *steal = -1;
}
#endif

static void usage_unknown(struct reading *r)
{
	r->faults = r->major_faults = r->switches = r->involuntary = r->cpu_ns = -1;
}

#if HAVE_GETRUSAGE && KM_METER
static void read_usage(struct reading *r)
{
	struct rusage self;

	if (getrusage(RUSAGE_SELF, &self) != 0) {
		usage_unknown(r);
		return;
	}
	r->faults = (double)self.ru_minflt;
	r->major_faults = (double)self.ru_majflt;
	r->switches = (double)self.ru_nvcsw;
	r->involuntary = (double)self.ru_nivcsw;
	r->cpu_ns = ((double)self.ru_utime.tv_sec + (double)self.ru_stime.tv_sec) * 1e9 +
		    ((double)self.ru_utime.tv_usec + (double)self.ru_stime.tv_usec) * 1e3;
}

static double child_faults(void)
{
	struct rusage children;

	return getrusage(RUSAGE_CHILDREN, &children) == 0 ? (double)children.ru_minflt : -1;
}
#else
static void read_usage(struct reading *r)
{
	usage_unknown(r);
}

static double child_faults(void)
{
	return -1;
}
#endif

struct meter *meter_new(int self_cpu, int peer_cpu, int counts)
{
	static struct meter m;
	static const struct meter clean;

	m = clean;
	m.self_cpu = self_cpu;
	m.peer_cpu = peer_cpu;
	m.counts = counts;
	m.io = -1;
#if HAVE_PROC && KM_METER
	if (counts)
		m.io = open(KM_PROC "/self/io", O_RDONLY | O_CLOEXEC);
#endif
	return &m;
}

void meter_run_begin(struct meter *m)
{
	static const struct happened nothing;

	m->total = nothing;
	m->delay0 = run_delay();
	cpu_ticks(m, &m->busy0, &m->all0, &m->steal0);
	read_usage(&m->before);
	m->cpu0 = m->before.cpu_ns;
	m->wall0 = clock_wall();
}

void meter_sample_begin(struct meter *m)
{
	if (m->counts) {
		read_io(m, &m->before);
		m->before.child_faults = child_faults();
	}
	m->before.cpu = KM_METER ? platform_current_cpu() : -1;
	read_usage(&m->before);
}

static void add(double *total, double before, double after)
{
	*total = before < 0 || after < 0 || *total < 0 ? -1 : *total + after - before;
}

static double with_children(const struct reading *r)
{
	return r->faults < 0 || r->child_faults < 0 ? -1 : r->faults + r->child_faults;
}

void meter_sample_end(struct meter *m)
{
	struct happened *t = &m->total;

	read_usage(&m->after);
	m->after.cpu = KM_METER ? platform_current_cpu() : -1;
	if (!m->counts)
		return;
	m->after.child_faults = child_faults();
	read_io(m, &m->after);
	add(&t->faults, with_children(&m->before), with_children(&m->after));
	add(&t->major_faults, m->before.major_faults, m->after.major_faults);
	add(&t->switches, m->before.switches, m->after.switches);
	add(&t->involuntary, m->before.involuntary, m->after.involuntary);
	/* The reading before the sample is itself a read, which the counter includes afterwards. */
	add(&t->reads, m->before.reads < 0 ? -1 : m->before.reads + 1, m->after.reads);
	add(&t->writes, m->before.writes, m->after.writes);
}

long meter_last_involuntary(const struct meter *m)
{
	if (m->after.involuntary < 0 || m->before.involuntary < 0)
		return 0;
	return (long)(m->after.involuntary - m->before.involuntary);
}

int meter_last_migrated(const struct meter *m)
{
	return m->before.cpu >= 0 && m->after.cpu >= 0 && m->before.cpu != m->after.cpu;
}

static double ticks_ns(double before, double after)
{
	return before < 0 || after < 0 ? -1 : (after - before) * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

void meter_run_end(struct meter *m)
{
	struct disturbance *d = &m->disturbance;
	double delay, busy, all, steal;

	d->wall_ns = (double)(clock_wall() - m->wall0);
	read_usage(&m->after);
	d->cpu_ns = m->after.cpu_ns < 0 || m->cpu0 < 0 ? -1 : m->after.cpu_ns - m->cpu0;
	delay = run_delay();
	d->run_delay_ns = delay < 0 || m->delay0 < 0 ? -1 : delay - m->delay0;
	cpu_ticks(m, &busy, &all, &steal);
	d->steal_ns = ticks_ns(m->steal0, steal);
	d->tick_ns = steal < 0 ? -1 : 1e9 / (double)sysconf(_SC_CLK_TCK);
	d->others_busy = m->all0 >= 0 && all > m->all0 ? (busy - m->busy0) / (all - m->all0) : -1;
	if (m->io >= 0)
		close(m->io);
}

/* A system that counts no switches always returns 0. The test sleeps, and therefore comes after the samples. */
static int switches_are_counted(void)
{
	struct timeval nap = { 0, 1000 };
	struct reading before, after;

	read_usage(&before);
	select(0, NULL, NULL, NULL, &nap);
	read_usage(&after);
	return after.switches >= 0 && before.switches >= 0 &&
	       after.switches + after.involuntary > before.switches + before.involuntary;
}

const struct happened *meter_happened(struct meter *m)
{
	struct happened *t = &m->total;

	if (t->switches == 0 && t->involuntary == 0 && !switches_are_counted())
		t->switches = t->involuntary = -1;
	if (t->faults == 0 && m->after.faults + m->after.major_faults <= 0) /* loading the program causes some */
		t->faults = t->major_faults = -1;
	return t;
}

const struct disturbance *meter_disturbance(const struct meter *m)
{
	return &m->disturbance;
}
