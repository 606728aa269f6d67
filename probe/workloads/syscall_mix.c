/* syscall/mix: the five calls of UnixBench's "System Call Overhead", in the three forms that M measures: many at a
 * time, N in a row timed once (table 2), and as many as fit in a fixed time (table 1). The three must agree (figure 7).
 * Standard input is /dev/null, so that dup and close cost the same wherever the probe runs. */
#include "../km.h"

#define MIX_MASK 022
#define MIX_STATED 1000 /* loops whose time one iteration of the fixed-time form states */

struct syscall_mix {
	struct km *km;
	uint64_t sum;   /* of process id, user id and old mask */
	uint64_t loops; /* of the five calls */
	mode_t old_mask;
};

static void *syscall_mix_setup(struct km *km)
{
	struct syscall_mix *s = km_state(km, sizeof *s);
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		km_fail_call(km, "open /dev/null");
	if (fd != 0 && (dup2(fd, 0) != 0 || close(fd) != 0))
		km_fail_call(km, "dup2");
	s->old_mask = umask(MIX_MASK);
	if (!HAVE_SYSCALL)
		km_warn(km, "libc", "no syscall(2) here: if libc caches getpid's answer, this is four calls, not five");
	km->claim = (struct claim){ .syscalls = 5, .faults = km->point->cold ? NO_CLAIM : 0 };
	return s;
}

static inline void syscall_mix_once(struct syscall_mix *s)
{
	int fd = dup(0);

	if (fd < 0)
		km_fail_call(s->km, "dup");
	if (close(fd) != 0)
		km_fail_call(s->km, "close");
	s->sum += (uint64_t)km_sys_getpid();
	s->sum += (uint64_t)getuid();
	s->sum += (uint64_t)umask(MIX_MASK);
	s->loops++;
}

static void syscall_mix_run(void *state, uint64_t n)
{
	while (n--)
		syscall_mix_once(state);
}

static void syscall_mix_verify(void *state, uint64_t n)
{
	struct syscall_mix *s = state;
	uint64_t one = (uint64_t)getpid() + (uint64_t)getuid() + MIX_MASK;

	if (s->loops != n || s->sum != n * one)
		km_fail(s->km, "the answers of %" PRIu64 " loops do not sum up", n);
}

/* N loops timed once ------------------------------------------------------------------------------------------- */

static void *syscall_mix_loops_setup(struct km *km)
{
	void *s = syscall_mix_setup(km);

	km->claim.syscalls = 5.0 * (double)km->arg[0];
	return s;
}

static void syscall_mix_loops_run(void *state, uint64_t n)
{
	struct syscall_mix *s = state;

	while (n--)
		for (long i = s->km->arg[0]; i > 0; i--)
			syscall_mix_once(s);
}

static void syscall_mix_loops_verify(void *state, uint64_t n)
{
	struct syscall_mix *s = state;

	syscall_mix_verify(s, n * (uint64_t)s->km->arg[0]);
}

/* As many as fit in a fixed time ------------------------------------------------------------------------------- */

static void *syscall_mix_fixed_time_setup(struct km *km)
{
	void *s = syscall_mix_setup(km);

	km_fixed_time_setup(km, MIX_STATED);
	return s;
}

static uint64_t syscall_mix_fixed_time_run(void *state, uint64_t n)
{
	struct syscall_mix *s = state;

	return km_fixed_time(s->km, syscall_mix_run, s, &s->loops, n);
}

static void syscall_mix_fixed_time_verify(void *state, uint64_t n)
{
	struct syscall_mix *s = state;

	(void)n; /* iterations are stated, loops are counted */
	syscall_mix_verify(s, s->loops);
}

static const struct point syscall_mix_loops_points[] = {
	{ .arg = { 1 }, .profile = FULL, .path_n = 1000 },
	{ .arg = { 10 }, .profile = FULL, .path_n = 300 },
	{ .arg = { 100 }, .profile = FULL, .path_n = 30 },
	{ .arg = { 1000 }, .profile = FULL, .path_n = 3 },
	{ .arg = { 10000 }, .profile = FULL }, /* by path just ten times the row before it */
	{ .profile = 0 },
};

const struct workload syscall_mix = {
	.name = "syscall/mix",
	.per = "loop of 5 calls",
	.source = "M table 1",
	.what = "close(dup(0)), getpid, getuid, umask(022)",
	.inside = "the five calls by libc, getpid past its cache, comparisons and additions of their results",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = FULL, .path_n = 10, .cold = 1 }),
	.setup = syscall_mix_setup,
	.run = syscall_mix_run,
	.verify = syscall_mix_verify,
};

const struct workload syscall_mix_loops = {
	.name = "syscall/mix-loops",
	.per = "set of loops",
	.source = "M table 2",
	.what = "N loops of syscall/mix in a row, timed once: M's microsecond form",
	.inside = "N times what syscall/mix contains",
	.params = { "loops" },
	.curve = "loops",
	.max_batch = 1,
	.points = syscall_mix_loops_points,
	.setup = syscall_mix_loops_setup,
	.run = syscall_mix_loops_run,
	.verify = syscall_mix_loops_verify,
};

const struct workload syscall_mix_fixed_time = {
	.name = "syscall/mix-fixed-time",
	.per = "loop of 5 calls",
	.only = BY_TIME,
	.source = "M table 1",
	.what = "loops of syscall/mix until an alarm set 50 ms ahead: M's fixed-time form",
	.inside = "what syscall/mix contains, a test of the alarm's flag, one signal in 50 ms",
	.needs = CAP_SETITIMER,
	.max_batch = 1,
	.points = KM_POINTS({ .profile = FULL }),
	.setup = syscall_mix_fixed_time_setup,
	.self_timed = syscall_mix_fixed_time_run,
	.verify = syscall_mix_fixed_time_verify,
};
