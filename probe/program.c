/* program.c: programs of the system that a workload runs: found by PATH, started in the run's directory with an
 * environment that is always the same, and waited for.
 *
 * They are children of the measuring process, and so of its process group: the driver kills them with it. Their files,
 * temporary ones included, are in the run's directory, which the driver removes. */
#include "engine.h"

#define SAID "said" /* in the run's directory: the programs' standard error */

static const char *search_path(void)
{
	const char *path = getenv("PATH");

	return path && path[0] ? path : "/bin:/usr/bin";
}

/* The first executable file of that name in an absolute directory of PATH: 1, or 0: none. */
static int look_up(char *to, const char *name)
{
	for (const char *at = search_path(), *end; *at; at = *end ? end + 1 : end) {
		struct stat s;
		int n;

		end = strchr(at, ':') ? strchr(at, ':') : at + strlen(at);
		n = snprintf(to, KM_PATH, "%.*s/%s", (int)(end - at), at, name);
		if (*at == '/' && n < KM_PATH && access(to, X_OK) == 0 && stat(to, &s) == 0 && S_ISREG(s.st_mode))
			return 1;
	}
	return 0;
}

void km_program(struct km *km, char *to, const char *name, const char *advice)
{
	if (!look_up(to, name))
		km_unsupported(km, "there is no %s in PATH; %s", name, advice);
}

void km_command_init(struct km *km, struct km_command *c, const char *path)
{
	static char locale[] = "LC_ALL=C", temporary[] = "TMPDIR=.";
	size_t size;

	if (!path)
		path = search_path();
	size = strlen(path) + sizeof "PATH=";
	c->environment[0] = km_alloc(km, size);
	snprintf(c->environment[0], size, "PATH=%s", path);
	c->environment[1] = locale;
	c->environment[2] = temporary;
	km_pipe(km, c->report);
}

static void redirect(const struct km_command *c, const char *name, int flags, int as)
{
	int fd = open(name ? name : "/dev/null", flags, 0600);

	if (fd < 0)
		km_child_fail(c->report[1], "open");
	if (fd != as && (dup2(fd, as) < 0 || close(fd) != 0))
		km_child_fail(c->report[1], "dup2");
}

long km_command_start(struct km *km, const struct km_command *c)
{
	pid_t pid = fork();

	if (pid < 0)
		km_fail_call(km, "fork");
	if (pid > 0)
		return (long)pid;
	signal(SIGPIPE, SIG_DFL); /* we ignore it: a shell's tools expect it to end them */
	if (chdir(km->engine->dir) != 0)
		km_child_fail(c->report[1], "chdir");
	redirect(c, c->in, O_RDONLY, 0);
	redirect(c, c->out, O_WRONLY | O_CREAT | O_APPEND, 1);
	redirect(c, SAID, O_WRONLY | O_CREAT | O_APPEND, 2);
	execve(c->file, (char **)(uintptr_t)c->words, c->environment);
	km_child_fail(c->report[1], "execve");
	return -1;
}

void km_command_end(struct km *km, const struct km_command *c, long pid, int wanted)
{
	char said[128], name[KM_PATH];
	int status = km_wait(km, pid);

	if (WIFEXITED(status) && WEXITSTATUS(status) == wanted)
		return;
	if (WIFEXITED(status) && km_file_line(km_path(km, name, SAID), said, sizeof said))
		km_fail(km, "%s exited with status %d: %s", c->words[0], WEXITSTATUS(status), said);
	km_child_failed(km, status, c->report[0]);
}

int km_file_line(const char *path, char *to, size_t size)
{
	FILE *f = fopen(path, "r");
	int found = f && fgets(to, (int)size, f) != NULL;

	if (f)
		fclose(f);
	for (char *c = to; found && *c; c++)
		if (*c == '\r' || *c == '\n')
			*c = '\0';
	return found && to[0];
}

char *km_file_text(struct km *km, const char *name, size_t *bytes)
{
	char path[KM_PATH], *text;
	struct stat s;
	int fd = open(km_path(km, path, name), O_RDONLY);

	if (fd < 0 || fstat(fd, &s) != 0)
		km_fail_call(km, name);
	*bytes = (size_t)s.st_size;
	text = km_alloc(km, *bytes + 1);
	km_read_all(km, fd, text, *bytes);
	close(fd);
	return text;
}

void km_file_make(struct km *km, const char *name, const char *text, size_t bytes)
{
	char path[KM_PATH];
	int fd = open(km_path(km, path, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		km_fail_call(km, name);
	km_write_all(km, fd, text, bytes);
	if (close(fd) != 0)
		km_fail_call(km, "close");
}

void km_file_gone(struct km *km, const char *name)
{
	char path[KM_PATH];

	if (unlink(km_path(km, path, name)) != 0)
		km_fail_call(km, "unlink");
}

int program_option(struct options *o, const char *word)
{
	const char *equals = strchr(word, '=');

	if (!equals || equals == word || !equals[1] || o->nno_program == N_PROGRAMS)
		return -1;
	o->no_program[o->nno_program++] = word;
	return 0;
}

const char *program_missing(const struct options *o, const struct row *row)
{
	const char *needed = row->workload->guest_needs;
	size_t n = needed ? strlen(needed) : 0;

	for (int i = 0; needed && i < o->nno_program; i++)
		if (strncmp(o->no_program[i], needed, n) == 0 && o->no_program[i][n] == '=')
			return o->no_program[i] + n + 1;
	return NULL;
}
