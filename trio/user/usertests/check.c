/* check.c: what a check prints, and helpers for tests. A check that does not hold ends the process at once. */
#include "usertests.h"

#include <stdarg.h>
#include <grp.h>

static const char *name_of(int error)
{
#define NAME(e) [e] = #e
	static const char *const names[] = {
		[0] = "0",        NAME(EPERM),        NAME(ENOENT),          NAME(ESRCH),
		NAME(EINTR),      NAME(EIO),          NAME(ENXIO),           NAME(E2BIG),
		NAME(ENOEXEC),    NAME(EBADF),        NAME(ECHILD),          NAME(EAGAIN),
		NAME(ENOMEM),     NAME(EACCES),       NAME(EFAULT),          NAME(EBUSY),
		NAME(EEXIST),     NAME(EXDEV),        NAME(ENODEV),          NAME(ENOTDIR),
		NAME(EISDIR),     NAME(EINVAL),       NAME(ENFILE),          NAME(EMFILE),
		NAME(ENOTTY),     NAME(ETXTBSY),      NAME(EFBIG),           NAME(ENOSPC),
		NAME(ESPIPE),     NAME(EROFS),        NAME(EMLINK),          NAME(EPIPE),
		NAME(EDOM),       NAME(ERANGE),       NAME(EDEADLK),         NAME(ENAMETOOLONG),
		NAME(ENOSYS),     NAME(ENOTEMPTY),    NAME(ELOOP),           NAME(EOVERFLOW),
		NAME(ENOTSOCK),   NAME(EDESTADDRREQ), NAME(EMSGSIZE),        NAME(EISCONN),
		NAME(EPROTOTYPE), NAME(ENOPROTOOPT),  NAME(EADDRINUSE),      NAME(EOPNOTSUPP),
		NAME(ENOTCONN),   NAME(EAFNOSUPPORT), NAME(EPROTONOSUPPORT), NAME(ECONNREFUSED),
		NAME(ECONNRESET), NAME(ENOBUFS),      NAME(ETIMEDOUT),       NAME(ESOCKTNOSUPPORT),
		NAME(EIDRM),
	};
#undef NAME
	static char number[16];

	if (error >= 0 && error < (int)(sizeof names / sizeof names[0]) && names[error])
		return names[error];
	snprintf(number, sizeof number, "errno %d", error);
	return number;
}

const char *test_running = "";

/* One write, so that lines of a test and of its child do not mix. */
static void say(const char *kind, const char *text)
{
	char line[1024];
	int n = snprintf(line, sizeof line, "%s %s: %s\n", kind, test_running, text);

	if (n >= (int)sizeof line) {
		n = (int)sizeof line - 1;
		line[n - 1] = '\n';
	}
	if (write(1, line, (size_t)n) < 0)
		_exit(FAILED);
}

void fail(const char *format, ...)
{
	char text[900];
	va_list more;

	va_start(more, format);
	vsnprintf(text, sizeof text, format, more);
	va_end(more);
	say("FAIL", text);
	_exit(FAILED);
}

void skip(const char *why)
{
	say("skip", why);
	_exit(SKIPPED);
}

long check_ok(long got, const char *call, const char *file, int line)
{
	if (got < 0)
		fail("%s: wanted no error, got %ld (%s) [%s:%d]", call, got, name_of(errno), file, line);
	return got;
}

long check_is(long got, long wanted, const char *call, const char *file, int line)
{
	if (got != wanted)
		fail("%s: wanted %ld, got %ld (%s) [%s:%d]", call, wanted, got, got == -1 ? name_of(errno) : "no error",
		     file, line);
	return got;
}

void check_fails(long got, int wanted, const char *call, const char *file, int line)
{
	char wanted_name[32];
	int error = errno;

	snprintf(wanted_name, sizeof wanted_name, "%s", name_of(wanted));
	if (got != -1)
		fail("%s: wanted -1 (%s), got %ld [%s:%d]", call, wanted_name, got, file, line);
	if (error != wanted)
		fail("%s: wanted -1 (%s), got -1 (%s) [%s:%d]", call, wanted_name, name_of(error), file, line);
}

void check_true(int holds, const char *condition, const char *file, int line)
{
	if (!holds)
		fail("%s: wanted true, got false (%s) [%s:%d]", condition, name_of(errno), file, line);
}

/* Below the lowest mapping; in the kernel's half; not canonical; in a page without rights. */
void *wild_pointer(int number)
{
	static char *page;

	if (!page)
		page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	switch (number) {
	case 0:
		return (void *)16;
	case 1:
		return (void *)0xffff800000001000;
	case 2:
		return (void *)0x8000000000001000;
	default:
		return page;
	}
}

pid_t fork_checked(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork(): %s", name_of(errno));
	return pid;
}

pid_t fork_paused(void)
{
	pid_t pid = fork_checked();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

int reap(pid_t pid)
{
	int status;
	pid_t got;

	while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (got != pid)
		fail("waitpid(%d): got %d (%s)", pid, got, name_of(errno));
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	if (WEXITSTATUS(status) == FAILED || WEXITSTATUS(status) == SKIPPED)
		_exit(WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

int in_child(pid_t *pid, int status, const char *file, int line)
{
	if (*pid > 0) {
		check_is(reap(*pid), status, "the child's status", file, line);
		return 0;
	}
	if (*pid < 0)
		_exit(0);
	*pid = -1;
	return 1;
}

void kill_and_reap(pid_t pid)
{
	OK(kill(pid, SIGKILL));
	IS(reap(pid), 128 + SIGKILL);
}

void execute_self(void)
{
	char *argv[] = { "usertests", "no-such-test-has-this-name", NULL }, *envp[] = { NULL };

	OK(close(1));
	OK(close(2));
	execve("/proc/self/exe", argv, envp);
	_exit(1);
}

int is_root(void)
{
	return geteuid() == 0;
}

void only_for_root(void)
{
	if (!is_root())
		skip("only for root");
}

void become_ordinary(void)
{
	if (!is_root())
		return;
	OK(setgroups(0, NULL));
	OK(setresgid(OTHER_USER, OTHER_USER, OTHER_USER));
	OK(setresuid(OTHER_USER, OTHER_USER, OTHER_USER));
}

char *mapped(size_t size, int protection, int flags, int fd)
{
	return (char *)OK(mmap(NULL, size, protection, flags, fd, 0));
}

char *room(size_t size)
{
	return mapped(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void *shared_room(size_t size)
{
	return mapped(size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
}

void make_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || close(fd) < 0)
		fail("making the file %s: %s", name, name_of(errno));
}

int made_file(const char *name, const char *text, int flags)
{
	make_file(name, text);
	return (int)OK(open(name, flags));
}

int file_is(const char *name, const char *text)
{
	char got[4096];
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof got);

	close(fd);
	return n == (ssize_t)strlen(text) && memcmp(got, text, (size_t)n) == 0;
}

long file_size(const char *name)
{
	struct stat st;

	return stat(name, &st) < 0 ? -1 : (long)st.st_size;
}

struct stat status_of(const char *name)
{
	struct stat st;

	OK(lstat(name, &st));
	return st;
}

int is_same(const char *name, const char *other)
{
	struct stat a, b;

	OK(stat(name, &a));
	OK(stat(other, &b));
	return a.st_ino == b.st_ino;
}

void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * MS };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

void work_ms(long ms)
{
	for (long until = now_ms() + ms; now_ms() < until;)
		for (volatile int n = 0; n < 20000; n++)
			;
}

void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = handler;
	sa.sa_flags = flags;
	OK(sigaction(signal, &sa, NULL));
}

void handle_info(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	OK(sigaction(signal, &sa, NULL));
}

volatile int caught[65];
siginfo_t last_info;

void catch(int signal)
{
	caught[signal]++;
}

void catch_info(int signal, siginfo_t *info, void *context)
{
	(void)context;
	caught[signal]++;
	last_info = *info;
}

sigset_t set_of(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	if (signal)
		sigaddset(&set, signal);
	return set;
}

void block(int signal)
{
	sigset_t set = set_of(signal);

	OK(sigprocmask(SIG_BLOCK, &set, NULL));
}

void unblock(int signal)
{
	sigset_t set = set_of(signal);

	OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
}

void tick(long ms, void (*handler)(int), int flags)
{
	struct itimerval every = { { 0, ms * 1000 }, { 0, ms * 1000 } };

	if (ms > 0)
		handle(SIGALRM, handler, flags);
	OK(setitimer(ITIMER_REAL, &every, NULL));
}

long read_all(int fd, char *to, size_t most)
{
	size_t got = 0;
	long n;

	while (got < most && (n = OK(read(fd, to + got, most - got))) > 0)
		got += (size_t)n;
	return (long)got;
}

void put(int fd)
{
	char byte = 'x';

	IS(write(fd, &byte, 1), 1);
}

void get(int fd)
{
	char byte;
	ssize_t n;

	while ((n = read(fd, &byte, 1)) < 0 && errno == EINTR)
		;
	IS(n, 1);
}

int is_pending(int signal)
{
	sigset_t set;

	OK(sigpending(&set));
	return sigismember(&set, signal);
}

int pages_there(char *at, int pages)
{
	unsigned char there[64];
	int sum = 0;

	OK(mincore(at, (size_t)(pages * PAGE), there));
	for (int i = 0; i < pages; i++)
		sum += there[i] & 1;
	return sum;
}

pthread_t start_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, argument);

	if (error)
		fail("pthread_create: %s", strerror(error));
	return thread;
}

int events_of(int fd, int events)
{
	struct pollfd p = { fd, (short)events, 0 };

	OK(poll(&p, 1, 0));
	return p.revents;
}

void send_fd(int socket, int fd)
{
	IS(send_fds(socket, &fd, 1), 1);
}

int take_fd(int socket)
{
	int fd;

	IS(take_fds(socket, &fd, 1, MSG_DONTWAIT), 1);
	return fd;
}

struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	return name;
}

int bound(int type, const char *path)
{
	struct sockaddr_un name = address_of(path);
	int fd = (int)OK(socket(AF_UNIX, type, 0));

	OK(bind(fd, (struct sockaddr *)&name, sizeof name));
	return fd;
}

int connect_to(int fd, const char *path)
{
	struct sockaddr_un name = address_of(path);

	return connect(fd, (struct sockaddr *)&name, sizeof name);
}
