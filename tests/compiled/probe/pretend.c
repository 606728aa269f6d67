/* pretend.c: loaded into a probe (LD_PRELOAD), it answers statfs as if a path that contains /ext4 or /minix were on
 * such a file system, and kills a process that removes a file by a relative name if PRETEND_KILL is set: a row that
 * chdirs does that in the middle of its samples, the driver never does. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int statfs(const char *path, struct statfs *to)
{
	int answer = (int)syscall(SYS_statfs, path, to);

	if (answer == 0 && strstr(path, "/ext4"))
		to->f_type = 0xef53;
	if (answer == 0 && strstr(path, "/minix"))
		to->f_type = 0x4d5a;
	return answer;
}

int statfs64(const char *path, struct statfs64 *to) __attribute__((alias("statfs")));

int unlink(const char *path)
{
	if (path[0] != '/' && getenv("PRETEND_KILL"))
		kill(getpid(), SIGKILL);
	return (int)syscall(SYS_unlink, path);
}
