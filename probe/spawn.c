/* spawn.c: starts this program again, as a process that does one thing for one row. */
#include "engine.h"

const char *role_name(enum role role)
{
	return role == CALIBRATE ? "calibrate" : role == COUNT ? "count" : role == TIME ? "time" : "cold";
}

/* The words of this program's call as its own child; `text` stores the numbers. NULL ends the words. */
static void child_words(const char *words[32], char text[7][64], const struct options *o, enum role role,
			const struct row *row, long run, const char *dir)
{
	const char *all[] = { platform_self(NULL),
			      "--internal",
			      role_name(role),
			      "--by",
			      o->by == BY_PATH ? "path" : "time",
			      "--seconds",
			      text[0],
			      "--samples",
			      text[1],
			      "--seed",
			      decimal_text(text[2], o->seed),
			      "--cpu",
			      text[3],
			      "--batch",
			      text[4],
			      "--block",
			      text[5],
			      "--first-run",
			      text[6],
			      "--clock",
			      o->clock,
			      "--dir",
			      dir,
			      row->name,
			      NULL };

	number_text(text[0], 17, o->seconds);
	snprintf(text[1], sizeof text[1], "%ld", o->samples);
	snprintf(text[3], sizeof text[3], "%ld", o->cpu);
	snprintf(text[4], sizeof text[4], "%ld/%ld", o->batch, o->baseline_batch);
	snprintf(text[5], sizeof text[5], "%ld", o->block);
	snprintf(text[6], sizeof text[6], "%ld", run);
	memcpy(words, all, sizeof all);
}

static int cannot_execute(const struct options *o, const struct row *row, long run)
{
	const char *error = errno_name(errno);
	char text[64];

	snprintf(text, sizeof text, "execv: %s", error);
	json_error(stdout, row->name, run, o->block, text, "execv", error);
	return 1;
}

long spawn(const struct options *o, enum role role, const struct row *row, long run, const char *dir, int out,
	   int (*here)(const struct options *, enum role, const struct row *, long, const char *))
{
	const char *words[32];
	char text[7][64];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return (long)pid;
	if (role != COLD) /* the driver kills a run by its group; a cold process stays in its run's */
		platform_lead_group(0);
	platform_die_with_parent();
	if (dup2(out, 1) < 0)
		_exit(127);
	close(out);
	child_words(words, text, o, role, row, run, dir);
	if (words[0]) {
		execv(words[0], (char **)(uintptr_t)words); /* its argument is not const for historical reasons */
		/* A copy of the driver would not be the fresh program that is measured elsewhere. But under an
		 * emulator of another processor no run can be a fresh program: there all of them are copies. */
		if (errno != ENOEXEC)
			exit(cannot_execute(o, row, run));
	}
	exit(here(o, role, row, run, dir));
	return -1; /* for tcc, which expects exit to return */
}
