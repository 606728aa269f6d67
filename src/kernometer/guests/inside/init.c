/* init.c: the first process of a guest. It mounts the file systems for a probe, loads drivers, fills disks, runs a
 * command, sends the command's output to a device of the emulator's (init_port.c), and powers the guest off. In a guest
 * that is saved the command is a probe that waits for another one. Without a command it starts a shell on the console.
 *
 * Why such a device and not the kernel's serial line: a byte costs one instruction and nothing later; the serial driver
 * would continue to interrupt at 115,200 baud of the guest's clock, inside the timed regions of the next row.
 * Every line that init itself prints begins with "#init ". */
#define _GNU_SOURCE /* SCHED_IDLE */
#include "init.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMMAND "opt/km/command"
#define BEFORE "opt/km/before"

static int output_is_open;
static char buffer[65536];

/* Writes to the device, or to the console if the kernel does not permit that. */
static void say(const char *text, size_t n)
{
	if (output_is_open) {
		put_output(text, n);
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

/* Also on the console: not every guest has the device. */
void give_up(const char *what)
{
	int n = snprintf(buffer, sizeof buffer, "#init failed %s: %s\n", what, strerror(errno));

	say(buffer, (size_t)n);
	if (!output_is_open && open_output()) {
		output_is_open = 1;
		say(buffer, (size_t)n);
	}
	power_off();
}

#ifdef KM_STRANGER
void lack(const char *what)
{
	int n = snprintf(buffer, sizeof buffer, "#init lacks %s: %s\n", what, strerror(errno));

	say(buffer, (size_t)n);
}

/* A kernel may start its first process without any open file. */
static void open_console(void)
{
	while (fcntl(2, F_GETFL) < 0)
		if (open("/dev/console", O_RDWR) < 0 && open("/dev/null", O_RDWR) < 0)
			return;
}
#endif

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
			lack(mounts[i].where);
}

/* Starts the command and returns the end of a pipe with its output. Its standard error is the console. It must be
 * started before init opens its output: a child would inherit the port, and each switch to it would then load an I/O
 * bitmap. */
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

/* Until the command has closed its output; does not wait for orphans after that. */
static void relay(int from, int wanted)
{
	for (;;) {
		ssize_t n = read(from, buffer, sizeof buffer);

		if (n == 0)
			return;
		if (n > 0 && wanted)
			say(buffer, (size_t)n);
		else if (n < 0 && errno != EINTR)
			give_up("read");
	}
}

static void run_command(char **argv)
{
	int status = 0, n;
	pid_t child;
	int from = start(argv, &child);

	output_is_open = open_output();
	relay(from, 1);
	if (waitpid(child, &status, 0) < 0)
		give_up("waitpid");
	n = snprintf(buffer, sizeof buffer, "#init exit %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	say(buffer, (size_t)n);
}

/* Runs other rows before the command, to find whether they change later counts. */
static void run_before(void)
{
	char **argv = read_command(BEFORE);
	pid_t child;
	int from;

	if (!argv)
		return;
	from = start(argv, &child);
	relay(from, 0);
	close(from);
	if (waitpid(child, NULL, 0) < 0)
		give_up("waitpid");
}

#ifndef KM_STRANGER
/* Changes our scheduling policy. By the system call, as musl's function always fails. */
static void become(int policy)
{
	static const struct sched_param none;

	syscall(SYS_sched_setscheduler, 0, policy, &none);
}

static long long nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Whether other tasks had less than 2 of 20 ms, which are some of the kernel's ticks. (Yielding shows nothing: Linux
 * 6.16 continues the task that yields. Time that the host takes from a guest counts as the guest's own.) */
static int alone(void)
{
	long long from = nanoseconds(CLOCK_MONOTONIC), own = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), took;

	do
		took = nanoseconds(CLOCK_MONOTONIC) - from;
	while (took < 20000000);
	return took - (nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - own) < 2000000;
}

/* Wakes khugepaged, which otherwise sleeps until the first process maps a huge page's worth of memory: in a fresh guest
 * that is the row, and an iteration of mem/alloc took up to 14 % more when the thread waited for its lock. From now on
 * it has a list of processes that is never empty, and sleeps for ten seconds at a time, as on a machine in use. */
static void wake_khugepaged(void)
{
	const size_t bytes = 4 << 20; /* one huge page of x86 wherever it begins */
	volatile char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; mapped != MAP_FAILED && at < bytes; at += bytes / 4)
		mapped[at] = 1;
}

/* Waits until the kernel's threads have done their work after the boot: Linux 7.3 tests its ciphers for a second, which
 * would disturb rows. A guest that never comes to rest is measured as it is. Trio has neither the threads nor the call,
 * and prints a message for each unknown call. */
static void settle(void)
{
	const struct timespec moment = { 0, 100 * 1000 * 1000 };
	struct utsname kernel;

	if (uname(&kernel) != 0 || strcmp(kernel.sysname, "Linux") != 0)
		return;
	wake_khugepaged();
	become(SCHED_IDLE);
	for (int left = 100; left > 0 && !alone(); left--)
		nanosleep(&moment, NULL);
	become(SCHED_OTHER);
}
#endif

int main(void)
{
	char **command;

	if (getpid() != 1) {
		fputs("this program is the first process of a guest; it is of no use elsewhere\n", stderr);
		return 2;
	}
#ifdef KM_STRANGER
	open_console();
#endif
	setenv("PATH", "/bin:/sbin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("TMPDIR", "/tmp", 1);
	mount_all();
	bring_up_loopback();
	load_drivers();
	make_disks();
	run_before();
#ifndef KM_STRANGER
	settle();
#endif
	command = read_command(COMMAND);
	if (command)
		run_command(command);
	else
		run_console();
	power_off();
}
