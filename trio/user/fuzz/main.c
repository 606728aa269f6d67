/* main.c: the fuzzer's command line, and its working folder. */
#include "fuzz.h"
#include "sequences.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
	"usage: fuzz [--seed N] [--calls N] [--processes N] [--from CALL] [--log] [--beat]\n"
	"       fuzz --sequences N [--seed N] [--from SEQUENCE] [--only NAME] [--log]\n"
	"Makes random system calls, or sequences of calls by several processes and threads, in a folder of its own;\n"
	"as an ordinary user unless this is Trio.\n"
	"  --seed N       of all that is random (1)\n"
	"  --calls N      in all (10000)\n"
	"  --processes N  that make them at the same time (4)\n"
	"  --sequences N  so many sequences, one after the other, and what each must leave as it was is looked at\n"
	"  --only NAME    of this kind: ";
static const char usage_more[] =
	"\n"
	"  --from K       begins with call K of each process, or with sequence K: makes again what an earlier run did\n"
	"  --log          tells each call, each sequence on the standard error before it is made\n"
	"  --beat         tells on the standard error each second how far it is\n"
	"Exit status: 0 done, 1 the kernel has fewer free pages than before or a sequence was broken,\n"
	"2 the command line or the folder, 128 + N stopped by signal N.\n";

struct options o = { .seed = 1, .calls = 10000, .processes = 4 };
volatile int stopped;
volatile pid_t at_work;

static void stop(int signal)
{
	stopped = signal;
	if (at_work > 0)
		kill(at_work, signal);
}

static void tell_usage(FILE *to, int status)
{
	fputs(usage, to);
	for (unsigned i = 0; i < sequence_count; i++)
		fprintf(to, "%s%s", i == 0 ? "" : i % 6 ? ", " : ",\n                 ", sequences[i].name);
	fputs(usage_more, to);
	exit(status);
}

static uint64_t number(char **argv, int i, uint64_t least, uint64_t most)
{
	char *end = "x";
	uint64_t n = argv[i] ? strtoull(argv[i], &end, 0) : 0;

	if (*end || n < least || n > most)
		tell_usage(stderr, 2);
	return n;
}

static const char *name_of_sequence(const char *name)
{
	for (unsigned i = 0; name && i < sequence_count; i++)
		if (strcmp(sequences[i].name, name) == 0)
			return name;
	tell_usage(stderr, 2);
	return NULL;
}

static void options(char **argv)
{
	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--seed") == 0)
			o.seed = number(argv, ++i, 0, UINT64_MAX);
		else if (strcmp(argv[i], "--calls") == 0)
			o.calls = number(argv, ++i, 1, 1ull << 40);
		else if (strcmp(argv[i], "--sequences") == 0)
			o.sequences = number(argv, ++i, 1, 1ull << 40);
		else if (strcmp(argv[i], "--processes") == 0)
			o.processes = (unsigned)number(argv, ++i, 1, PROCESSES_MOST);
		else if (strcmp(argv[i], "--from") == 0)
			o.from = number(argv, ++i, 0, 1ull << 40);
		else if (strcmp(argv[i], "--only") == 0)
			o.only = name_of_sequence(argv[++i]);
		else if (strcmp(argv[i], "--log") == 0)
			o.log = 1;
		else if (strcmp(argv[i], "--beat") == 0)
			o.beat = 1;
		else if (strcmp(argv[i], "--help") == 0)
			tell_usage(stdout, 0);
		else
			tell_usage(stderr, 2);
	}
}

int main(int argc, char **argv)
{
	const char *parent = getenv("TMPDIR");
	char folder[PATH_MAX];
	int result;

	(void)argc;
	options(argv);
	o.on_trio = pages_now().free >= 0;
	o.root = geteuid() == 0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	signal(SIGHUP, stop);
	umask(0);
	snprintf(folder, sizeof folder, "%s/fuzz.XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(folder) || chmod(folder, 0711) < 0 || chdir(folder) < 0) {
		fprintf(stderr, "fuzz: %s: %s\n", folder, strerror(errno));
		return 2;
	}
	result = o.sequences ? make_sequences() : make_calls();
	if (chdir("/") == 0)
		remove_tree(folder);
	return stopped ? 128 + stopped : result;
}
