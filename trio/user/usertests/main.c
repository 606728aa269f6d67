/* main.c: runs the tests, each in a forked process that leads a session, in a folder of its own, with a time limit. On
 * Trio it counts the free pages around each test; a test that does not give them back fails. */
#include "usertests.h"

#define RUNS_FOR_PAGES 4 /* after the first run, which fills caches; one run without a loss suffices */

extern const struct test *const __start_tests[], *const __stop_tests[];

static const char usage[] = "usage: usertests [-l|-o] [NAME|PREFIX...]\n"
			    "Asks the system calls of this kernel what they do; wants what Linux does.\n"
			    "  -l  lists the tests and their questions\n"
			    "  -o  root becomes an ordinary user first\n"
			    "Exit status: 0 all passed, 1 a test failed, 2 the command line or the folder,\n"
			    "128 + N stopped by signal N.\n";

static volatile pid_t running; /* the test's session */
static volatile int too_long, stopped;

static void stop_test(int signal)
{
	if (signal == SIGALRM)
		too_long = 1;
	else
		stopped = signal;
	if (running > 0)
		kill(-running, SIGKILL);
}

static void in_test(const struct test *test)
{
	setsid();
	handle(SIGALRM, SIG_DFL, 0);
	handle(SIGINT, SIG_DFL, 0);
	handle(SIGTERM, SIG_DFL, 0);
	test_running = test->name;
	errno = 0;
	test->run();
	_exit(PASSED);
}

/* Returns PASSED, SKIPPED or FAILED, and prints what the test's process could not print itself. */
static int run_once(const struct test *test)
{
	int status, result;
	pid_t pid;

	if (mkdir(test->name, 0755) < 0 || chdir(test->name) < 0)
		return printf("FAIL %s: no folder: %s\n", test->name, strerror(errno)), FAILED;
	fflush(stdout);
	too_long = 0;
	pid = fork();
	if (pid == 0)
		in_test(test);
	if (pid < 0)
		return printf("FAIL %s: fork: %s\n", test->name, strerror(errno)), FAILED;
	running = pid;
	alarm(TIME_LIMIT);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	alarm(0);
	kill(-pid, SIGKILL);
	if (chdir("..") == 0)
		remove_tree(test->name);
	result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	if (result == PASSED || result == SKIPPED || result == FAILED)
		return result;
	if (too_long)
		printf("FAIL %s: not done after %d s\n", test->name, TIME_LIMIT);
	else if (result >= 0)
		printf("FAIL %s: its process left with %d\n", test->name, result);
	else
		printf("FAIL %s: its process was ended by signal %d\n", test->name, WTERMSIG(status));
	return FAILED;
}

static int loses_pages(const struct test *test)
{
	struct pages before = { 0, 0 }, after = { 0, 0 };

	for (int i = 0; i < RUNS_FOR_PAGES; i++) {
		before = pages_now();
		if (run_once(test) == FAILED)
			return 1;
		after = pages_settled(before);
		if (!pages_missing(before, after))
			return 0;
	}
	printf("FAIL %s: %ld pages were free before, %ld after it; %ld promised, %ld after it\n", test->name,
	       before.free, after.free, before.promised, after.promised);
	return 1;
}

static int run_test(const struct test *test, int on_trio)
{
	int result = run_once(test);

	if (result == PASSED && on_trio && !(test->flags & ORPHANS) && loses_pages(test))
		result = FAILED;
	if (result == PASSED)
		printf("ok %s\n", test->name);
	fflush(stdout);
	return result;
}

static int asked_for(const struct test *test, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (strncmp(test->name, names[i], strlen(names[i])) == 0)
			return 1;
	return n == 0;
}

static int list(void)
{
	for (const struct test *const *t = __start_tests; t < __stop_tests; t++)
		printf("%-28s %s\n", (*t)->name, (*t)->question);
	return 0;
}

static int enter_folder(char *folder, size_t size)
{
	const char *parent = getenv("TMPDIR");

	snprintf(folder, size, "%s/usertests.XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0 || chdir(folder) < 0) {
		fprintf(stderr, "usertests: %s: %s\n", folder, strerror(errno));
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int count[256] = { 0 }, on_trio = pages_now().free >= 0, chosen = 0;
	char folder[PATH_MAX];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "-l") == 0)
		return list();
	if (argc > 1 && strcmp(argv[1], "-o") == 0) {
		become_ordinary();
		argc--;
		argv++;
	}
	if (argc > 1 && argv[1][0] == '-')
		return fputs(usage, stderr), 2;
	if (enter_folder(folder, sizeof folder) < 0)
		return 2;
	umask(022);
	for (int number = 1; number < NSIG; number++) /* nohup and a shell's background jobs ignore some */
		signal(number, SIG_DFL);
	handle(SIGALRM, stop_test, 0);
	handle(SIGINT, stop_test, 0);
	handle(SIGTERM, stop_test, 0);
	for (const struct test *const *t = __start_tests; t < __stop_tests && !stopped; t++)
		if (asked_for(*t, argv + 1, argc - 1)) {
			chosen++;
			count[run_test(*t, on_trio)]++;
		}
	if (chdir("/") == 0)
		remove_tree(folder);
	printf("usertests: %d ok, %d failed, %d skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
	if (chosen == 0)
		return fputs("usertests: no test has such a name; -l lists them\n", stderr), 2;
	return stopped ? 128 + stopped : count[FAILED] > 0;
}
