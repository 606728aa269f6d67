/* main.c: the command line. */
#include "engine.h"

static const char usage[] =
	"usage: probe [--by time|path] [--profile quick|full] [OPTION...] [ROW...]\n"
	"       probe [OPTION...] -- COMMAND [ARGUMENT...]\n"
	"       probe --wait\n"
	"       probe --list [--json] [--profile quick|full] [ROW...]\n"
	"\n"
	"Measures the kernel that it runs on and prints one JSON object a line. A ROW is a workload's name, a row's\n"
	"name (ctx/pipe-pair@same-cpu; syscall/getpid@ without its other rows) or a pattern (syscall/*); without a "
	"ROW\n"
	"it measures the whole profile. With -- it times that command. With --wait it loops until an emulator\n"
	"writes a command into its memory.\n"
	"\n"
	"  --runs N          timed runs of each row, each in a fresh process (5; by path 1)\n"
	"  --budget S        add further runs until the whole call has taken S seconds (0)\n"
	"  --half-width P    or until a row's relative 95 % half-width between runs is below P (0.01)\n"
	"  --seconds S       sampling time in one run of one row (0.02)\n"
	"  --samples N       samples in one run, at most (200)\n"
	"  --batch N[/M]     iterations in one sample, M of what is subtracted from it; 0: calibrate (0)\n"
	"  --batch ID=N[/M],...  the same for single rows, by their ids (--list --json)\n"
	"  --only WHAT       calibrate, count or time: only that step by time;\n"
	"                    define: only header and definitions\n"
	"  --clock NAME      time with this clock (monotonic, or gettimeofday)\n"
	"  --cpu N           pin to this CPU; -1: the last one allowed (-1)\n"
	"  --seed N          seed of the order of rows and of the numbers that workloads draw (1)\n"
	"  --dir DIR         directory for temporary files (TMPDIR, or /tmp)\n"
	"  --disk KIND=DIR   a directory on ext4 or minix (version 3), for rows that need one (by path)\n"
	"  --no-disk KIND=REASON   why there is none\n"
	"  --no-program NAME=REASON   why a program is missing\n"
	"  --first-run N, --block N   numbers of the first run and of the block in the output (0)\n"
	"  --continue        an earlier call's output: no header, no definitions\n"
	"  --version, --help\n"
	"\n"
	"Exit status: 0 done, 1 a row failed, 2 wrong command line, 128 + N stopped by signal N.\n";

static KM_NORETURN void refuse(const char *text, const char *word)
{
	fprintf(stderr, "probe: %s: %s\nTry: probe --help\n", text, word);
	exit(2);
}

static double number(const char *option, const char *word, double least, double most)
{
	char *end;
	double x;

	if (!word)
		refuse("a value is missing after", option);
	x = strtod(word, &end);
	if (end == word || *end || !(x >= least && x <= most))
		refuse("not a number in range", word);
	return x;
}

static const char *choice(const char *option, const char *word, const char *a, const char *b)
{
	if (!word)
		refuse("a value is missing after", option);
	if (strcmp(word, a) != 0 && strcmp(word, b) != 0)
		refuse(option, word);
	return word;
}

static unsigned phase(const char *word)
{
	if (strcmp(word, "define") == 0)
		return DEFINE;
	for (unsigned role = CALIBRATE; role <= TIME; role *= 2)
		if (strcmp(word, role_name((enum role)role)) == 0)
			return role;
	refuse("neither calibrate, count, time nor define", word);
	return 0;
}

static void batch(struct options *o, const char *word)
{
	if (batch_option(o, word) != 0)
		refuse("neither N, N/M nor ID=N/M,... iterations", word);
}

static void disk(struct options *o, const char *word, int gives)
{
	if (disk_option(o, word, gives) != 0)
		refuse("neither ext4=... nor minix=...", word);
}

static void no_program(struct options *o, const char *word)
{
	if (program_option(o, word) != 0)
		refuse("not NAME=REASON, or too many of them", word);
}

static int option(struct options *o, char **argv, int i)
{
	const char *name = argv[i], *value = argv[i + 1];

	if (strcmp(name, "--by") == 0)
		o->by = strcmp(choice(name, value, "time", "path"), "path") == 0 ? BY_PATH : BY_TIME;
	else if (strcmp(name, "--profile") == 0)
		o->profile = strcmp(choice(name, value, "quick", "full"), "quick") == 0 ? QUICK : FULL;
	else if (strcmp(name, "--runs") == 0)
		o->runs = (long)number(name, value, 1, 1000000);
	else if (strcmp(name, "--first-run") == 0)
		o->first_run = (long)number(name, value, 0, 1e9);
	else if (strcmp(name, "--block") == 0)
		o->block = (long)number(name, value, 0, 1e9);
	else if (strcmp(name, "--budget") == 0)
		o->budget = number(name, value, 0, 1e6);
	else if (strcmp(name, "--only") == 0 && value)
		o->phases = phase(value);
	else if (strcmp(name, "--seconds") == 0)
		o->seconds = number(name, value, 0.0001, 86400);
	else if (strcmp(name, "--half-width") == 0)
		o->half_width = number(name, value, 0, 1);
	else if (strcmp(name, "--samples") == 0)
		o->samples = (long)number(name, value, 1, MAX_SAMPLES);
	else if (strcmp(name, "--batch") == 0 && value)
		batch(o, value);
	else if (strcmp(name, "--cpu") == 0)
		o->cpu = (long)number(name, value, -1, MAX_CPUS - 1);
	else if (strcmp(name, "--seed") == 0 && value)
		o->seed = strtoull(value, NULL, 10);
	else if (strcmp(name, "--clock") == 0 && value)
		o->clock = value;
	else if (strcmp(name, "--dir") == 0 && value)
		o->dir = value;
	else if (strcmp(name, "--disk") == 0 && value)
		disk(o, value, 1);
	else if (strcmp(name, "--no-disk") == 0 && value)
		disk(o, value, 0);
	else if (strcmp(name, "--no-program") == 0 && value)
		no_program(o, value);
	else if (strcmp(name, "--list") == 0)
		return o->list = 1;
	else if (strcmp(name, "--json") == 0)
		return o->json = 1;
	else if (strcmp(name, "--continue") == 0)
		return o->continues = 1;
	else if (strcmp(name, "--wait") == 0) /* not in main: the exec rows count how that begins */
		exit(wait_for_command());
	else
		refuse("no such option, or its value is missing", name);
	return 2;
}

/* Gathers the rows at the beginning of argv itself, behind the words already read. */
static void parse(struct options *o, int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");
	int i = 1;

	o->by = BY_TIME;
	o->profile = QUICK;
	o->phases = CALIBRATE | COUNT | TIME;
	o->seconds = 0.02;
	o->half_width = 0.01;
	o->samples = 200;
	o->seed = 1;
	o->cpu = -1;
	o->dir = dir && dir[0] ? dir : "/tmp";
	o->clock = clock_default();
	o->rows = argv;
	while (i < argc) {
		if (strcmp(argv[i], "--") == 0) {
			o->command = argv + i + 1;
			break;
		}
		if (strncmp(argv[i], "--", 2) == 0)
			i += option(o, argv, i);
		else
			o->rows[o->nrows++] = argv[i++];
	}
	if (o->runs == 0)
		o->runs = o->by == BY_PATH ? 1 : 5;
	if (!clock_find(o->clock))
		refuse("this platform has no such clock to take times with", o->clock);
	if (o->command && !o->command[0])
		refuse("a command is missing after", "--");
}

/* A word that selects nothing is an error: a typing error must not look like a measurement. */
static void check_rows(const struct options *o)
{
	size_t n;
	const struct row *rows = registry_rows(&n);

	for (int i = 0; i < o->nrows; i++) {
		struct options one = *o;
		size_t k = 0;

		one.rows = &o->rows[i];
		one.nrows = 1;
		while (k < n && !row_selected(&rows[k], &one))
			k++;
		if (k == n)
			refuse("no such workload or row (probe --list names them)", o->rows[i]);
	}
}

/* This program as one of its own children; see spawn.c. */
static int internal(int argc, char **argv)
{
	struct options o;
	enum role role;
	const struct row *row;

	if (argc < 3)
		return 2;
	memset(&o, 0, sizeof o);
	role = strcmp(argv[2], role_name(COLD)) == 0 ? COLD : (enum role)phase(argv[2]);
	parse(&o, argc - 2, argv + 2); /* gathers the row in the role's place */
	row = o.nrows == 1 ? registry_row(o.rows[0]) : NULL;
	return row ? run_row(&o, role, row, o.first_run, o.dir) : 2;
}

static int is_lost(void)
{
	return fflush(stdout) != 0 || ferror(stdout);
}

/* Says why not all of the output could be written. */
static int unwritten(void)
{
	clearerr(stdout);
	errno = EIO;
	if (putchar('\n') == EOF || fflush(stdout) != 0) /* errno says why again: what failed may be long ago */
		clearerr(stdout);
	fprintf(stderr, "probe: writing the output: %s\n", strerror(errno));
	return 1;
}

static int print_marked(const struct options *o)
{
	int status;

	printf("#kernometer begin %d\n", KM_FORMAT);
	fflush(stdout);
	if (o->list) {
		print_list(stdout, o);
		status = 0;
	} else {
		status = o->command ? run_command(o) : drive(o);
	}
	if (!ferror(stdout)) /* a hole would otherwise be inside what the marker calls whole */
		printf("#kernometer end %lu\n", emitted_lines);
	if (is_lost())
		return unwritten();
	return status;
}

/* What a parent may leave to its children: closed streams, whose numbers pipes would get; children that nobody can wait
 * for; blocked signals. */
static void inherit_nothing(void)
{
	sigset_t none;

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 1 ? O_RDONLY : O_RDWR) != fd)
			refuse("cannot open, in the place of a closed stream", "/dev/null");
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	struct options o;

	/* First of all, since the exec rows time what precedes it: programs that exit, or exec again, at once. */
	if (argc > 2 && strcmp(argv[1], "--internal") == 0 && strcmp(argv[2], "exit") == 0)
		return 0;
	if (argc > 2 && strcmp(argv[1], "--internal") == 0 && strcmp(argv[2], "execl") == 0)
		return proc_execl_main(argc, argv);
	platform_self(argv[0]);
	if (argc > 1 && strcmp(argv[1], "--internal") == 0)
		return internal(argc, argv);
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return (fputs(usage, stdout) < 0 || is_lost()) && unwritten();
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return (printf("probe %s\n", KM_VERSION) < 0 || is_lost()) && unwritten();
	memset(&o, 0, sizeof o);
	parse(&o, argc, argv);
	if (o.by == BY_TIME) /* a guest's first process leaves nothing, and each call would move counts */
		inherit_nothing();
	if (o.by == BY_TIME || !KM_LINUX)
		platform_prepare();
	check_rows(&o);
	if (o.list && !o.json) {
		print_list(stdout, &o);
		return is_lost() && unwritten();
	}
	return print_marked(&o);
}
