/* inet.c: UDP and TCP over loopback. A kernel without a network returns EAFNOSUPPORT; then there is nothing to test. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "usertests.h"

static int made(int type)
{
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 && errno == EAFNOSUPPORT)
		skip("no network");
	return (int)OK(fd);
}

static struct sockaddr_in at(int port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return name;
}

static int port_of(int fd)
{
	struct sockaddr_in name = { 0 };
	socklen_t size = sizeof name;

	OK(getsockname(fd, (struct sockaddr *)&name, &size));
	IS(size, sizeof name);
	IS(name.sin_family, AF_INET);
	return ntohs(name.sin_port);
}

static int bind_port(int fd, int port)
{
	struct sockaddr_in name = at(port);

	return bind(fd, (struct sockaddr *)&name, sizeof name);
}

static int connect_port(int fd, int port)
{
	struct sockaddr_in name = at(port);

	return connect(fd, (struct sockaddr *)&name, sizeof name);
}

static int bound_port(int type, int *port)
{
	int fd = made(type);

	OK(bind_port(fd, 0));
	*port = port_of(fd);
	TRUE(*port > 1023);
	return fd;
}

static int listener(int *port, int backlog)
{
	int fd = bound_port(SOCK_STREAM, port);

	OK(listen(fd, backlog));
	return fd;
}

static void pair(int ends[2])
{
	int port, fd = listener(&port, 1);

	ends[0] = made(SOCK_STREAM);
	OK(connect_port(ends[0], port));
	ends[1] = (int)OK(accept(fd, NULL, NULL));
	OK(close(fd));
}

TEST(inet_refused, "Do socket, bind and connect refuse what they should?")
{
	int port, fd = bound_port(SOCK_STREAM, &port), other = made(SOCK_STREAM);
	struct sockaddr_in far = at(port);

	FAILS(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
	FAILS(bind_port(fd, 0), EINVAL);
	FAILS(bind_port(other, port), EADDRINUSE);
	/* An address reserved for documentation. */
	far.sin_addr.s_addr = htonl(0xc0000201);
	FAILS(bind(other, (struct sockaddr *)&far, sizeof far), EADDRNOTAVAIL);
	FAILS(bind(other, (struct sockaddr *)&far, 4), EINVAL);
	FAILS(connect_port(other, port), ECONNREFUSED);
	FAILS(accept(other, NULL, NULL), EINVAL);
	FAILS(send(other, "x", 1, MSG_NOSIGNAL), EPIPE);
	FAILS(recv(other, &port, 1, 0), ENOTCONN);
	FAILS(getpeername(other, (struct sockaddr *)&far, &(socklen_t){ sizeof far }), ENOTCONN);
	FAILS(shutdown(other, SHUT_WR), ENOTCONN);
}

TEST(inet_datagrams, "Do datagrams stay whole, cut where there is no room, and tell who sent them?")
{
	int ports[2], a = bound_port(SOCK_DGRAM, &ports[0]), b = bound_port(SOCK_DGRAM, &ports[1]);
	struct sockaddr_in name = at(ports[1]), from = { 0 };
	socklen_t size = sizeof from;
	char text[16];

	FAILS(recv(b, text, sizeof text, MSG_DONTWAIT), EAGAIN);
	FAILS(send(a, "x", 1, 0), EDESTADDRREQ);
	IS(sendto(a, "first", 5, 0, (struct sockaddr *)&name, sizeof name), 5);
	IS(sendto(a, "", 0, 0, (struct sockaddr *)&name, sizeof name), 0);
	IS(sendto(a, "third", 5, 0, (struct sockaddr *)&name, sizeof name), 5);
	IS(events_of(b, POLLIN), POLLIN);
	IS(recv(b, text, sizeof text, MSG_PEEK), 5);
	IS(recvfrom(b, text, 3, MSG_TRUNC, (struct sockaddr *)&from, &size), 5);
	IS(ntohs(from.sin_port), ports[0]);
	IS(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	IS(recv(b, text, sizeof text, 0), 0);
	IS(recv(b, text, sizeof text, 0), 5);
	TRUE(memcmp(text, "third", 5) == 0);
	IS(events_of(b, POLLIN | POLLOUT), POLLOUT);
}

TEST(inet_datagrams_connected, "Does a connected socket of datagrams hear of its peer alone, and of its end?")
{
	int ports[2], a = bound_port(SOCK_DGRAM, &ports[0]), b = bound_port(SOCK_DGRAM, &ports[1]),
		      c = made(SOCK_DGRAM);
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	char byte;

	OK(connect_port(a, ports[1]));
	OK(connect_port(c, ports[0]));
	IS(send(c, "c", 1, 0), 1);
	FAILS(recv(a, &byte, 1, MSG_DONTWAIT), EAGAIN);
	IS(send(a, "a", 1, 0), 1);
	IS(recv(b, &byte, 1, 0), 1);
	OK(close(b));
	IS(send(a, "a", 1, 0), 1);
	FAILS(recv(a, &byte, 1, 0), ECONNREFUSED);
	OK(connect(a, &nobody, sizeof nobody));
	FAILS(send(a, "a", 1, 0), EDESTADDRREQ);
}

TEST(inet_stream, "Do streams have names at both ends, and carry bytes both ways, then the end?")
{
	int port, own, fd = listener(&port, 4), a = made(SOCK_STREAM), b;
	struct sockaddr_in name = { 0 };
	socklen_t size = sizeof name;
	char text[16];

	FAILS(recv(fd, text, 1, MSG_DONTWAIT), ENOTCONN);
	IS(events_of(fd, POLLIN), 0);
	OK(connect_port(a, port));
	FAILS(connect_port(a, port), EISCONN);
	IS(events_of(fd, POLLIN), POLLIN);
	own = port_of(a);
	b = (int)OK(accept(fd, (struct sockaddr *)&name, &size));
	IS(ntohs(name.sin_port), own);
	IS(port_of(b), port);
	OK(getpeername(a, (struct sockaddr *)&name, &size));
	IS(ntohs(name.sin_port), port);
	IS(write(a, "there", 5), 5);
	IS(write(b, "back", 4), 4);
	IS(recv(b, text, 16, MSG_PEEK), 5);
	IS(read(b, text, 3), 3);
	IS(read(b, text + 3, 13), 2);
	TRUE(memcmp(text, "there", 5) == 0);
	IS(read(a, text, 16), 4);
	OK(shutdown(a, SHUT_WR));
	IS(read(b, text, 16), 0);
	IS(write(b, "more", 4), 4);
	IS(read(a, text, 16), 4);
	FAILS(send(a, "x", 1, MSG_NOSIGNAL), EPIPE);
	OK(close(b));
	IS(read(a, text, 16), 0);
}

TEST(inet_reset, "Is a connection reset whose other end closes with bytes unread, or at once?")
{
	struct linger at_once = { 1, 0 };
	int ends[2];
	char byte;

	pair(ends);
	IS(write(ends[0], "lost", 4), 4);
	OK(close(ends[1]));
	FAILS(read(ends[0], &byte, 1), ECONNRESET);
	FAILS(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	pair(ends);
	IS(write(ends[0], "lost", 4), 4);
	OK(shutdown(ends[1], SHUT_WR));
	OK(close(ends[1]));
	IS(read(ends[0], &byte, 1), 0);
	FAILS(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	pair(ends);
	OK(setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
	OK(close(ends[1]));
	TRUE((events_of(ends[0], POLLIN) & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
	FAILS(read(ends[0], &byte, 1), ECONNRESET);
}

TEST(inet_full, "Does a writer wait for one who does not read, and does all arrive in order?")
{
	enum { SIZE = 40960 };
	char *block = room(SIZE);
	uint32_t sum = 0, wanted = 0;
	long total = 0, got;
	int ends[2];
	pid_t pid;

	pair(ends);
	for (size_t i = 0; i < SIZE; i++)
		block[i] = (char)(i * 7 + i / 251);
	START_CHILD (pid) {
		for (int i = 0; i < 100; i++)
			if (write(ends[0], block, SIZE) != SIZE)
				_exit(1);
	}
	OK(close(ends[0]));
	for (int i = 0; i < 100; i++)
		for (size_t k = 0; k < SIZE; k++)
			wanted = wanted * 31 + (unsigned char)block[k];
	sleep_ms(50);
	while ((got = OK(read(ends[1], block, 5000))) > 0) {
		for (long k = 0; k < got; k++)
			sum = sum * 31 + (unsigned char)block[k];
		total += got;
	}
	IS(total, 100L * SIZE);
	IS(sum, wanted);
	IS(reap(pid), 0);
}

TEST(inet_nonblocking, "Does a full stream say EAGAIN to who does not wait, and poll that there is room again?")
{
	enum { SIZE = 65536 };
	char *block = room(SIZE);
	long total = 0, n;
	int ends[2];

	pair(ends);
	OK(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	FAILS(read(ends[0], block, 1), EAGAIN);
	while ((n = write(ends[0], block, SIZE)) > 0)
		total += n;
	IS(n, -1);
	IS(errno, EAGAIN);
	IS(events_of(ends[0], POLLOUT), 0);
	IS(events_of(ends[1], POLLIN | POLLOUT), POLLIN | POLLOUT);
	while (total > 0)
		total -= OK(read(ends[1], block, SIZE));
	IS(total, 0);
	IS(events_of(ends[0], POLLOUT), POLLOUT);
}

TEST(inet_closed_while_waiting, "Do readers and writers wake when the other end goes?")
{
	char byte;
	int ends[2];
	pid_t pid;

	pair(ends);
	START_CHILD (pid) {
		sleep_ms(30);
	}
	OK(close(ends[1]));
	IS(read(ends[0], &byte, 1), 0);
	IS(reap(pid), 0);
}

TEST(inet_options, "Are options what they were set to?")
{
	int on = 1, value, type, fd = made(SOCK_STREAM);
	socklen_t size = sizeof value;

	OK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
	OK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size));
	IS(value != 0, 1);
	OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
	OK(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, &size));
	IS(value != 0, 1);
	OK(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &size));
	IS(value, AF_INET);
	OK(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &size));
	IS(value, IPPROTO_TCP);
	OK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size));
	IS(type, SOCK_STREAM);
	FAILS(setsockopt(fd, SOL_SOCKET, 9999, &on, sizeof on), ENOPROTOOPT);
	FAILS(connect_port(fd, 1), ECONNREFUSED);
	OK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &size));
	IS(value, 0);
}

TEST(inet_served, "Are many connections in turn served at one port, which is free again at the end?")
{
	int port, fd = made(SOCK_STREAM), on = 1;
	char byte = 0;
	pid_t pid;

	/* While Linux remembers the port's connections, both its old and its new socket need this option. */
	OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
	OK(bind_port(fd, 0));
	port = port_of(fd);
	OK(listen(fd, 8));
	START_CHILD (pid) {
		for (int i = 0; i < 50; i++) {
			int end = accept(fd, NULL, NULL);

			if (end < 0 || write(end, "y", 1) != 1 || close(end) != 0)
				_exit(1);
		}
	}
	OK(close(fd));
	for (int i = 0; i < 50; i++) {
		int end = made(SOCK_STREAM);

		OK(connect_port(end, port));
		IS(read(end, &byte, 1), 1);
		IS(read(end, &byte, 1), 0);
		OK(close(end));
	}
	IS(reap(pid), 0);
	fd = made(SOCK_STREAM);
	FAILS(connect_port(fd, port), ECONNREFUSED);
	OK(close(fd));
	fd = made(SOCK_STREAM);
	OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
	OK(bind_port(fd, port));
	OK(listen(fd, 1));
}
