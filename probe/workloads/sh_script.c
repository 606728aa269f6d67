/* sh/script-N: N shells at once run a script of sort, od, grep, tee and wc over a fixed text (M: UnixBench's shell
 * scripts, whose loop is one such set). With the system's shell and tools, and with busybox, which has both in one
 * program: M and C found that the shell decides, and busybox is the same on every kernel. All are on the run's one CPU,
 * so that "at once" means the same on systems with more. The script itself compares what wc counted; the other tools'
 * output is checked after each sample. */
#include "../km.h"

#define SH_SCRIPT_LINES 96
#define SH_SCRIPT_LINE 64 /* bytes of a line, at the most */
#define SH_SCRIPT_MOST 16
#define SH_SCRIPT_TOOLS "tools" /* in the run's directory: busybox under each tool's name */

struct sh_script {
	struct km *km;
	struct km_command command;
	const char *tools; /* SH_SCRIPT_TOOLS, or NULL: the system's */
	int at_once;
	char number[SH_SCRIPT_MOST][12], counts[64];
	char *sorted, *found; /* the files' right content */
	uint64_t bytes, sum;  /* of the text */
	uint64_t sets;
};

static const char *const sh_script_tools[] = { "sort", "od", "grep", "tee", "wc" };
enum { SH_SCRIPT_NTOOLS = sizeof sh_script_tools / sizeof sh_script_tools[0] };

/* $1: the number of the shell; $2: the right count of wc. POSIX utilities alone, with POSIX options. */
static const char sh_script_text[] = "sort text >sorted.$1\n"
				     "od -An -v -tx1 sorted.$1 | sort >dumped.$1\n"
				     "grep the sorted.$1 | tee found.$1 | wc >counted.$1\n"
				     "read lines words bytes <counted.$1\n"
				     "test \"$lines $words $bytes\" = \"$2\"\n";

/* The same words in the same order everywhere. Lower case: every locale sorts them so. */
static void sh_script_line(char *to, unsigned line)
{
	static const char *const words[] = {
		"kernel", "the",    "message", "server", "page", "of",    "process", "a",
		"time",   "memory", "is",      "driver", "file", "queue", "signal",  "pipe"
	};
	size_t n = 0;

	for (unsigned i = 0; i < 6; i++)
		n += (size_t)snprintf(to + n, SH_SCRIPT_LINE - n, "%s%s", i ? " " : "",
				      words[km_mix(line * 6 + i + 1) % 16]);
	snprintf(to + n, SH_SCRIPT_LINE - n, "\n");
}

static int sh_script_order(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void sh_script_make_text(struct sh_script *s)
{
	static char lines[SH_SCRIPT_LINES][SH_SCRIPT_LINE];
	char *text = km_alloc(s->km, sizeof lines);
	unsigned found_lines = 0, found_words = 0;

	s->sorted = km_alloc(s->km, sizeof lines);
	s->found = km_alloc(s->km, sizeof lines);
	for (unsigned i = 0; i < SH_SCRIPT_LINES; i++) {
		sh_script_line(lines[i], i);
		strcat(text, lines[i]);
	}
	s->bytes = strlen(text);
	for (size_t i = 0; i < s->bytes; i++)
		s->sum += (unsigned char)text[i];
	km_file_make(s->km, "text", text, s->bytes);
	km_free(text);
	qsort(lines, SH_SCRIPT_LINES, sizeof lines[0], sh_script_order);
	for (unsigned i = 0; i < SH_SCRIPT_LINES; i++) {
		strcat(s->sorted, lines[i]);
		if (!strstr(lines[i], "the"))
			continue;
		strcat(s->found, lines[i]);
		found_lines++;
		found_words += 6;
	}
	snprintf(s->counts, sizeof s->counts, "%u %u %lu", found_lines, found_words, (unsigned long)strlen(s->found));
}

/* busybox under the tools' names in a directory that is the whole PATH: it leads to no other program. */
static void sh_script_link(struct sh_script *s)
{
	char path[KM_PATH], name[64];

	if (mkdir(km_path(s->km, path, SH_SCRIPT_TOOLS), 0700) != 0)
		km_fail_call(s->km, "mkdir");
	for (int i = 0; i < SH_SCRIPT_NTOOLS; i++) {
		snprintf(name, sizeof name, "%s/%s", SH_SCRIPT_TOOLS, sh_script_tools[i]);
		if (symlink(s->command.file, km_path(s->km, path, name)) != 0)
			km_fail_call(s->km, "symlink");
	}
}

static void *sh_script_new(struct km *km, const char *tools)
{
	struct sh_script *s = km_state(km, sizeof *s);

	s->tools = tools;
	s->at_once = (int)km->arg[0];
	sh_script_make_text(s);
	km_file_make(km, "script", sh_script_text, sizeof sh_script_text - 1);
	km_command_init(km, &s->command, tools);
	s->command.words[0] = "sh";
	s->command.words[1] = "script";
	s->command.words[3] = s->counts;
	for (int i = 0; i < s->at_once; i++)
		snprintf(s->number[i], sizeof s->number[i], "%d", i);
	km->claim.children = s->at_once;
	return s;
}

static void *sh_script_setup(struct km *km)
{
	char file[KM_PATH] = "";
	struct sh_script *s;
	ssize_t n;

	if (access("/bin/sh", X_OK) != 0)
		km_unsupported(km, "there is no shell at /bin/sh");
	for (int i = 0; i < SH_SCRIPT_NTOOLS; i++)
		km_program(km, file, sh_script_tools[i], "it is one of the system's basic tools: install those");
	s = sh_script_new(km, NULL);
	strcpy(s->command.file, "/bin/sh");
	n = readlink("/bin/sh", file, sizeof file - 1);
	if (n > 0)
		km_warn(km, "shell", "/bin/sh is %.*s", (int)n, file);
	return s;
}

static void *sh_script_busybox_setup(struct km *km)
{
	char file[KM_PATH];
	struct sh_script *s;

	km_program(km, file, "busybox", "Debian, Ubuntu: apt-get install busybox-static");
	s = sh_script_new(km, SH_SCRIPT_TOOLS);
	strcpy(s->command.file, file);
	sh_script_link(s);
	return s;
}

static void sh_script_run(void *state, uint64_t n) /* timed: n times starts all shells and waits for them */
{
	struct sh_script *s = state;
	long pid[SH_SCRIPT_MOST];

	while (n--) {
		for (int i = 0; i < s->at_once; i++) {
			s->command.words[2] = s->number[i];
			pid[i] = km_command_start(s->km, &s->command);
		}
		for (int i = 0; i < s->at_once; i++)
			km_command_end(s->km, &s->command, pid[i], 0);
		s->sets++;
	}
}

static void sh_script_same(struct sh_script *s, const char *name, const char *wanted)
{
	size_t bytes;
	char *text = km_file_text(s->km, name, &bytes);

	if (bytes != strlen(wanted) || memcmp(text, wanted, bytes) != 0)
		km_fail(s->km, "%s has the wrong content", name);
	km_free(text);
	km_file_gone(s->km, name);
}

/* Systems differ in od's blanks, and so in the order of its lines: the bytes are counted and summed. */
static void sh_script_dumped(struct sh_script *s, const char *name)
{
	uint64_t bytes = 0, sum = 0;
	size_t size;
	char *text = km_file_text(s->km, name, &size), *at = text, *end;

	for (;;) {
		unsigned long byte = strtoul(at, &end, 16);

		if (end == at)
			break;
		bytes++;
		sum += byte;
		at = end;
	}
	if (bytes != s->bytes || sum != s->sum)
		km_fail(s->km, "%s has %" PRIu64 " bytes of sum %" PRIu64 ", not %" PRIu64 " of sum %" PRIu64, name,
			bytes, sum, s->bytes, s->sum);
	km_free(text);
	km_file_gone(s->km, name);
}

static void sh_script_settle(void *state, uint64_t n)
{
	struct sh_script *s = state;
	char name[32];

	(void)n;
	for (int i = 0; i < s->at_once; i++) {
		snprintf(name, sizeof name, "sorted.%d", i);
		sh_script_same(s, name, s->sorted);
		snprintf(name, sizeof name, "found.%d", i);
		sh_script_same(s, name, s->found);
		snprintf(name, sizeof name, "dumped.%d", i);
		sh_script_dumped(s, name);
	}
}

#define SH_SCRIPT_ROW                                                                                              \
	.unit = UNIT_PER_S, .source = "M table 1, C", .settings = SET_FOLDER,                                      \
	.inside = "for each script: fork, execve of the shell, its three pipelines and two comparisons, waitpid; " \
		  "all on one CPU",                                                                                \
	.run = sh_script_run, .settle = sh_script_settle,                                                          \
	.counted = { offsetof(struct sh_script, sets), "sets of scripts ended well" }

/* The number at once is not a parameter: the name contains it, as in UnixBench. */
#define SH_SCRIPT(at_once, of, does, in)                                    \
	const struct workload sh_script_##at_once = {                       \
		.name = "sh/script-" #at_once,                              \
		.per = of,                                                  \
		.what = does,                                               \
		SH_SCRIPT_ROW,                                              \
		.only = BY_TIME,                                            \
		.points = KM_POINTS({ .arg = { at_once }, .profile = in }), \
		.setup = sh_script_setup,                                   \
	}
#define SH_SCRIPT_BUSYBOX(at_once, of, n)                                                                   \
	const struct workload sh_script_busybox_##at_once = {                                               \
		.name = "sh/script-busybox-" #at_once,                                                      \
		.per = of,                                                                                  \
		.what = "sh/script-" #at_once " by busybox: its shell and its tools, and no other program", \
		SH_SCRIPT_ROW,                                                                              \
		.points = KM_POINTS({ .arg = { at_once }, .profile = FULL, .path_n = n }),                  \
		.guest_needs = "busybox",                                                                   \
		.setup = sh_script_busybox_setup                                                            \
	}

SH_SCRIPT(1, "script", "a script, sort, od, sort; grep, tee, wc over a text of 3 KB, by /bin/sh and the tools of PATH",
	  QUICK);
SH_SCRIPT(8, "set of 8 scripts", "8 of the script of sh/script-1 at once, until the last ends", FULL);
SH_SCRIPT(16, "set of 16 scripts", "16 of the script of sh/script-1 at once, until the last ends", FULL);
SH_SCRIPT_BUSYBOX(1, "script", 3);
SH_SCRIPT_BUSYBOX(8, "set of 8 scripts", 2);
SH_SCRIPT_BUSYBOX(16, "set of 16 scripts", 1);
