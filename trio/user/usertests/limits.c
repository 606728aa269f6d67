/* limits.c: running out of something is an error for the caller and nothing else, and all of it is given back. */
#include "usertests.h"

TEST(rlimits, "Do getrlimit, setrlimit and prlimit64 agree, and refuse what they should?")
{
	struct rlimit old, less = { 20, 30 }, more = { 20, 40 }, wrong = { 30, 20 }, now;

	OK(RAW(SYS_getrlimit, RLIMIT_NOFILE, &old));
	TRUE(old.rlim_cur <= old.rlim_max && old.rlim_cur >= 256);
	FAILS(RAW(SYS_setrlimit, RLIMIT_NOFILE, &wrong), EINVAL);
	OK(RAW(SYS_setrlimit, RLIMIT_NOFILE, &less));
	OK(RAW(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &now));
	IS(now.rlim_cur, 20);
	IS(now.rlim_max, 30);
	FAILS(RAW(SYS_getrlimit, 77, &now), EINVAL);
	FAILS(RAW(SYS_setrlimit, 77, &now), EINVAL);
	FAULTS(RAW(SYS_getrlimit, RLIMIT_NOFILE, wild));
	FAULTS(RAW(SYS_setrlimit, RLIMIT_NOFILE, wild));
	FAILS(RAW(SYS_prlimit64, 0x7ffffff, RLIMIT_NOFILE, 0, &now), ESRCH);
	become_ordinary();
	FAILS(RAW(SYS_setrlimit, RLIMIT_NOFILE, &more), EPERM);
}

TEST(files_limit, "Does a process without descriptors left get EMFILE from each call that makes one?")
{
	struct rlimit most = { 32, 32 };
	int ends[2], fd, last = 0;

	OK(setrlimit(RLIMIT_NOFILE, &most));
	while ((fd = open(".", O_RDONLY)) >= 0)
		last = fd;
	FAILS(fd, EMFILE);
	IS(last, 31);
	FAILS(dup(0), EMFILE);
	FAILS(pipe(ends), EMFILE);
	FAILS(socket(AF_UNIX, SOCK_STREAM, 0), EMFILE);
	FAILS(fcntl(0, F_DUPFD, 3), EMFILE);
	FAILS(open("new", O_RDWR | O_CREAT, 0644), EMFILE);
	OK(close(last));
	FAILS(pipe(ends), EMFILE);
	FAILS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), EMFILE);
	IS(open(".", O_RDONLY), last);
}

TEST(files_many, "Can a process open as many files as its limit says, and do all close with it?")
{
	struct rlimit most;
	int n = 0;

	OK(getrlimit(RLIMIT_NOFILE, &most));
	make_file("a", "");
	while (n < 4096 && open("a", O_RDONLY) >= 0)
		n++;
	TRUE(n == 4096 || (n < (int)most.rlim_cur && (errno == EMFILE || errno == ENFILE)));
	TRUE(n >= 200);
}

TEST(processes_limit, "Does fork say EAGAIN at RLIMIT_NPROC, or when no process is left?")
{
	struct rlimit before, most;
	enum { CEILING = 1100 };
	static pid_t pids[CEILING];
	int n = 0, ordinary = !is_root();
	pid_t pid = 0;

	OK(getrlimit(RLIMIT_NPROC, &before));
	most = (struct rlimit){ 40, before.rlim_max };
	if (ordinary)
		OK(setrlimit(RLIMIT_NPROC, &most));
	while (n < CEILING) {
		pid = fork();
		if (pid == 0) {
			pause();
			_exit(0);
		}
		if (pid < 0)
			break;
		pids[n++] = pid;
	}
	if (pid < 0)
		TRUE(errno == EAGAIN || errno == ENOMEM);
	else
		TRUE(!ordinary);
	while (n > 0) {
		n--;
		kill_and_reap(pids[n]);
	}
	/* Other tests' processes of this user may already reach the limit. */
	OK(setrlimit(RLIMIT_NPROC, &before));
	IN_CHILD (0)
		_exit(0);
}

TEST(memory_limit, "Does a process that takes all it may get ENOMEM, and is all given back?")
{
	struct rlimit most = { 256 << 20, 256 << 20 };
	int status;
	pid_t pid;

	START_CHILD (pid) {
		char *at;
		int n = 0;

		OK(setrlimit(RLIMIT_AS, &most));
		while ((at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) !=
		       MAP_FAILED) {
			for (long i = 0; i < 1 << 20; i += PAGE)
				at[i] = 1;
			n++;
		}
		IS(errno, ENOMEM);
		TRUE(n > 4 && n < 256);
	}
	/* If there is less memory than the limit, the process may be killed instead. */
	status = reap(pid);
	TRUE(status == 0 || status == 128 + SIGKILL || status == 128 + SIGBUS || status == 128 + SIGSEGV);
	IN_CHILD (0)
		_exit(0);
}

TEST(fork_deep, "Does a chain of forks, each the child of the last, unwind?")
{
	int depth = 0;
	pid_t pid;

	while (depth < 30) {
		pid = fork_checked();
		if (pid != 0) {
			int status = reap(pid);

			if (depth > 0)
				_exit(status + 1);
			IS(status, 29);
			return;
		}
		depth++;
	}
	_exit(0);
}

TEST(folder_many, "Does a folder take a thousand names and give them back?")
{
	char name[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "name-%d", i);
		OK(close((int)OK(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644))));
	}
	for (int i = 999; i >= 0; i--) {
		snprintf(name, sizeof name, "name-%d", i);
		OK(unlink(name));
	}
}

TEST(pipes_many, "Do 200 pipes hold what each was given?")
{
	int ends[200][2];
	char byte;

	for (int i = 0; i < 200; i++) {
		OK(pipe(ends[i]));
		byte = (char)i;
		IS(write(ends[i][1], &byte, 1), 1);
	}
	for (int i = 0; i < 200; i++) {
		IS(read(ends[i][0], &byte, 1), 1);
		IS(byte, (char)i);
	}
}
