/* hostile.c: what a program can do against its kernel on purpose: what is forbidden (hostile_forbidden.c), damaged
 * programs, and as much of everything as there is (hostile_takes.c). Each kind is a name; without one, all. Prints a
 * line a kind; status 1: something was allowed, who took too much was ended and not refused, or pages are not free or
 * still promised afterwards. Trio alone tells those. */
#include "hostile.h"

/* Pages that the kernel's services may keep at one time and not at another: one for each of seven sizes. */
#define KEPT 7

static long counter(const char *name)
{
	static char text[65536];
	int fd = open("/proc/trio/counters", O_RDONLY);
	const char *at;

	memset(text, 0, sizeof text);
	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof text - 1) < 0)
		return -1;
	close(fd);
	at = strstr(text, name);
	return at ? atol(at + strlen(name)) : -1;
}

int fate(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		what();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* This program with some bytes of its headers changed, many times: it may run, or not, and nothing else. */
static int damaged_programs(void)
{
	static uint8_t program[1 << 20];
	int from = open("/proc/self/exe", O_RDONLY);
	ssize_t size = read(from, program, sizeof program);
	uint64_t state = 1;

	close(from);
	if (size < 1024)
		return 1;
	for (int round = 0; round < 150; round++) {
		uint8_t spoilt[1024];
		int fd = open("/tmp/spoilt", O_WRONLY | O_CREAT | O_TRUNC, 0755), status;
		pid_t pid;

		memcpy(spoilt, program, sizeof spoilt);
		for (int n = 1 + round % 4; n > 0; n--) {
			static const uint8_t some[] = { 0, 1, 0x7f, 0x80, 0xff };

			state = state * 6364136223846793005u + 1442695040888963407u;
			spoilt[(state >> 33) % (round % 2 ? 64 : 456)] = some[(state >> 20) % sizeof some];
		}
		if (write(fd, spoilt, sizeof spoilt) < 0 || write(fd, program + 1024, (size_t)size - 1024) < 0)
			return 1;
		close(fd);
		pid = fork();
		if (pid == 0) {
			struct rlimit limit = { 2, 2 };

			setrlimit(RLIMIT_CPU, &limit);
			alarm(2);
			execl("/tmp/spoilt", "spoilt", "nothing", NULL);
			_exit(99);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return 1;
	}
	unlink("/tmp/spoilt");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} kinds[] = {
	{ "forbidden", all_forbidden }, { "programs", damaged_programs }, { "processes", many_processes },
	{ "threads", threads },         { "descriptors", descriptors },   { "rights", rights },
	{ "memory", memory },           { "shared", shared_memory },      { "mappings", mappings },
	{ "recursion", recursion },     { "files", fill_files },          { "forks", forks },
	{ "break", program_break },     { "execute", execution },
};

/* In a process of its own: what it has taken goes with it. */
static int apart(unsigned kind)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(kinds[kind].run());
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static const struct timespec pause_ns = { 0, 20000000 };

/* Once it stays as it is: what ended before is given back by shares. On a busy host it may stay so too early. */
static long settled(const char *name)
{
	long now = counter(name), before;

	do {
		before = now;
		nanosleep(&pause_ns, NULL);
		now = counter(name);
	} while (now != before);
	return now;
}

/* Twice: tables that the kernel keeps and services' spare pages are there after the first time. */
static int run(unsigned kind, long promised)
{
	int wrong = apart(kind);
	long before = settled("free_pages "), after = 0, still = 0;

	wrong |= apart(kind);
	for (int i = 0; i < 50; i++) {
		after = counter("free_pages ");
		still = counter("promised_pages ");
		if (after >= before && still == promised)
			break;
		nanosleep(&pause_ns, NULL);
	}
	wrong |= after + KEPT < before || still != promised;
	printf("%s %s: free pages %ld, then %ld, promised %ld, then %ld\n", wrong ? "FAIL" : "ok", kinds[kind].name,
	       before, after, promised, still);
	return wrong;
}

int main(int argc, char **argv)
{
	long promised = counter("promised_pages "); /* before anything was taken */
	int wrong = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (argc < 2 || strcmp(argv[1], kinds[i].name) == 0)
			wrong |= run(i, promised);
	return wrong;
}
