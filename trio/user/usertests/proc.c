/* proc.c: what /proc tells of processes and of the machine, as far as programs read it. */
#include "usertests.h"

#include <dirent.h>
#include <sys/utsname.h>

/* Reads the file's text and returns its length. */
static long text_of(const char *name, char *to, size_t size)
{
	int fd = (int)OK(open(name, O_RDONLY));
	long used = read_all(fd, to, size - 1);

	to[used] = '\0';
	OK(close(fd));
	return used;
}

static char *path_of(pid_t pid, const char *name)
{
	static char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	return path;
}

TEST(proc_stat, "Does /proc/PID/stat tell number, name, state, parent, group and session?")
{
	char text[4096], name[32], state;
	int pid, parent, group, session;

	text_of("/proc/self/stat", text, sizeof text);
	IS(sscanf(text, "%d (%31[^)]) %c %d %d %d", &pid, name, &state, &parent, &group, &session), 6);
	IS(pid, getpid());
	IS(state, 'R');
	IS(parent, getppid());
	IS(group, getpgrp());
	IS(session, getsid(0));
}

/* Waits until the process is in that state. */
static void await_state(pid_t pid, char wanted)
{
	char text[4096];
	long until = now_ms() + 5000;

	do {
		text_of(path_of(pid, "stat"), text, sizeof text);
		if (strchr(text, ')')[2] == wanted)
			return;
		sleep_ms(1);
	} while (now_ms() < until);
	fail("process is not in state %c: %.60s", wanted, text);
}

TEST(proc_states, "Does /proc/PID/stat tell sleeping and stopped processes, and nothing of those that are gone?")
{
	pid_t pid = fork_paused();

	await_state(pid, 'S');
	OK(kill(pid, SIGSTOP));
	await_state(pid, 'T');
	OK(kill(pid, SIGCONT));
	await_state(pid, 'S');
	kill_and_reap(pid);
	FAILS(open(path_of(pid, "stat"), O_RDONLY), ENOENT);
	FAILS(access(path_of(pid, ""), F_OK), ENOENT);
}

TEST(proc_zombie, "Does /proc/PID/stat tell of a zombie until it is waited for?")
{
	siginfo_t info;
	pid_t pid;

	START_CHILD (pid)
		_exit(5);
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	if (access(path_of(pid, "stat"), F_OK) < 0 && errno == ENOENT)
		skip("zombies are not shown here");
	await_state(pid, 'Z');
	IS(reap(pid), 5);
	FAILS(open(path_of(pid, "stat"), O_RDONLY), ENOENT);
}

static DIR *opened(const char *folder)
{
	DIR *dir = opendir(folder);

	TRUE(dir);
	return dir;
}

TEST(proc_folder, "Does /proc list this process, and its folder what is in it?")
{
	struct dirent *entry;
	int seen = 0;
	DIR *dir = opened("/proc");

	while ((entry = readdir(dir)))
		seen |= atoi(entry->d_name) == getpid();
	closedir(dir);
	IS(seen, 1);
	dir = opened("/proc/self");
	while ((entry = readdir(dir)))
		seen |= (strcmp(entry->d_name, "stat") == 0) << 1 | (strcmp(entry->d_name, "fd") == 0) << 2;
	closedir(dir);
	IS(seen, 7);
}

TEST(proc_descriptors, "Does /proc/self/fd name the open files, and open them anew?")
{
	char path[64], text[PATH_MAX], here[PATH_MAX];
	int fd, again;
	long n;

	fd = made_file("a", "0123", O_RDWR);
	get(fd);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = OK(readlink(path, text, sizeof text - 1));
	text[n] = '\0';
	OK(RAW(SYS_getcwd, here, sizeof here));
	TRUE(strncmp(text, here, strlen(here)) == 0 && strcmp(text + strlen(here), "/a") == 0);
	again = (int)OK(open(path, O_RDONLY));
	IS(lseek(again, 0, SEEK_CUR), 0);
	OK(close(fd));
	FAILS(open(path, O_RDONLY), ENOENT);
}

TEST(proc_links, "Do /proc/self and its cwd, root and exe lead where they should?")
{
	char text[PATH_MAX] = "";
	struct stat exe;

	OK(readlink("/proc/self", text, sizeof text - 1));
	IS(atoi(text), getpid());
	TRUE(OK(readlink("/proc/self/exe", text, sizeof text)) > 0 && text[0] == '/');
	OK(close((int)OK(open("/proc/self/exe", O_RDONLY))));
	TRUE(is_same("/proc/self/cwd", "."));
	TRUE(is_same("/proc/self/root", "/"));
	OK(stat("/proc/self/exe", &exe));
	IS(exe.st_mode & S_IFMT, S_IFREG);
	TRUE(exe.st_mode & 0111);
}

TEST(proc_cmdline, "Does /proc/PID/cmdline give the arguments of the program, and a child's are its parent's?")
{
	char own[4096], text[4096];
	long n = text_of("/proc/self/cmdline", own, sizeof own);
	int ends[2];
	pid_t pid;

	TRUE(n > 0 && own[n - 1] == '\0');
	OK(pipe(ends));
	START_CHILD (pid) {
		get(ends[0]);
		_exit(4);
	}
	IS(text_of(path_of(pid, "cmdline"), text, sizeof text), n);
	TRUE(memcmp(own, text, (size_t)n) == 0);
	put(ends[1]);
	IS(reap(pid), 4);
}

static long reads_of(pid_t pid)
{
	char text[4096];
	long reads;

	if (text_of(path_of(pid, "io"), text, sizeof text) == 0)
		skip("nothing is counted here");
	IS(sscanf(strstr(text, "syscr: "), "syscr: %ld", &reads), 1);
	return reads;
}

TEST(proc_io, "Does /proc/PID/io count a process's reads, and its children's once they have been waited for?")
{
	int null = (int)OK(open("/dev/null", O_RDONLY));
	siginfo_t info;
	long before;
	char byte;
	pid_t pid;

	if (access("/proc/self/io", F_OK) < 0)
		skip("there is no /proc/self/io");
	before = reads_of(getpid());
	START_CHILD (pid) {
		for (int i = 0; i < 100; i++)
			IS(read(null, &byte, 1), 0);
		_exit(6);
	}
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	TRUE(reads_of(getpid()) < before + 100);
	IS(reap(pid), 6);
	TRUE(reads_of(getpid()) >= before + 100 && reads_of(getpid()) < before + 200);
}

static void *wait_for_byte(void *ends)
{
	get(*(int *)ends);
	return NULL;
}

TEST(proc_threads, "Does /proc/PID/task name each thread of the process?")
{
	char text[4096], path[sizeof "/proc/self/task//stat" + NAME_MAX];
	int ends[2], threads = 0, own = 0, tid;
	struct dirent *entry;
	pthread_t thread;
	DIR *dir;

	OK(pipe(ends));
	thread = start_thread(wait_for_byte, ends);
	dir = opened("/proc/self/task");
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			threads++;
			own |= atoi(entry->d_name) == getpid();
			snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
			text_of(path, text, sizeof text);
			IS(sscanf(text, "%d", &tid), 1);
			IS(tid, atoi(entry->d_name));
		}
	closedir(dir);
	IS(threads, 2);
	IS(own, 1);
	FAILS(access("/proc/self/task/1", F_OK), ENOENT);
	FAILS(access("/proc/self/task/none", F_OK), ENOENT);
	put(ends[1]);
	IS(pthread_join(thread, NULL), 0);
}

/* Whether the file consists of that line. */
static int has_line(const char *name, const char *line)
{
	char text[256];
	long n = text_of(name, text, sizeof text);

	return n == (long)strlen(line) + 1 && text[n - 1] == '\n' && strncmp(text, line, (size_t)n - 1) == 0;
}

TEST(proc_names, "Does /proc/sys/kernel tell what uname tells?")
{
	struct utsname names;

	OK(uname(&names));
	TRUE(has_line("/proc/sys/kernel/hostname", names.nodename));
	TRUE(has_line("/proc/sys/kernel/ostype", names.sysname));
	TRUE(has_line("/proc/sys/kernel/osrelease", names.release));
}

TEST(proc_machine, "Do meminfo, uptime, cpuinfo, loadavg, version and mounts begin as programs want them?")
{
	char text[65536];
	double up, idle;
	long total;

	text_of("/proc/meminfo", text, sizeof text);
	IS(sscanf(text, "MemTotal: %ld kB", &total), 1);
	TRUE(total > 1000 && strstr(text, "\nMemFree:"));
	text_of("/proc/uptime", text, sizeof text);
	IS(sscanf(text, "%lf %lf", &up, &idle), 2);
	TRUE(up > 0);
	text_of("/proc/cpuinfo", text, sizeof text);
	TRUE(strncmp(text, "processor\t: 0\n", 14) == 0);
	text_of("/proc/loadavg", text, sizeof text);
	IS(sscanf(text, "%lf", &up), 1);
	TRUE(text_of("/proc/version", text, sizeof text) > 10);
	text_of("/proc/mounts", text, sizeof text);
	TRUE(strstr(text, " /proc proc ") != NULL);
	text_of("/proc/stat", text, sizeof text);
	TRUE(strncmp(text, "cpu ", 4) == 0);
}

TEST(proc_pieces, "Does a /proc file read in small pieces give what it gives at once?")
{
	char whole[65536], byte[2];
	int fd = (int)OK(open("/proc/self/stat", O_RDONLY));
	long n = OK(read(fd, whole, sizeof whole));
	int own = 0;

	IS(read(fd, byte, 1), 0);
	OK(lseek(fd, 0, SEEK_SET));
	for (int i = 0; i < 4; i++) {
		IS(read(fd, byte, 1), 1);
		own += byte[0] == whole[i];
	}
	IS(own, 4);
	IS(pread(fd, byte, 1, 1), 1);
	IS(byte[0], whole[1]);
	IS(pread(fd, byte, 1, n + 1000), 0);
}

TEST(proc_closed, "Can nothing be made, removed or written in /proc?")
{
	TRUE(open("/proc/new", O_RDWR | O_CREAT, 0644) < 0);
	TRUE(mkdir("/proc/new", 0755) < 0);
	TRUE(unlink("/proc/uptime") < 0);
	TRUE(rename("/proc/uptime", "/proc/new") < 0);
	TRUE(rmdir("/proc/self") < 0);
	FAILS(rename("/proc/uptime", "a"), EXDEV);
	FAILS(link("/proc/uptime", "a"), EXDEV);
	FAILS(open("/proc/none", O_RDONLY), ENOENT);
	FAILS(open("/proc/self/none", O_RDONLY), ENOENT);
	FAILS(open("/proc/99999999/stat", O_RDONLY), ENOENT);
}
