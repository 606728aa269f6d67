/* gone.c: errors of calls that meet something missing: a socket's other end, memory below the lowest page. */
#include "usertests.h"

#include <sys/sendfile.h>

TEST(gone_receiver, "Does sendfile say that a datagram's receiver is gone, and that a stream is not connected?")
{
	int pair[2], in, loose = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0));

	in = made_file("from", "0123456789", O_RDONLY);
	OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	OK(close(pair[1]));
	FAILS(sendfile(pair[0], in, NULL, 5), ECONNREFUSED);
	FAILS(sendfile(loose, in, NULL, 5), ENOTCONN);
}

TEST(gone_unread, "Does a read say that the other end was closed with something unread?")
{
	char byte;
	int pair[2];

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	put(pair[0]);
	OK(close(pair[1]));
	FAILS(read(pair[0], &byte, 1), ECONNRESET);
	IS(read(pair[0], &byte, 1), 0);
}

TEST(low_page_file, "May an ordinary user not map a file at the lowest page?")
{
	int fd;

	become_ordinary();
	fd = (int)OK(open("/proc/self/exe", O_RDONLY));
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), EPERM);
}
