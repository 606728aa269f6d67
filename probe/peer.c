/* peer.c: what km.h offers workloads: failing, warnings, memory, temporary paths, numbers, peers. */
#include "engine.h"

#include <sys/select.h>

#define PEER_SECONDS 2

static void emit_failure(struct engine *e, const char *text, const char *call, const char *error)
{
	json_error(stdout, e->row->name, e->run, e->o->block, text, call, error);
}

static int readable(int fd, double seconds)
{
	struct timeval limit;
	fd_set set;

	limit.tv_sec = (time_t)seconds;
	limit.tv_usec = (suseconds_t)((seconds - (double)limit.tv_sec) * 1e6);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &limit) > 0;
}

/* The signal that killed a peer, of those not reaped yet; 0: none. */
static int peer_killed(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0 || (pid < 0 && errno == EINTR))
		if (pid > 0 && WIFSIGNALED(status))
			return WTERMSIG(status);
	return 0;
}

static KM_NORETURN void fail(struct engine *e, const char *text, const char *call, const char *error)
{
	char cause[512], *gap;
	ssize_t n;
	int killed;

	if (e->in_peer) { /* only the parent prints: text, call and errno, each ended by a zero */
		int k = snprintf(cause, sizeof cause, "%s%c%s%c%s", text, 0, call, 0, error);

		if (k > 0 && write(e->report[1], cause, (size_t)k < sizeof cause ? (size_t)k + 1 : sizeof cause) > 0)
			_exit(1);
		_exit(2);
	}
	/* A peer's death reaches this process as an end of file: the cause may arrive a moment later. */
	if (e->npeers > 0 && readable(e->report[0], 0.2)) {
		n = read(e->report[0], cause, sizeof cause - 1);
		if (n > 0) {
			char peer[600];

			cause[n] = '\0';
			gap = cause + strlen(cause);
			call = gap < cause + n ? gap + 1 : "";
			error = call[0] && call + strlen(call) < cause + n ? call + strlen(call) + 1 : "";
			snprintf(peer, sizeof peer, "in a peer process: %s", cause);
			emit_failure(e, peer, call, error);
			exit(1);
		}
	}
	if (e->npeers > 0 && (killed = peer_killed()) != 0) {
		snprintf(cause, sizeof cause, "a peer process was killed by signal %d: %s", killed, text);
		text = cause;
	}
	emit_failure(e, text, call, error);
	exit(1);
}

void km_fail(struct km *km, const char *format, ...)
{
	char text[256];
	va_list args;

	if (!KM_VERIFY)
		KM_UNREACHABLE;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fail(km->engine, text, "", "");
}

void km_fail_call(struct km *km, const char *call)
{
	int error = errno;
	char text[256];

	if (!KM_VERIFY)
		KM_UNREACHABLE;
	snprintf(text, sizeof text, "%s: %s (%s)", call, errno_name(error), strerror(error));
	fail(km->engine, text, call, errno_name(error));
}

void km_unsupported(struct km *km, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (!km->engine->in_setup)
		km_fail(km, "km_unsupported outside setup: %s", text);
	json_unsupported(stdout, km->row, text);
	exit(0);
}

void km_lacking(struct km *km, const char *call)
{
	/* ENOENT: MINIX 3 has these calls, but the server that answers them is not started. */
	static const int absent[] = { ENOSYS,      EAFNOSUPPORT,  EPROTONOSUPPORT, EOPNOTSUPP,
				      ENETUNREACH, EADDRNOTAVAIL, ENOENT };

	for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
		if (errno == absent[i])
			km_unsupported(km, "%s: %s", call, strerror(errno));
	km_fail_call(km, call);
}

void km_warn(struct km *km, const char *code, const char *format, ...)
{
	struct engine *e = km->engine;
	va_list args;

	if (e->nwarnings == (int)(sizeof e->warnings / sizeof e->warnings[0]))
		return;
	snprintf(e->warnings[e->nwarnings].code, sizeof e->warnings[0].code, "%s", code);
	va_start(args, format);
	vsnprintf(e->warnings[e->nwarnings++].text, sizeof e->warnings[0].text, format, args);
	va_end(args);
}

void *km_alloc(struct km *km, size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p)
		km_fail(km, "malloc: ENOMEM: cannot allocate %lu bytes", (unsigned long)bytes);
	return p;
}

void *km_state(struct km *km, size_t bytes)
{
	struct km **state = km_alloc(km, bytes);

	*state = km;
	return state;
}

void km_free(void *p)
{
	free(p);
}

char *km_path(struct km *km, char *to, const char *name)
{
	int n = snprintf(to, KM_PATH, "%s/%s", km->engine->dir, name);

	if (n < 0 || n >= KM_PATH)
		km_fail(km, "the temporary directory's name is too long for %s", name);
	return to;
}

void km_enter(struct km *km)
{
	if (chdir(km->engine->dir) != 0)
		km_fail_call(km, "chdir");
}

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014): small, and every seed is a good one. */
uint64_t km_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t km_random(struct km *km)
{
	return km_mix(km->engine->random += UINT64_C(0x9e3779b97f4a7c15));
}

/* On one CPU peers inherit this process's CPU; elsewhere they take the allowed ones in turn, from the next one on. */
static void place_peer(struct engine *e, int number)
{
	int at = 0;

	if (e->row->point->place != OTHER_CPU || e->ncpus < 2)
		return;
	while (e->cpus[at] != e->cpu)
		at++;
	if (platform_pin(e->cpus[(at + number) % e->ncpus]) != 0)
		km_fail_call(&e->km, KM_PIN_CALL);
}

void km_place_thread(struct km *km)
{
	place_peer(km->engine, 1);
}

long km_peer(struct km *km, void (*body)(struct km *, void *), void *state)
{
	struct engine *e = km->engine;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		km_fail_call(km, "fork");
	e->npeers++;
	if (pid == 0) {
		e->in_peer = 1;
		platform_die_with_parent();
		place_peer(e, e->npeers);
		body(km, state);
		_exit(0);
	}
	return (long)pid;
}

void km_all_cpus(struct km *km)
{
	struct engine *e = km->engine;

	if (e->ncpus > 0 && platform_allow(e->cpus, e->ncpus) != 0)
		km_fail_call(km, KM_PIN_CALL);
}

static void on_alarm(int number)
{
	(void)number;
}

/* As waitpid without WNOHANG, with a warning if it works: there are kernels where WNOHANG does not tell that a process
 * has exited. Another second at most, then EINTR. */
static pid_t wait_again(struct km *km, pid_t pid, int *status)
{
	struct sigaction action;
	pid_t got;

	memset(&action, 0, sizeof action);
	action.sa_handler = on_alarm;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGALRM, &action, NULL) != 0)
		km_fail_call(km, "sigaction");
	alarm(1);
	got = waitpid(pid, status, 0);
	alarm(0);
	if (got == pid)
		km_warn(km, "wait", "WNOHANG did not tell that a process had exited");
	return got;
}

void km_peer_end(struct km *km, long pid)
{
	uint64_t limit = clock_wall() + PEER_SECONDS * UINT64_C(1000000000);
	struct timeval nap;
	int status;
	pid_t got;

	while ((got = waitpid((pid_t)pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
		if (clock_wall() > limit)
			break;
		nap.tv_sec = 0;
		nap.tv_usec = 200;
		select(0, NULL, NULL, NULL, &nap);
	}
	if (got != (pid_t)pid)
		got = wait_again(km, (pid_t)pid, &status);
	if (got < 0 && errno != EINTR)
		km_fail_call(km, "waitpid");
	if (got < 0 || clock_wall() > limit + UINT64_C(500000000))
		km_fail(km, "a peer process did not exit within %d s", PEER_SECONDS);
	if (WIFSIGNALED(status))
		km_fail(km, "a peer process was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		km_fail(km, "a peer process exited with status %d", WEXITSTATUS(status));
}

void km_write_all(struct km *km, int fd, const void *from, size_t n)
{
	const char *at = from;

	while (n > 0) {
		ssize_t k = write(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			km_fail_call(km, "write");
		at += k;
		n -= (size_t)k;
	}
}

void km_read_all(struct km *km, int fd, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		ssize_t k = read(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			km_fail_call(km, "read");
		if (k == 0)
			km_fail(km, "read: the other side has closed: %lu bytes are missing", (unsigned long)n);
		at += k;
		n -= (size_t)k;
	}
}
