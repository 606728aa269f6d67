/* minix.c: loaded into a probe (LD_PRELOAD), it answers as MINIX 3.4 was met: getrusage counts nothing, and no server
 * answers for UNIX-domain sockets. With REMEMBERS getpid is remembered, as some C libraries do. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	(void)who;
	memset(usage, 0, sizeof *usage);
	return 0;
}

int socketpair(int domain, int type, int protocol, int end[2])
{
	(void)domain, (void)type, (void)protocol, (void)end;
	errno = ENOENT;
	return -1;
}

static int remembers;

__attribute__((constructor)) static void begin(void)
{
	remembers = getenv("REMEMBERS") != NULL;
}

pid_t getpid(void)
{
	static pid_t known;

	if (known == 0 || !remembers)
		known = (pid_t)syscall(SYS_getpid);
	return known;
}
