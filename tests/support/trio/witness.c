/* witness.c: the first process of a machine with a hostile service: does what each service is for, says the word that
 * the service waits for, and does it again. Each doing is a process, that is killed if it does not end. Its words go to
 * the debug port and its end to the exit device, so that it needs no service for them.
 *
 * `name: outcome`, where the outcome is ok, what was refused (EIO), WRONG (other data), signal N, or that it hung, and
 * was killed or could not be. */
#define _GNU_SOURCE
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORD "HOSTILE!"
#define WORD_NUMBER 0x48535421UL
#define WORD_LENGTH 77
#define BULK_PORT 0xe9
#define EXIT_PORT 0xf4
#define WRONG 200
/* Of cycles as there are in a second at most. */
#define PATIENCE 3000000000UL
#define BYTES 20000

static char pattern[BYTES], read_back[BYTES];

static void say(const char *format, ...)
{
	char line[128];
	const char *at = line;
	va_list list;
	unsigned long n;

	va_start(list, format);
	n = (unsigned long)vsnprintf(line, sizeof line, format, list);
	va_end(list);
	__asm__ volatile("rep outsb" : "+S"(at), "+c"(n) : "d"(BULK_PORT) : "memory");
}

static uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* What each service is for: 0, an errno, or WRONG. ---------------------------------------------------------------- */

static int memory(void)
{
	char *more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (more == MAP_FAILED)
		return errno;
	for (size_t i = 0; i < 1 << 20; i += 4096) {
		if (more[i])
			return WRONG;
		more[i] = 1;
	}
	for (size_t i = 0; i < BYTES; i++)
		if (pattern[i] != (char)(i * 7))
			return WRONG;
	return munmap(more, 1 << 20) == 0 ? 0 : errno;
}

static int forks(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return errno;
	if (child == 0)
		_exit((status = memory()) == 0 ? 7 : status);
	if (waitpid(child, &status, 0) != child)
		return errno;
	if (!WIFEXITED(status))
		return WRONG;
	return WEXITSTATUS(status) == 7 ? 0 : WEXITSTATUS(status);
}

/* A file that was written before; then the same again. */
static int file_in(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	ssize_t n;

	if (fd < 0)
		return errno;
	n = pread(fd, read_back, sizeof read_back, 0);
	if (n < 0)
		return errno;
	if (n != 0 && (n != BYTES || memcmp(pattern, read_back, BYTES) != 0))
		return WRONG;
	if (pwrite(fd, pattern, BYTES, 0) != BYTES || fsync(fd) != 0)
		return errno;
	return close(fd) == 0 ? 0 : errno;
}

static int file(void)
{
	return file_in("/tmp/file");
}

static int disk_file(void)
{
	return file_in("/disk/file");
}

static int bytes_of(const char *path, int flags, size_t n)
{
	int fd = open(path, flags);
	ssize_t done;

	if (fd < 0)
		return errno;
	done = flags == O_RDONLY ? read(fd, read_back, n) : write(fd, "\r", 1);
	return done > 0 && close(fd) == 0 ? 0 : done == 0 ? WRONG : errno;
}

static int disk(void)
{
	return bytes_of("/dev/ram0", O_RDONLY, 4096);
}

static int display(void)
{
	return bytes_of("/dev/fb0", O_RDONLY, 4096);
}

static int console(void)
{
	return bytes_of("/dev/console", O_WRONLY, 1);
}

static int maps(void)
{
	return bytes_of("/proc/self/maps", O_RDONLY, 4096);
}

/* All servers' words about themselves are read for it. */
static int counters(void)
{
	return bytes_of("/proc/trio/counters", O_RDONLY, BYTES);
}

static int pipes(void)
{
	int ends[2];
	char c = 0;

	if (pipe(ends) != 0 || write(ends[1], "p", 1) != 1 || read(ends[0], &c, 1) != 1)
		return errno;
	close(ends[0]);
	close(ends[1]);
	return c == 'p' ? 0 : WRONG;
}

/* Of a kernel without a network there is nothing to see. */
static int network(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;
	int listens = socket(AF_INET, SOCK_STREAM, 0), asks, end;
	char c = 0;
	ssize_t n;

	if (listens < 0)
		return errno == EAFNOSUPPORT ? 0 : errno;
	if (bind(listens, (struct sockaddr *)&at, size) != 0 || listen(listens, 1) != 0 ||
	    getsockname(listens, (struct sockaddr *)&at, &size) != 0 || (asks = socket(AF_INET, SOCK_STREAM, 0)) < 0 ||
	    connect(asks, (struct sockaddr *)&at, size) != 0 || (end = accept(listens, NULL, NULL)) < 0 ||
	    write(asks, "n", 1) != 1 || (n = read(end, &c, 1)) < 0)
		return errno;
	if (close(end) != 0 || close(asks) != 0 || close(listens) != 0)
		return errno;
	return n == 1 && c == 'n' ? 0 : WRONG;
}

static int now(void)
{
	struct timespec t;

	return syscall(SYS_clock_gettime, CLOCK_REALTIME, &t) == 0 ? 0 : errno;
}

static int sleeps(void)
{
	struct timespec t = { 0, 5000000 };

	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL) == 0 ? 0 : errno;
}

static volatile sig_atomic_t came;

static void handle(int signal)
{
	came = signal;
}

static int signals(void)
{
	came = 0;
	if (signal(SIGUSR1, handle) == SIG_ERR || raise(SIGUSR1) != 0)
		return errno;
	return came == SIGUSR1 ? 0 : WRONG;
}

static const struct {
	const char *name;
	int (*run)(void);
} doings[] = {
	{ "memory", memory },   { "fork", forks },          { "file", file },         { "pipe", pipes },
	{ "disk", disk },       { "disk file", disk_file }, { "maps", maps },         { "clock", now },
	{ "sleep", sleeps },    { "signal", signals },      { "counters", counters }, { "console", console },
	{ "display", display }, { "network", network },
};
#define DOINGS (sizeof doings / sizeof doings[0])

/* Rounds ---------------------------------------------------------------------------------------------------------- */

static const char *word_of(int status)
{
	static char word[32];

	if (WIFSIGNALED(status))
		snprintf(word, sizeof word, "signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == 0)
		return "ok";
	else if (WEXITSTATUS(status) == WRONG)
		return "WRONG";
	else if (WEXITSTATUS(status) == EIO)
		return "EIO";
	else
		snprintf(word, sizeof word, "errno %d", WEXITSTATUS(status));
	return word;
}

/* 1: it ended; 0: it has not, for so many cycles; -1: nobody knows. */
static int ends(pid_t child, int *status, uint64_t patience)
{
	uint64_t begin = cycles();

	while (cycles() - begin < patience) {
		pid_t ended = waitpid(child, status, WNOHANG);

		if (ended == child)
			return 1;
		if (ended < 0)
			return -1;
		sched_yield();
	}
	return 0;
}

static const char *done(int (*run)(void))
{
	pid_t child = fork();
	int status = 0, ended;

	if (child < 0)
		return word_of(errno << 8);
	if (child == 0)
		_exit(run());
	ended = ends(child, &status, PATIENCE);
	if (ended != 0)
		return word_of(ended == 1 ? status : errno << 8);
	kill(child, SIGKILL);
	return ends(child, &status, 4 * PATIENCE) == 1 ? "hung, killed" : "hung for good";
}

static void round_of(const char *which, int is_alone)
{
	static char has_hung[DOINGS];

	for (size_t i = 0; i < DOINGS; i++) {
		const char *word;

		if (has_hung[i])
			continue;
		word = is_alone ? word_of(doings[i].run() << 8) : done(doings[i].run);
		has_hung[i] = word[0] == 'h';
		say("%s %s: %s\n", which, doings[i].name, word);
	}
}

/* Each service hears the word in its own way; who does not answer to it answers to nobody else either. */
static int tell(void)
{
	static char words[4096];
	struct sockaddr_in to = { AF_INET, 9, { htonl(WORD_NUMBER) }, { 0 } };
	struct timespec t;
	int fd;

	for (size_t i = 0; i < sizeof words; i += sizeof WORD - 1)
		memcpy(words + i, WORD, sizeof WORD - 1);
	syscall(SYS_clock_gettime, (clockid_t)WORD_NUMBER, &t);
	(void)!mmap((void *)WORD_NUMBER, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_getpgid, (pid_t)WORD_NUMBER);
	if ((fd = open("/dev/console", O_WRONLY)) >= 0) {
		(void)!write(fd, words, WORD_LENGTH);
		close(fd);
	}
	if ((fd = open("/dev/fb0", O_RDWR)) >= 0) {
		(void)!write(fd, words, sizeof words);
		close(fd);
	}
	if ((fd = open("/dev/ram0", O_RDWR)) >= 0) {
		(void)!pwrite(fd, words, sizeof words, 8 << 20);
		fsync(fd);
		close(fd);
	}
	if ((fd = socket(AF_INET, SOCK_DGRAM, 0)) >= 0) {
		(void)!sendto(fd, words, sizeof WORD, 0, (struct sockaddr *)&to, sizeof to);
		close(fd);
	}
	if (chdir("/disk") == 0 && (fd = open(WORD, O_RDWR | O_CREAT, 0600)) >= 0)
		close(fd);
	if (chdir("/") == 0)
		(void)!access(WORD, F_OK);
	return 0;
}

static void copy(const char *from, const char *to)
{
	static char some[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY);
	ssize_t n;

	if (in < 0 || out < 0) {
		say("copy: errno %d\n", errno);
		return;
	}
	while ((n = read(in, some, sizeof some)) > 0)
		if (write(out, some, (size_t)n) != n)
			say("copy: errno %d\n", errno);
	fsync(out);
	close(in);
	close(out);
}

/* Alone: no process is made for what it does. With /rests it gives time to who is woken twice a second. */
int main(void)
{
	struct timespec rest = { 1, 200000000 };

	if (ioperm(BULK_PORT, 1, 1) != 0 || ioperm(EXIT_PORT, 4, 1) != 0)
		return 1;
	for (size_t i = 0; i < BYTES; i++)
		pattern[i] = (char)(i * 7);
	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 0755);
	mkdir("/disk", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	copy("/disk.image", "/dev/ram0");
	if (mount("/dev/ram0", "/disk", "minix", 0, NULL) != 0)
		say("mount: errno %d\n", errno);
	round_of("before", 0);
	say("told: %s\n", done(tell));
	if (access("/rests", F_OK) == 0)
		nanosleep(&rest, NULL);
	round_of("between", 0);
	round_of("after", 0);
	round_of("alone", 1);
	say("end\n");
	outl(0, EXIT_PORT);
	_exit(0);
}
