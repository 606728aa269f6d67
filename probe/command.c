/* command.c: times a user's command as three rows: cmd/NAME@time=real, user and system.
 *
 * A sample is one execution: fork, exec, wait. Its input comes from /dev/null and its output goes there; a status other
 * than 0 is an error, since a command that fails early looks fast. User and system time are the kernel's own account:
 * a kernel that keeps it by its tick charges a whole tick to one of the two or to neither, so that only sums tell. */
#include "engine.h"

#define LEAST_EXECUTIONS 5

enum { REAL, USER, SYSTEM, N_TIMES };
static const char *const time_names[N_TIMES] = { "real", "user", "system" };

struct execution {
	uint64_t ns[N_TIMES];
	int status, error;
};

#if HAVE_GETRUSAGE
static void child_times(uint64_t *user, uint64_t *system)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	*user = (uint64_t)r.ru_utime.tv_sec * 1000000000u + (uint64_t)r.ru_utime.tv_usec * 1000u;
	*system = (uint64_t)r.ru_stime.tv_sec * 1000000000u + (uint64_t)r.ru_stime.tv_usec * 1000u;
}
#else
#include <sys/times.h>
static void child_times(uint64_t *user, uint64_t *system)
{
	struct tms t;

	times(&t);
	*user = (uint64_t)((double)t.tms_cutime * 1e9 / (double)sysconf(_SC_CLK_TCK));
	*system = (uint64_t)((double)t.tms_cstime * 1e9 / (double)sysconf(_SC_CLK_TCK));
}
#endif

/* The step of the kernel's account: the tick that charges a process, where the system tells it. */
static double account_step_ns(void)
{
#if HAVE_CLOCK_GETTIME && defined(CLOCK_MONOTONIC_COARSE)
	struct timespec step;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0)
		return (double)step.tv_sec * 1e9 + (double)step.tv_nsec;
#endif
	return 1000;
}

/* The child. It sends its errno through a pipe that a successful exec closes. */
static KM_NORETURN void become(char **command, int null, int errors)
{
	int error;
	ssize_t n;

	if (dup2(null, 0) >= 0 && dup2(null, 1) >= 0)
		execvp(command[0], command);
	error = errno;
	n = write(errors, &error, sizeof error);
	_exit(n == (ssize_t)sizeof error ? 127 : 126);
}

static struct execution execute_once(char **command, int null)
{
	struct execution x = { { 0, 0, 0 }, 0, 0 };
	uint64_t user, system, start;
	int errors[2];
	pid_t pid;

	if (pipe(errors) != 0 || fcntl(errors[1], F_SETFD, FD_CLOEXEC) < 0) {
		x.error = errno;
		return x;
	}
	child_times(&user, &system);
	start = clock_wall();
	pid = fork();
	if (pid == 0)
		become(command, null, errors[1]);
	close(errors[1]);
	if (pid < 0)
		x.error = errno;
	while (pid > 0 && waitpid(pid, &x.status, 0) < 0)
		if (errno != EINTR) {
			x.error = errno;
			break;
		}
	x.ns[REAL] = clock_wall() - start;
	child_times(&x.ns[USER], &x.ns[SYSTEM]);
	x.ns[USER] -= user;
	x.ns[SYSTEM] -= system;
	if (read(errors[0], &x.error, sizeof x.error) < 0)
		x.error = errno;
	close(errors[0]);
	return x;
}

static void command_failed(const char *name, const struct options *o, const struct execution *x)
{
	char row[ROW_NAME], text[200];

	snprintf(row, sizeof row, "cmd/%s@time=real", name);
	if (x->error)
		snprintf(text, sizeof text, "cannot be executed: %s (%s)", errno_name(x->error), strerror(x->error));
	else if (WIFSIGNALED(x->status))
		snprintf(text, sizeof text, "was killed by signal %d", WTERMSIG(x->status));
	else
		snprintf(text, sizeof text, "exited with status %d: only a command that succeeds is timed",
			 WEXITSTATUS(x->status));
	json_error(stdout, row, o->first_run, o->block, text, "", "");
}

static void emit_command(const char *name)
{
	char text[ROW_NAME];
	struct json j;

	json_begin(&j, stdout, "workload");
	snprintf(text, sizeof text, "cmd/%s", name);
	json_string(&j, "name", text);
	json_unsigned(&j, "revision", KM_REVISION);
	json_string(&j, "per", "execution");
	json_string(&j, "unit", "ns");
	json_string(&j, "better", "lower");
	json_open(&j, "by", '[');
	json_string(&j, NULL, "time");
	json_close(&j, ']');
	json_string(&j, "source", "L (time), K");
	json_string(&j, "what", "a user's command: real, user and system time of one whole execution");
	json_string(&j, "inside",
		    "fork, exec, the command, wait; its output goes to /dev/null. User and system time are the "
		    "kernel's account of the command, summed over a run's executions");
	json_open(&j, "params", '[');
	json_string(&j, NULL, "time");
	json_close(&j, ']');
	json_open(&j, "rows", '[');
	for (int t = 0; t < N_TIMES; t++) {
		json_open(&j, NULL, '{');
		snprintf(text, sizeof text, "cmd/%s@time=%s", name, time_names[t]);
		json_string(&j, "row", text);
		json_integer(&j, "id", 0);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_end(&j);
}

static void emit_times(const char *name, const struct options *o, long run, uint64_t value[N_TIMES][MAX_SAMPLES],
		       size_t n, double seconds)
{
	char text[ROW_NAME];
	struct json j;

	for (int t = 0; t < N_TIMES; t++) {
		json_begin(&j, stdout, "run");
		snprintf(text, sizeof text, "cmd/%s@time=%s", name, time_names[t]);
		json_string(&j, "row", text);
		snprintf(text, sizeof text, "cmd/%s", name);
		json_string(&j, "workload", text);
		json_unsigned(&j, "revision", KM_REVISION);
		json_integer(&j, "run", run);
		json_integer(&j, "block", o->block);
		json_open(&j, "params", '{');
		json_string(&j, "time", time_names[t]);
		json_close(&j, '}');
		json_integer(&j, "batch", 1);
		json_integers(&j, "samples", value[t], n);
		json_number(&j, "resolution_ns", t == REAL ? 0 : account_step_ns());
		json_string(&j, "stopped", "time");
		json_number(&j, "seconds", t == REAL ? seconds : 0);
		json_unsigned(&j, "iterations", n);
		json_end(&j);
	}
}

int run_command(const struct options *o)
{
	static uint64_t value[N_TIMES][MAX_SAMPLES];
	char **command = o->command;
	const char *slash = strrchr(command[0], '/'), *base = slash && slash[1] ? slash + 1 : command[0];
	char name[64];
	int null = open("/dev/null", O_RDWR);

	snprintf(name, sizeof name, "%s", base);
	if (null < 0) {
		fprintf(stderr, "probe: /dev/null: %s\n", strerror(errno));
		return 2;
	}
	if (!o->continues) {
		emit_header(stdout, o);
		emit_command(name);
	}
	for (long run = o->first_run; run < o->first_run + o->runs; run++) {
		uint64_t start = clock_wall();
		double spent;
		size_t n = 0;

		do {
			struct execution x = execute_once(command, null);

			if (x.error || x.status != 0) {
				command_failed(name, o, &x);
				return 1;
			}
			for (int t = 0; t < N_TIMES; t++)
				value[t][n] = x.ns[t];
			n++;
			spent = (double)(clock_wall() - start) / 1e9;
		} while (n < (size_t)o->samples && (n < LEAST_EXECUTIONS || spent < o->seconds));
		emit_times(name, o, run, value, n, spent);
	}
	return 0;
}
