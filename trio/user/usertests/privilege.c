/* privilege.c: what an ordinary user may not do, and that this is checked first. */
#include "usertests.h"

#include <sys/mount.h>
#include <sys/reboot.h>

TEST(privileged_calls, "Are mounting, rebooting and setting the clock refused to an ordinary user?")
{
	struct timespec t = { 1000000000, 0 };

	OK(mkdir("d", 0755));
	OK(chmod(".", 0777));
	become_ordinary();
	FAILS(mount("tmpfs", "d", "tmpfs", 0, NULL), EPERM);
	FAILS(umount2("d", 0), EPERM);
	FAILS(RAW(SYS_reboot, 0xfee1dead, 672274793, RB_POWER_OFF, 0), EPERM);
	FAILS(RAW(SYS_clock_settime, CLOCK_REALTIME, &t), EPERM);
	FAILS(sethostname("other", 5), EPERM);
	FAILS(setdomainname("other", 5), EPERM);
	FAILS(RAW(SYS_sethostname, "", -1), EPERM);
	FAILS(RAW(SYS_chroot, "d"), EPERM);
}

TEST(privileged_signals, "May an ordinary user not signal, trace or renice another's process?")
{
	int ends[2];
	pid_t pid;

	only_for_root();
	OK(pipe(ends));
	START_CHILD (pid) {
		get(ends[0]);
		_exit(3);
	}
	if (fork_checked() == 0) {
		become_ordinary();
		FAILS(kill(pid, SIGKILL), EPERM);
		FAILS(kill(pid, 0), EPERM);
		FAILS(setpriority(PRIO_PROCESS, (id_t)pid, 10), EPERM);
		FAILS(RAW(SYS_prlimit64, pid, RLIMIT_NOFILE, 0, ends), EPERM);
		/* A process of the same session may be continued. */
		OK(kill(pid, SIGCONT));
		_exit(0);
	}
	IS(wait(NULL) > 0, 1);
	put(ends[1]);
	IS(reap(pid), 3);
}

TEST(privileged_files, "Does a write by an ordinary user take set-user-id away?")
{
	int fd;

	make_file("a", "text");
	OK(chmod("a", 06777));
	OK(chmod(".", 0777));
	become_ordinary();
	fd = (int)OK(open("a", O_WRONLY));
	IS(write(fd, "x", 1), 1);
	IS(status_of("a").st_mode & 07777, 0777);
}

TEST(privileged_links, "May a file be linked and renamed by who may write its folder alone?")
{
	OK(mkdir("open", 0755));
	OK(chmod("open", 0777));
	OK(mkdir("closed", 0755));
	make_file("closed/a", "");
	make_file("open/b", "");
	only_for_root();
	become_ordinary();
	FAILS(rename("closed/a", "open/a"), EACCES);
	FAILS(rename("open/b", "closed/b"), EACCES);
	FAILS(mkdir("closed/d", 0755), EACCES);
	OK(rename("open/b", "open/c"));
	OK(unlink("open/c"));
}
