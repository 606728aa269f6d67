/* order.c: a call that is wrong in two ways returns the errno that Linux checks first. */
#include "usertests.h"

TEST(order_positions, "Is a pipe no place for a position, whichever way it goes?")
{
	int ends[2];
	char byte = 0;

	OK(pipe(ends));
	FAILS(pread(ends[1], &byte, 1, 0), ESPIPE);
	FAILS(pwrite(ends[0], &byte, 1, 0), ESPIPE);
	FAILS(pread(99, &byte, 1, 0), EBADF);
}

TEST(order_mapping, "Is a mapping that is neither private nor shared refused before its file is looked at?")
{
	int fd = (int)OK(open("file", O_WRONLY | O_CREAT, 0644));

	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, 0, fd, 0), EINVAL);
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), EACCES);
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, 0, 99, 0), EBADF);
}

TEST(order_validation, "Does MAP_SHARED_VALIDATE of a file refuse what MAP_SHARED lets pass?")
{
	int fd = (int)OK(open("file", O_RDONLY | O_CREAT, 0644));
	const int unknown = 0x200, validate = MAP_SHARED_VALIDATE;

	OK(RAW(SYS_mmap, 0, PAGE, PROT_READ, validate | MAP_POPULATE | MAP_NORESERVE, fd, 0));
	OK(RAW(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED | unknown, fd, 0));
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, validate | unknown, fd, 0), EOPNOTSUPP);
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_WRITE, validate | unknown, fd, 0), EOPNOTSUPP);
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, validate | MAP_SYNC, fd, 0), EOPNOTSUPP);
	FAILS(RAW(SYS_mmap, 0x10000000, PAGE, PROT_READ, validate | MAP_FIXED_NOREPLACE, fd, 0), EOPNOTSUPP);
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, validate | unknown, 99, 0), EBADF);
	FAILS(RAW(SYS_mmap, 0, PAGE, PROT_READ, validate | MAP_ANONYMOUS, -1, 0), EINVAL);
}

TEST(order_memory_file, "Does memfd_create look at flags and name?")
{
	char name[300];

	memset(name, 'n', sizeof name);
	FAILS(RAW(SYS_memfd_create, NULL, 0x80000000U), EINVAL);
	FAILS(RAW(SYS_memfd_create, NULL, 0), EFAULT);
	name[250] = '\0';
	FAILS(RAW(SYS_memfd_create, name, 0), EINVAL);
	name[249] = '\0';
	OK(RAW(SYS_memfd_create, name, 0));
	OK(RAW(SYS_memfd_create, "", MFD_CLOEXEC));
}

TEST(order_times, "Are times that change nothing set anywhere, and a path that is none nowhere?")
{
	struct timespec nothing[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };

	OK(RAW(SYS_utimensat, AT_FDCWD, "none", nothing, 0));
	FAILS(RAW(SYS_utimensat, AT_FDCWD, NULL, NULL, 0), EFAULT);
}

TEST(order_chroot, "Is a folder that may not be entered refused before the user is?")
{
	OK(mkdir("closed", 0700));
	OK(mkdir("open", 0755));
	OK(chmod("closed", 0));
	become_ordinary();
	FAILS(RAW(SYS_chroot, "closed"), EACCES);
	FAILS(RAW(SYS_chroot, "open"), EPERM);
}

TEST(order_scheduler, "Is a wrong process or address refused before the process is looked for?")
{
	int priority;

	FAILS(RAW(SYS_sched_getparam, -1, &priority), EINVAL);
	FAILS(RAW(SYS_sched_getparam, 0, NULL), EINVAL);
	FAILS(RAW(SYS_sched_getparam, 0x3fffffff, &priority), ESRCH);
}
