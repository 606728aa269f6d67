/* init_console.c: a shell on the console, with job control, for interactive use. */
#include "init.h"

#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* The terminal of /dev/console, which itself cannot control a session: the last one in the kernel's list, or the first
 * serial line without a list. */
static int console_terminal(void)
{
	char names[256] = "ttyS0", path[300];
	const char *last;
	char *end;
	FILE *list = fopen("/sys/class/tty/console/active", "r");
	struct termios t;
	int fd;

	if (list && !fgets(names, sizeof names, list))
		give_up("/sys/class/tty/console/active");
	if (list)
		fclose(list);
	end = strchr(names, '\n');
	if (end)
		*end = '\0';
	last = strrchr(names, ' ');
	snprintf(path, sizeof path, "/dev/%s", last ? last + 1 : names);
	fd = open(path, O_RDWR);
	if (fd < 0)
		give_up(path);
	if (tcgetattr(fd, &t) == 0 && cfsetspeed(&t, B115200) == 0) /* emulators obey a serial line's speed */
		tcsetattr(fd, TCSANOW, &t);
	return fd;
}

static void __attribute__((noreturn)) be_shell(void)
{
	static char *const install[] = { "/bin/busybox", "--install", "-s", "/bin", NULL };
	static char *const shell[] = { "sh", NULL };
	struct utsname u;
	int fd, status;
	pid_t child;

	setsid();
	fd = console_terminal();
	ioctl(fd, TIOCSCTTY, 1);
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || uname(&u) != 0 || chdir("/tmp") != 0)
		give_up("the console");
	if (fd > 2)
		close(fd);
	child = fork();
	if (child == 0) {
		execv(install[0], install);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		give_up("fork");
	printf("\nThis is %s %s. Kernometer's probe is /bin/probe:\n"
	       "  probe --list              what it measures\n"
	       "  probe syscall/getppid     measures that\n"
	       "  busybox --list            the other programs\n"
	       "  exit                      leaves the shell and powers off\n\n",
	       u.sysname, u.release);
	fflush(stdout);
	execv("/bin/sh", shell);
	fputs("/bin/sh: there is no shell here: busybox was not installed where this guest was made\n", stderr);
	_exit(127);
}

/* A shell for the user, until it ends; orphans are reaped meanwhile. */
void run_console(void)
{
	pid_t shell = fork(), gone;

	if (shell < 0)
		give_up("fork");
	if (shell == 0)
		be_shell();
	do
		gone = wait(NULL);
	while (gone != shell && (gone >= 0 || errno == EINTR));
	tcdrain(1);
}
