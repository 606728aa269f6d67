/* users.c: the users of a process and their rights; its name and its nice value. */
#include "usertests.h"

#include <sys/prctl.h>

TEST(users_ordinary, "Can a process give up root's rights, and not take them back?")
{
	uid_t r, e, s;

	if (is_root()) {
		become_ordinary();
		IS(getuid(), OTHER_USER);
	}
	OK(getresuid(&r, &e, &s));
	IS(r, e);
	IS(e, s);
	FAILS(setuid(0), EPERM);
	FAILS(seteuid(0), EPERM);
	FAILS(setgid(getgid() + 1), EPERM);
	FAILS(RAW(SYS_setresuid, 0, -1, -1), EPERM);
	OK(RAW(SYS_setresuid, -1, -1, -1));
	FAILS(RAW(SYS_setgroups, 0, 0), EPERM);
	OK(setuid(getuid()));
	FAILS(kill(1, SIGCONT), EPERM);
}

TEST(users_saved, "Can a process with saved root go back to it?")
{
	gid_t groups[4] = { 5, 6, 7, 0 }, told[4];

	only_for_root();
	OK(RAW(SYS_setgroups, 3, groups));
	IS(getgroups(0, NULL), 3);
	IS(getgroups(4, told), 3);
	IS(told[1], 6);
	FAILS(getgroups(2, told), EINVAL);
	FAILS(RAW(SYS_getgroups, -1, told), EINVAL);
	OK(seteuid(1000));
	IS(geteuid(), 1000);
	IS(getuid(), 0);
	FAILS(RAW(SYS_setgroups, 0, 0), EPERM);
	OK(seteuid(0));
	OK(RAW(SYS_setreuid, 0, 1000));
	OK(RAW(SYS_setresuid, -1, 0, -1));
	OK(RAW(SYS_setregid, 20, 30));
	IS(getegid(), 30);
	IS(getgid(), 20);
	OK(setuid(1000));
	FAILS(setuid(0), EPERM);
}

TEST(priority, "Do getpriority and setpriority agree, and only root lower a nice value?")
{
	int least = getpriority(PRIO_PROCESS, 0), more = least > 10 ? least : 10;

	TRUE(least >= 0);
	OK(setpriority(PRIO_PROCESS, 0, more));
	IS(getpriority(PRIO_PROCESS, 0), more);
	IS(RAW(SYS_getpriority, PRIO_PROCESS, 0), 20 - more);
	OK(setpriority(PRIO_PROCESS, getpid(), 100));
	IS(getpriority(PRIO_PROCESS, 0), 19);
	become_ordinary();
	FAILS(setpriority(PRIO_PROCESS, 0, 5), EACCES);
	FAILS(setpriority(77, 0, 5), EINVAL);
	FAILS(RAW(SYS_getpriority, 77, 0), EINVAL);
	FAILS(RAW(SYS_getpriority, PRIO_PROCESS, 0x7ffffff), ESRCH);
}

TEST(names, "Does PR_SET_NAME keep fifteen characters?")
{
	char name[32] = "";

	OK(prctl(PR_SET_NAME, "a name that is far too long", 0, 0, 0));
	OK(prctl(PR_GET_NAME, name, 0, 0, 0));
	TRUE(strcmp(name, "a name that is ") == 0);
	FAULTS(RAW(SYS_prctl, PR_SET_NAME, wild, 0, 0, 0));
	FAILS(RAW(SYS_prctl, 999999, 0, 0, 0, 0), EINVAL);
}

TEST(access_by_real_user, "Does access ask for the real user, faccessat2 with AT_EACCESS for the effective one?")
{
	only_for_root();
	make_file("a", "");
	OK(chmod("a", 0600));
	OK(seteuid(OTHER_USER));
	OK(access("a", R_OK | W_OK));
	FAILS(open("a", O_RDONLY), EACCES);
	FAILS(RAW(SYS_faccessat2, AT_FDCWD, "a", R_OK, AT_EACCESS), EACCES);
	OK(seteuid(0));
	OK(setreuid(OTHER_USER, 0));
	FAILS(access("a", R_OK), EACCES);
	OK(RAW(SYS_faccessat2, AT_FDCWD, "a", R_OK, AT_EACCESS));
}
