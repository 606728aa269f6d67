/* socket_errors.c: answers of calls for all files if the file is a socket, and rare errors. */
#include "usertests.h"

#include <sys/sendfile.h>

TEST(socket_reset_read, "Does read tell once that the peer has left bytes unread?")
{
	int ends[2];
	char byte;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	put(ends[0]);
	OK(close(ends[1]));
	FAILS(read(ends[0], &byte, 1), ECONNRESET);
	IS(read(ends[0], &byte, 1), 0);
	FAILS(read((int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), &byte, 1), EINVAL);
	FAILS(read((int)OK(socket(AF_UNIX, SOCK_SEQPACKET, 0)), &byte, 1), ENOTCONN);
}

TEST(socket_sendfile_errors, "Does sendfile tell what is wrong with the socket it sends to?")
{
	int file, ends[2], fd;

	file = made_file("f", "some text", O_RDONLY);
	fd = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(sendfile(fd, file, NULL, 5), ENOTCONN);
	fd = (int)OK(socket(AF_UNIX, SOCK_DGRAM, 0));
	FAILS(sendfile(fd, file, NULL, 5), ENOTCONN);
	bound(SOCK_DGRAM, "d");
	OK(connect_to(fd, "d"));
	IS(sendfile(fd, file, NULL, 5), 5);
	OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	OK(close(ends[1]));
	FAILS(sendfile(ends[0], file, NULL, 5), ECONNREFUSED);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	OK(close(ends[1]));
	handle(SIGPIPE, SIG_IGN, 0);
	FAILS(sendfile(ends[0], file, NULL, 4), EPIPE);
	IS(lseek(file, 0, SEEK_CUR), 5);
}

TEST(socket_peer_of_another, "Is a datagram refused by a socket that is connected to another?")
{
	struct sockaddr_un mine = address_of("a");
	int a = bound(SOCK_DGRAM, "a"), b = bound(SOCK_DGRAM, "b"), c = bound(SOCK_DGRAM, "c");

	OK(connect_to(a, "b"));
	OK(connect_to(b, "c"));
	FAILS(write(a, "x", 1), EPERM);
	FAILS(sendto(c, "x", 1, 0, (struct sockaddr *)&mine, sizeof mine), EPERM);
	FAILS(connect_to(c, "a"), EPERM);
	IS(write(b, "x", 1), 1);
}

TEST(socket_no_family, "Is an address of no family refused by sendto, and the end of a connection for connect?")
{
	struct sockaddr_un none = { .sun_family = AF_UNSPEC };
	int a = bound(SOCK_DGRAM, "a"), b = bound(SOCK_DGRAM, "b");

	OK(connect_to(a, "b"));
	FAILS(sendto(a, "x", 1, 0, (struct sockaddr *)&none, sizeof none), EINVAL);
	IS(write(a, "x", 1), 1);
	OK(connect(a, (struct sockaddr *)&none, sizeof none));
	FAILS(write(a, "x", 1), ENOTCONN);
	OK(close(b));
}

TEST(socket_bad_timeout, "Is a timeout of a socket with a million microseconds refused?")
{
	struct timeval bad = { 0, 1000000 };
	int fd = (int)OK(socket(AF_UNIX, SOCK_DGRAM, 0));

	FAILS(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bad, sizeof bad), EDOM);
	bad.tv_usec = -1;
	FAILS(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bad, sizeof bad), EDOM);
}

TEST(proc_gone_read, "Does a file of a process that has ended tell so?")
{
	char name[64], text[64];
	pid_t pid = fork_paused();
	int fd;

	snprintf(name, sizeof name, "/proc/%d/stat", pid);
	fd = (int)OK(open(name, O_RDONLY));
	kill_and_reap(pid);
	FAILS(read(fd, text, sizeof text), ESRCH);
	FAILS(pread(fd, text, sizeof text, 0), ESRCH);
}
