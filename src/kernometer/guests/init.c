/* init.c: the first process of a guest. Mounts what a probe expects, loads drivers, fills disks, runs the command in
 * /etc/kernometer/command (arguments, a NUL after each), sends what it prints to the emulator's debug port, and powers
 * the guest off. With /etc/kernometer/console there is a shell on the console instead of the command.
 *
 * Why the debug port (0xe9, isa-debugcon) and not the serial line: a byte costs one OUT and is gone; the serial driver
 * would go on interrupting at 115,200 baud of the guest's clock, inside the timed regions of the next row.
 * Every line that init itself prints begins with "#init ". */
#include "init.h"

#include <sys/io.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_FILE "/etc/kernometer/command"
#define CONSOLE_FILE "/etc/kernometer/console"
#define BULK_PORT 0xe9
#define COMMAND_BYTES 65536
#define ARGUMENTS 1024

static int port_is_ours;
static char buffer[65536];

/* To the debug port; to the console where the kernel does not let us. */
static void say(const char *text, size_t n)
{
	unsigned long count = n;

	if (port_is_ours) {
		__asm__ volatile("rep outsb" : "+S"(text), "+c"(count) : "d"(BULK_PORT) : "memory");
		return;
	}
	while (n > 0) {
		ssize_t written = write(1, text, n);

		if (written < 0 && errno != EINTR)
			return;
		if (written > 0) {
			text += written;
			n -= (size_t)written;
		}
	}
}

void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

/* On the console too: not every guest has the port. */
void give_up(const char *what)
{
	int n = snprintf(buffer, sizeof buffer, "#init failed %s: %s\n", what, strerror(errno));

	say(buffer, (size_t)n);
	if (!port_is_ours && ioperm(BULK_PORT, 1, 1) == 0) {
		port_is_ours = 1;
		say(buffer, (size_t)n);
	}
	power_off();
}

static void mount_all(void)
{
	static const struct {
		const char *kind, *where, *options;
	} mounts[] = {
		{ "proc", "/proc", NULL },
		{ "sysfs", "/sys", NULL },
		{ "devtmpfs", "/dev", NULL },
		{ "tmpfs", "/tmp", "mode=1777" },
	};
	size_t i;

	for (i = 0; i < sizeof mounts / sizeof mounts[0]; i++)
		if (mount(mounts[i].kind, mounts[i].where, mounts[i].kind, 0, mounts[i].options) < 0)
			give_up(mounts[i].where);
}

/* Fills `argv` from the command file; the strings live in `text`. */
static void read_command(char *text, char **argv)
{
	int fd = open(COMMAND_FILE, O_RDONLY), count = 0;
	ssize_t n = fd < 0 ? -1 : read(fd, text, COMMAND_BYTES - 1);
	char *at = text;

	if (n <= 0)
		give_up(COMMAND_FILE);
	close(fd);
	text[n] = '\0';
	do {
		argv[count++] = at;
		at += strlen(at) + 1;
	} while (at < text + n && count < ARGUMENTS);
	argv[count] = NULL;
}

/* Starts the command, its output in a pipe whose other end is returned. What it says on its standard error goes to the
 * console. It must be started before init asks for the port: a child would inherit the port, and each switch to it
 * would then load an I/O bitmap. */
static int start(char **argv, pid_t *child)
{
	int ends[2];

	if (pipe(ends) < 0)
		give_up("pipe");
	*child = fork();
	if (*child < 0)
		give_up("fork");
	if (*child == 0) {
		setsid();
		if (dup2(ends[1], 1) < 0 || chdir("/tmp") < 0)
			_exit(126);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	return ends[0];
}

/* Until the command has closed its output; what orphans do after that is not waited for. */
static void relay(int from)
{
	for (;;) {
		ssize_t n = read(from, buffer, sizeof buffer);

		if (n == 0)
			return;
		if (n > 0)
			say(buffer, (size_t)n);
		else if (errno != EINTR)
			give_up("read");
	}
}

/* The command's output is relayed until it has ended. */
static void run_command(void)
{
	static char text[COMMAND_BYTES];
	static char *argv[ARGUMENTS + 1];
	int from, status = 0, n;
	pid_t child;

	read_command(text, argv);
	from = start(argv, &child);
	port_is_ours = ioperm(BULK_PORT, 1, 1) == 0;
	relay(from);
	if (waitpid(child, &status, 0) < 0)
		give_up("waitpid");
	n = snprintf(buffer, sizeof buffer, "#init exit %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	say(buffer, (size_t)n);
}

int main(void)
{
	if (getpid() != 1) {
		fputs("this program is the first process of a guest; it is of no use elsewhere\n", stderr);
		return 2;
	}
	setenv("PATH", "/bin:/sbin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("TMPDIR", "/tmp", 1);
	mount_all();
	bring_up_loopback();
	load_drivers();
	make_disks();
	if (access(CONSOLE_FILE, F_OK) == 0)
		run_console();
	else
		run_command();
	power_off();
}
