/* faults.c: linked into a probe of musl with --wrap, so that its calls fail by a plan drawn from a seed.
 *
 * The linker replaces each call of a name of calls.h by __wrap_NAME, here. A process draws after how many of these
 * calls its next fault comes, and which of that call's faults it is. When it exits it writes to a pipe (the ledger)
 * what was injected, and a run also how often each call succeeded: whoever judges a figure compares that with a run
 * without faults. repeat.c starts the probe and reads the ledger; KM_FAULTS has the words "FD SEED RUN DRIVER", where
 * RUN and DRIVER say whether a run, and the driver, get faults. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Faults that are no errno. */
enum {
	SHORT = 1000, /* of read and write: a part only */
	KILLED,       /* of fork: the child, at once */
	SMALL,        /* of a pipe: it holds a page */
	FULL,         /* of a pipe: whoever writes when it is full is refused */
	LOST          /* of a record: what stdio wrote for a while */
};

enum { MOST_FAULTS = 4, HURRY_PATH = 60, HURRY_TIME = 4 }; /* 900 s and 60 s, of a row, become 15 s */

#define CALL(type, name, ...) CALL_##name,
#define CODE(name, ...) CALL_##name,
#define OWN(name) CALL_##name,
enum {
#include "calls.h"
	CALLS
};
#undef CALL
#undef CODE
#undef OWN

/* Of one process. A child's begins as a copy, with a seed of its own. */
static struct {
	int ledger; /* the pipe; 0: there is no plan */
	pid_t self; /* a child of vfork has its parent's memory, and is another */
	unsigned long seed, mean, left;
	int runs, drives;       /* who gets faults */
	int gentle;             /* only such as a program outlives that tries again */
	int inside;             /* a sample */
	const char *role, *row; /* of a run; NULL elsewhere */
	unsigned hurry;         /* how fast the driver's clock goes, so that its limits are short */
	unsigned long injected, planned;
	int child;                    /* of a run or of the driver, and still the same program */
	char at_who[16], at_call[24]; /* KM_FAULT */
	int at_fault;
	unsigned long at_nth;
} now;

static struct {
	const char *name;
	unsigned long inside, all, bytes; /* successes; bytes moved within samples */
	struct {
		int fault;
		unsigned long times;
	} injected[MOST_FAULTS];
} calls[CALLS];

static unsigned long draw(void)
{
	unsigned long z = now.seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void plan(void)
{
	now.left = 1 + draw() % (2 * now.mean);
	now.planned++;
}

/* A process's plan: from a fault each few calls, which meet its set-up, to one in thousands, which meet its loops. */
static void begin(unsigned long seed, int any)
{
	now.seed = seed;
	now.mean = any ? 4UL << draw() % 10 : 0;
	now.gentle = draw() % 3 == 0;
	if (now.mean)
		plan();
}

/* KM_FAULT, "WHO CALL FAULT NTH": one fault alone, in the NTH execution of a call by each process of that kind: the
 * driver, a run ("time", "count" ...), or a "child" of a run. */
static int directed(const char *name, const int *faults)
{
	static unsigned long seen;
	const char *who = now.row || !now.child ? now.role : "child";
	int n;

	if (strcmp(now.at_who, who) != 0 || strcmp(now.at_call, name) != 0 || ++seen != now.at_nth)
		return 0;
	for (n = 0; faults[n] && faults[n] != now.at_fault; n++)
		;
	now.injected++;
	return faults[n];
}

/* The fault for this execution of a call, one of `faults` (0 ends them); 0: none. */
static int fault(int call, const char *name, const int *faults)
{
	int fits[MOST_FAULTS], n = 0, i = 0;

	calls[call].name = name;
	if (now.at_nth)
		return directed(name, faults);
	if (!now.mean || now.left-- > 1)
		return 0;
	for (; faults[i]; i++)
		if (!now.gentle || faults[i] == EINTR || faults[i] == SHORT || faults[i] == SMALL)
			fits[n++] = faults[i];
	if (n == 0) {
		now.left = 1; /* the next call's */
		return 0;
	}
	plan();
	i = fits[draw() % (unsigned long)n];
	for (n = 0; calls[call].injected[n].fault && calls[call].injected[n].fault != i; n++)
		;
	calls[call].injected[n].fault = i;
	calls[call].injected[n].times++;
	now.injected++;
	return i;
}

static void succeeded(int call, long bytes)
{
	calls[call].all++;
	calls[call].inside += now.inside != 0;
	calls[call].bytes += now.inside ? (unsigned long)bytes : 0;
}

ssize_t __real_write(int fd, const void *from, size_t n);

/* Writes a line to the ledger: what was injected, and in a run also what succeeded. */
static void report(void)
{
	static char line[4096];
	int n, error = errno;

	if (!now.ledger || (!now.injected && !now.row) || getpid() != now.self)
		return;
	n = snprintf(line, sizeof line, "#ledger %s %s %lu %lu", now.row ? now.role : "-", now.row ? now.row : "-",
		     now.injected, now.planned);
	for (int c = 0; c < CALLS && n < (int)sizeof line - 256; c++) {
		for (int i = 0; i < MOST_FAULTS && calls[c].injected[i].times; i++) {
			int f = calls[c].injected[i].fault;

			n += snprintf(line + n, sizeof line - (size_t)n, " %s:%d=%lu", calls[c].name, f,
				      calls[c].injected[i].times);
		}
		if (now.row && calls[c].all)
			n += snprintf(line + n, sizeof line - (size_t)n, " %s=%lu/%lu/%lu", calls[c].name,
				      calls[c].inside, calls[c].all, calls[c].bytes);
	}
	line[n++] = '\n';
	(void)!__real_write(now.ledger, line, (size_t)n);
	now.injected = now.planned = 0;
	memset(calls, 0, sizeof calls);
	errno = error;
}

/* The calls. ------------------------------------------------------------------------------------------------------ */

#define E(...) ((const int[]){ __VA_ARGS__, 0 })
#define FAULT(name, ...) fault(CALL_##name, #name, E(__VA_ARGS__))
#define CALL(type, name, failed, faults, parameters, ...)      \
	type __real_##name parameters;                         \
	type __wrap_##name parameters                          \
	{                                                      \
		int error = fault(CALL_##name, #name, faults); \
		type result;                                   \
                                                               \
		if (error) {                                   \
			errno = error;                         \
			return failed;                         \
		}                                              \
		result = __real_##name(__VA_ARGS__);           \
		if (result != (failed))                        \
			succeeded(CALL_##name, 0);             \
		return result;                                 \
	}
#define CODE(name, faults, parameters, ...)                              \
	int __real_##name parameters;                                    \
	int __wrap_##name parameters                                     \
	{                                                                \
		int error = fault(CALL_##name, #name, faults);           \
                                                                         \
		if (!error && (error = __real_##name(__VA_ARGS__)) == 0) \
			succeeded(CALL_##name, 0);                       \
		return error;                                            \
	}
#define OWN(name)

#include "calls.h"

int __real_close(int fd);
int __wrap_close(int fd)
{
	int error = FAULT(close, EIO, EINTR), result = __real_close(fd);

	if (error && result == 0) { /* as Linux does it: closed all the same */
		errno = error;
		return -1;
	}
	if (result == 0)
		succeeded(CALL_close, 0);
	return result;
}

int __real_execv(const char *path, char *const words[]);
int __wrap_execv(const char *path, char *const words[])
{
	int error = FAULT(execv, ENOMEM, EAGAIN);
	char plan[64];

	if (!error && now.ledger) {
		snprintf(plan, sizeof plan, "%d %lu %d %d", now.ledger, draw(), now.runs, now.drives);
		setenv("KM_FAULTS", plan, 1);
		report();
	}
	errno = error;
	return error ? -1 : __real_execv(path, words);
}

int __real_execve(const char *path, char *const words[], char *const environment[]);
int __wrap_execve(const char *path, char *const words[], char *const environment[])
{
	int error = FAULT(execve, ENOMEM, EAGAIN);

	if (!error)
		report();
	errno = error;
	return error ? -1 : __real_execve(path, words, environment);
}

int __real_execvp(const char *path, char *const words[]);
int __wrap_execvp(const char *path, char *const words[])
{
	int error = FAULT(execvp, ENOMEM, EAGAIN);

	if (!error)
		report();
	errno = error;
	return error ? -1 : __real_execvp(path, words);
}

int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...)
{
	int error = FAULT(fcntl, EINTR, ENOMEM), result;
	va_list more;
	long value;

	va_start(more, what);
	value = va_arg(more, long);
	va_end(more);
	if (error) {
		errno = error;
		return -1;
	}
	result = __real_fcntl(fd, what, value);
	if (result >= 0)
		succeeded(CALL_fcntl, 0);
	return result;
}

pid_t __real_fork(void);
pid_t __wrap_fork(void)
{
	int error = FAULT(fork, EAGAIN, ENOMEM, KILLED);
	unsigned long seed = draw();
	pid_t child;

	if (error && error != KILLED) {
		errno = error;
		return -1;
	}
	child = __real_fork();
	if (child == 0) {
		now.self = getpid();
		now.child = 1;
		now.row = NULL;
		now.inside = 0;
		now.injected = now.planned = 0;
		memset(calls, 0, sizeof calls);
		begin(seed, now.mean != 0);
	} else if (child > 0) {
		succeeded(CALL_fork, 0);
		if (error == KILLED)
			kill(child, SIGKILL);
	}
	return child;
}

mqd_t __real_mq_open(const char *name, int flags, ...);
mqd_t __wrap_mq_open(const char *name, int flags, ...)
{
	int error = FAULT(mq_open, EMFILE, ENOSPC, EINTR);
	struct mq_attr *attributes;
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = va_arg(more, mode_t);
	attributes = va_arg(more, struct mq_attr *);
	va_end(more);
	errno = error;
	return error ? (mqd_t)-1 : __real_mq_open(name, flags, mode, attributes);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int error = FAULT(open, EINTR, EMFILE, ENOSPC, ENOMEM), fd;
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (error) {
		errno = error;
		return -1;
	}
	fd = __real_open(path, flags, mode);
	if (fd >= 0)
		succeeded(CALL_open, 0);
	return fd;
}

int __real_pipe(int end[2]);
int __wrap_pipe(int end[2])
{
	int error = FAULT(pipe, EMFILE, ENFILE, SMALL, FULL);

	if (error && error < SHORT) {
		errno = error;
		return -1;
	}
	if (__real_pipe(end) != 0)
		return -1;
	succeeded(CALL_pipe, 0);
	if (error == SMALL)
		__real_fcntl(end[1], F_SETPIPE_SZ, 4096L);
	if (error == FULL)
		__real_fcntl(end[1], F_SETFL, (long)O_NONBLOCK);
	return 0;
}

/* Of n bytes, as many as a call that is cut short moves. */
static size_t part(int error, size_t n)
{
	return error == SHORT && n > 1 ? 1 + draw() % (n - 1) : n;
}

static ssize_t moved(int call, ssize_t bytes)
{
	if (bytes >= 0)
		succeeded(call, bytes);
	return bytes;
}

ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n)
{
	int error = FAULT(read, EINTR, EAGAIN, EIO, SHORT);

	errno = error;
	return error && error != SHORT ? -1 : moved(CALL_read, __real_read(fd, to, part(error, n)));
}

ssize_t __wrap_write(int fd, const void *from, size_t n)
{
	int error = FAULT(write, EINTR, EAGAIN, ENOSPC, SHORT);

	errno = error;
	return error && error != SHORT ? -1 : moved(CALL_write, __real_write(fd, from, part(error, n)));
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	int error = FAULT(syscall, EINTR, ENOMEM, EAGAIN);
	long a[6], result;
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	if (error) {
		errno = error;
		return -1;
	}
	result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (result != -1)
		succeeded(CALL_syscall, 0);
	return result;
}

/* The call is the last thing here, so that the compiler makes it a jump: vfork returns twice, into its caller. */
pid_t __real_vfork(void);
pid_t __wrap_vfork(void)
{
	int error = FAULT(vfork, EAGAIN, ENOMEM);

	if (error) {
		errno = error;
		return -1;
	}
	succeeded(CALL_vfork, 0);
	return __real_vfork();
}

/* musl's stdio writes what its buffer held by this function; a descriptor that cannot be written makes it fail. */
size_t __real___stdio_write(FILE *f, const unsigned char *from, size_t n);
size_t __wrap___stdio_write(FILE *f, const unsigned char *from, size_t n)
{
	int lost = f == stdout ? FAULT(__stdio_write, LOST) : 0, own = lost ? dup(1) : -1, none;
	size_t written;

	if (own < 0)
		return __real___stdio_write(f, from, n);
	none = __real_open("/dev/null", O_RDONLY);
	dup2(none, 1);
	written = __real___stdio_write(f, from, n);
	dup2(own, 1);
	__real_close(none);
	__real_close(own);
	return written;
}

/* The process. ---------------------------------------------------------------------------------------------------- */

/* The engine reads its meters right before and right after a sample. */
struct meter;
void __real_meter_sample_begin(struct meter *);
void __wrap_meter_sample_begin(struct meter *m)
{
	__real_meter_sample_begin(m);
	now.inside = 1;
}

void __real_meter_sample_end(struct meter *);
void __wrap_meter_sample_end(struct meter *m)
{
	now.inside = 0;
	__real_meter_sample_end(m);
}

uint64_t __real_clock_wall(void);
uint64_t __wrap_clock_wall(void)
{
	return __real_clock_wall() * (now.hurry ? now.hurry : 1);
}

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status)
{
	report();
	__real__exit(status);
}

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv)
{
	const char *words = getenv("KM_FAULTS");
	int ours = argc > 3 && strcmp(argv[1], "--internal") == 0;
	unsigned long seed;

	if (words && sscanf(words, "%d %lu %d %d", &now.ledger, &seed, &now.runs, &now.drives) == 4) {
		now.self = getpid();
		begin(seed, ours ? now.runs : now.drives);
		now.role = ours ? argv[2] : "driver";
		now.row = ours ? argv[argc - 1] : NULL;
		now.hurry = ours ? 1 : HURRY_TIME;
		for (int i = 1; i < argc && !ours; i++)
			if (strcmp(argv[i], "path") == 0)
				now.hurry = HURRY_PATH;
		words = getenv("KM_FAULT");
		if (words &&
		    sscanf(words, "%15s %23s %d %lu", now.at_who, now.at_call, &now.at_fault, &now.at_nth) != 4)
			now.at_nth = 0;
		atexit(report);
	}
	return __real_main(argc, argv);
}
