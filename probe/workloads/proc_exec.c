/* proc/fork-exec, proc/vfork-exec, proc/spawn, proc/shell: a process runs a program that exits at once (as lmbench's
 * lat_proc): this one, as `--internal exit`, with an empty environment: its path does not depend on the caller's. */
#include "../km.h"

struct proc_exec {
	struct km *km;
	int report[2];
	pid_t (*start)(struct proc_exec *); /* -1 with errno if no process was made */
	const char *start_call;
	const char *file;
	char *argv[4];
	char *environment[1];
	uint64_t reaped;
};

static pid_t proc_exec_by_fork(struct proc_exec *p)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(p->file, p->argv, p->environment);
		km_child_fail(p->report[1], "execve");
	}
	return pid;
}

static pid_t proc_exec_by_vfork(struct proc_exec *p)
{
	pid_t pid = vfork();

	if (pid == 0) { /* shares the parent's memory and stack until exec: touches nothing */
		execve(p->file, p->argv, p->environment);
		km_child_fail(p->report[1], "execve");
	}
	return pid;
}

static pid_t proc_exec_by_spawn(struct proc_exec *p)
{
	pid_t pid;
	int error = posix_spawn(&pid, p->file, NULL, NULL, p->argv, p->environment);

	if (error == 0)
		return pid;
	errno = error;
	return -1;
}

static struct proc_exec *proc_exec_new(struct km *km, pid_t (*start)(struct proc_exec *), const char *start_call)
{
	static char internal[] = "--internal", leave[] = "exit";
	struct proc_exec *p = km_state(km, sizeof *p);

	p->start = start;
	p->start_call = start_call;
	p->file = km->self;
	p->argv[0] = km_alloc(km, strlen(km->self) + 1);
	strcpy(p->argv[0], km->self);
	p->argv[1] = internal;
	p->argv[2] = leave;
	km_pipe(km, p->report);
	km->claim.children = 1;
	if (start == proc_exec_by_fork) /* otherwise the start may wait for the child too */
		km->claim.any_switches = 1;
	return p;
}

static void *proc_fork_exec_setup(struct km *km)
{
	return proc_exec_new(km, proc_exec_by_fork, "fork");
}

static void *proc_vfork_exec_setup(struct km *km)
{
	return proc_exec_new(km, proc_exec_by_vfork, "vfork");
}

static void *proc_spawn_setup(struct km *km)
{
	return proc_exec_new(km, proc_exec_by_spawn, "posix_spawn");
}

/* 'FILE' --internal exit, for the shell: each ' in the file's name as '\''. */
static char *proc_shell_command(struct km *km)
{
	static const char tail[] = "' --internal exit";
	char *command = km_alloc(km, 4 * strlen(km->self) + 1 + sizeof tail), *to = command;

	*to++ = '\'';
	for (const char *c = km->self; *c; c++)
		if (*c == '\'')
			to = strcpy(to, "'\\''") + 4;
		else
			*to++ = *c;
	strcpy(to, tail);
	return command;
}

static void *proc_shell_setup(struct km *km)
{
	static char sh[] = "sh", option[] = "-c";
	struct proc_exec *p;

	if (access("/bin/sh", X_OK) != 0)
		km_unsupported(km, "there is no shell at /bin/sh");
	p = proc_exec_new(km, proc_exec_by_fork, "fork");
	p->file = "/bin/sh";
	p->argv[0] = sh;
	p->argv[1] = option;
	p->argv[2] = proc_shell_command(km);
	return p;
}

static void proc_exec_run(void *state, uint64_t n) /* timed: n times make a process, execute, wait */
{
	struct proc_exec *p = state;

	while (n--) {
		pid_t pid = p->start(p);

		if (pid < 0)
			km_fail_call(p->km, p->start_call);
		km_child_wait(p->km, (long)pid, p->report[0]);
		p->reaped++;
	}
}

static void proc_exec_verify(void *state, uint64_t n)
{
	struct proc_exec *p = state;

	if (p->reaped != n)
		km_fail(p->km, "%" PRIu64 " programs were run, %" PRIu64 " counted", p->reaped, n);
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		km_fail(p->km, "an unknown child is left");
}

#define PROC_EXEC_ROW                                                                                 \
	.per = "process", .source = "G's suite (lmbench's lat_proc)", .settings = SET_ADDRESS_RANDOM, \
	.run = proc_exec_run, .verify = proc_exec_verify

const struct workload proc_fork_exec = {
	.name = "proc/fork-exec",
	PROC_EXEC_ROW,
	.what = "fork a process that executes this program, which exits at once, and wait for it",
	.inside = "fork, execve, the program's start and exit, waitpid",
	.needs = CAP_SELF,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 25 }),
	.setup = proc_fork_exec_setup,
};

const struct workload proc_vfork_exec = {
	.name = "proc/vfork-exec",
	PROC_EXEC_ROW,
	.what = "proc/fork-exec by vfork",
	.inside = "vfork, execve, the program's start and exit, waitpid",
	.needs = CAP_SELF | CAP_VFORK,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 25 }),
	.setup = proc_vfork_exec_setup,
};

const struct workload proc_spawn = {
	.name = "proc/spawn",
	PROC_EXEC_ROW,
	.what = "proc/fork-exec by posix_spawn, with neither file actions nor attributes",
	.inside = "posix_spawn, the program's start and exit, waitpid",
	.needs = CAP_SELF | CAP_POSIX_SPAWN,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 25 }),
	.setup = proc_spawn_setup,
};

const struct workload proc_shell = {
	.name = "proc/shell",
	PROC_EXEC_ROW,
	.what = "fork a process that executes `/bin/sh -c` with this program, and wait for it",
	.inside = "fork, execve and start of the shell, which runs the program, the program's start and exit, waitpid",
	.needs = CAP_SELF,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 8 }),
	.setup = proc_shell_setup,
};
