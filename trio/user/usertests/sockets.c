/* sockets.c: AF_UNIX sockets: pairs, names, streams, datagrams, and passing of descriptors. */
#include "usertests.h"

TEST(socketpair, "Does what is written at one end of a pair come out at the other, both ways?")
{
	int ends[2];
	char text[16];

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	IS(write(ends[0], "there", 5), 5);
	IS(write(ends[1], "back", 4), 4);
	IS(read(ends[1], text, 3), 3);
	IS(read(ends[1], text + 3, 13), 2);
	TRUE(memcmp(text, "there", 5) == 0);
	IS(read(ends[0], text, 16), 4);
	OK(close(ends[0]));
	IS(read(ends[1], text, 16), 0);
	handle(SIGPIPE, SIG_IGN, 0);
	FAILS(write(ends[1], "x", 1), EPIPE);
}

TEST(socket_errors, "Do socket and socketpair refuse what they should?")
{
	int ends[2];

	FAILS(socket(9999, SOCK_STREAM, 0), EAFNOSUPPORT);
	FAILS(socket(AF_UNIX, 9, 0), ESOCKTNOSUPPORT);
	FAILS(socket(AF_UNIX, SOCK_STREAM, 77), EPROTONOSUPPORT);
	FAULTS(RAW(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, wild));
	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	IS(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
	IS(fcntl(ends[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

TEST(socket_calls_on_files, "Do socket calls refuse what is no socket?")
{
	struct sockaddr_un name = address_of("s");
	socklen_t size = sizeof name;
	char byte;
	int fd;

	fd = made_file("a", "", O_RDWR);
	FAILS(bind(fd, (struct sockaddr *)&name, size), ENOTSOCK);
	FAILS(listen(fd, 1), ENOTSOCK);
	FAILS(accept(fd, NULL, NULL), ENOTSOCK);
	FAILS(connect(fd, (struct sockaddr *)&name, size), ENOTSOCK);
	FAILS(send(fd, "x", 1, 0), ENOTSOCK);
	FAILS(recv(fd, &byte, 1, 0), ENOTSOCK);
	FAILS(shutdown(fd, SHUT_RD), ENOTSOCK);
	FAILS(getsockname(fd, (struct sockaddr *)&name, &size), ENOTSOCK);
	FAILS(listen(99, 1), EBADF);
	FAILS(send(99, "x", 1, 0), EBADF);
}

TEST(socket_bind, "Does bind make a name, once?")
{
	struct sockaddr_un name = address_of("none/s"), told = { 0 };
	socklen_t size = sizeof told;
	int fd = bound(SOCK_STREAM, "s"), other = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0));

	IS(status_of("s").st_mode & S_IFMT, S_IFSOCK);
	OK(getsockname(fd, (struct sockaddr *)&told, &size));
	IS(told.sun_family, AF_UNIX);
	TRUE(strcmp(told.sun_path, "s") == 0);
	FAILS(open("s", O_RDWR), ENXIO);
	FAILS(bind(other, (struct sockaddr *)&name, sizeof name), ENOENT);
	name = address_of("s");
	FAILS(bind(other, (struct sockaddr *)&name, sizeof name), EADDRINUSE);
	name = address_of("t");
	FAILS(bind(fd, (struct sockaddr *)&name, sizeof name), EINVAL);
	name.sun_family = AF_INET;
	FAILS(bind(other, (struct sockaddr *)&name, sizeof name), EINVAL);
	FAULTS(RAW(SYS_bind, other, wild, sizeof name));
}

TEST(socket_connect, "Do a listener and a client find each other by name?")
{
	int listener = bound(SOCK_STREAM, "s"), client, server;
	struct sockaddr_un name = { 0 };
	socklen_t size = sizeof name;
	char text[8];
	pid_t pid;

	OK(listen(listener, 5));
	START_CHILD (pid) {
		client = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0));
		OK(connect_to(client, "s"));
		IS(write(client, "hello", 5), 5);
		IS(read(client, text, 8), 3);
		OK(getpeername(client, (struct sockaddr *)&name, &size));
		TRUE(strcmp(name.sun_path, "s") == 0);
	}
	server = (int)OK(accept(listener, (struct sockaddr *)&name, &size));
	IS(name.sun_family, AF_UNIX);
	IS(size, 2);
	IS(read(server, text, 8), 5);
	IS(write(server, "you", 3), 3);
	IS(reap(pid), 0);
	IS(read(server, text, 8), 0);
}

TEST(socket_connect_errors, "Does connect say why it fails?")
{
	int fd = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), quiet = bound(SOCK_STREAM, "quiet"), gone;
	struct sockaddr_un name = address_of("quiet");
	socklen_t size = sizeof name;
	char byte;

	FAILS(connect_to(fd, "none"), ENOENT);
	FAILS(connect_to(fd, "quiet"), ECONNREFUSED);
	make_file("file", "");
	FAILS(connect_to(fd, "file"), ECONNREFUSED);
	gone = bound(SOCK_STREAM, "gone");
	OK(listen(gone, 1));
	OK(close(gone));
	FAILS(connect_to(fd, "gone"), ECONNREFUSED);
	FAILS(accept(quiet, NULL, NULL), EINVAL);
	FAILS(getpeername(fd, (struct sockaddr *)&name, &size), ENOTCONN);
	handle(SIGPIPE, SIG_IGN, 0);
	FAILS(write(fd, "x", 1), ENOTCONN);
	FAILS(read(fd, &byte, 1), EINVAL);
	FAILS(listen((int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), 1), EINVAL);
	OK(listen(quiet, 1));
	OK(connect_to(fd, "quiet"));
	FAILS(connect_to(fd, "quiet"), EISCONN);
	bound(SOCK_DGRAM, "datagrams");
	FAILS(connect_to((int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), "datagrams"), EPROTOTYPE);
}

TEST(socket_accept4, "Does accept4 set its flags, and not wait on a listener that is not to?")
{
	int listener = bound(SOCK_STREAM, "s"), client = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), server;

	OK(listen(listener, 5));
	OK(fcntl(listener, F_SETFL, O_NONBLOCK));
	FAILS(accept(listener, NULL, NULL), EAGAIN);
	OK(connect_to(client, "s"));
	server = (int)OK(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	IS(fcntl(server, F_GETFD), FD_CLOEXEC);
	IS(fcntl(server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	FAILS(RAW(SYS_accept4, listener, 0, 0, 1), EINVAL);
}

TEST(socket_accept_waits, "Does accept wait for a client, and end with EINTR at a signal?")
{
	int listener = bound(SOCK_STREAM, "s");

	OK(listen(listener, 5));
	tick(5, catch, 0);
	FAILS(accept(listener, NULL, NULL), EINTR);
}

TEST(socket_datagrams, "Do datagrams keep their borders and tell who sent them?")
{
	int a = bound(SOCK_DGRAM, "a"), b = bound(SOCK_DGRAM, "b");
	struct sockaddr_un name = address_of("b"), from;
	socklen_t size = sizeof from;
	char text[16];

	IS(sendto(a, "first", 5, 0, (struct sockaddr *)&name, sizeof name), 5);
	IS(sendto(a, "second", 6, 0, (struct sockaddr *)&name, sizeof name), 6);
	IS(recvfrom(b, text, 3, 0, (struct sockaddr *)&from, &size), 3);
	TRUE(memcmp(text, "fir", 3) == 0 && strcmp(from.sun_path, "a") == 0);
	IS(recv(b, text, 16, 0), 6);
	FAILS(recv(b, text, 16, MSG_DONTWAIT), EAGAIN);
	FAILS(send(a, "x", 1, 0), ENOTCONN);
	name = address_of("none");
	FAILS(sendto(a, "x", 1, 0, (struct sockaddr *)&name, sizeof name), ENOENT);
	OK(connect_to(a, "b"));
	IS(send(a, "x", 1, 0), 1);
	IS(read(b, text, 16), 1);
}

TEST(socket_seqpacket, "Do SOCK_SEQPACKET pairs keep borders?")
{
	int ends[2];
	char text[16];

	OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	IS(write(ends[0], "one", 3), 3);
	IS(write(ends[0], "three", 5), 5);
	IS(read(ends[1], text, 16), 3);
	IS(read(ends[1], text, 2), 2);
	OK(close(ends[0]));
	IS(read(ends[1], text, 16), 0);
}

TEST(socket_peek, "Does MSG_PEEK leave the bytes, and MSG_WAITALL wait for all?")
{
	int ends[2];
	char text[16];
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	IS(send(ends[0], "abc", 3, 0), 3);
	IS(recv(ends[1], text, 16, MSG_PEEK), 3);
	START_CHILD (pid) {
		sleep_ms(20);
		IS(send(ends[0], "def", 3, 0), 3);
	}
	IS(recv(ends[1], text, 6, MSG_WAITALL), 6);
	TRUE(memcmp(text, "abcdef", 6) == 0);
	IS(reap(pid), 0);
	FAILS(recv(ends[1], text, 1, MSG_DONTWAIT), EAGAIN);
	OK(close(ends[1]));
	FAILS(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
}

TEST(socket_shutdown, "Does shutdown end one direction?")
{
	int ends[2];
	char text[8];

	handle(SIGPIPE, SIG_IGN, 0);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	IS(write(ends[0], "end", 3), 3);
	OK(shutdown(ends[0], SHUT_WR));
	IS(read(ends[1], text, 8), 3);
	IS(read(ends[1], text, 8), 0);
	FAILS(write(ends[0], "x", 1), EPIPE);
	IS(write(ends[1], "y", 1), 1);
	IS(read(ends[0], text, 8), 1);
	FAILS(shutdown(ends[0], 77), EINVAL);
}

TEST(socket_messages, "Do sendmsg and recvmsg scatter, gather and tell of truncation?")
{
	int ends[2];
	char a[4], b[4];
	struct iovec out[2] = { { "abc", 3 }, { "defg", 4 } }, in[2] = { { a, 2 }, { b, 3 } };
	struct msghdr message;

	memset(&message, 0, sizeof message);
	OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	message.msg_iov = out;
	message.msg_iovlen = 2;
	IS(sendmsg(ends[0], &message, 0), 7);
	message.msg_iov = in;
	IS(recvmsg(ends[1], &message, 0), 5);
	TRUE(memcmp(a, "ab", 2) == 0 && memcmp(b, "cde", 3) == 0);
	IS(message.msg_flags & MSG_TRUNC, MSG_TRUNC);
	FAULTS(RAW(SYS_sendmsg, ends[0], wild, 0));
	FAULTS(RAW(SYS_recvmsg, ends[0], wild, 0));
}

TEST(socket_descriptors, "Does a descriptor travel through a socket?")
{
	int ends[2], fd, got;

	fd = made_file("a", "0123", O_RDONLY);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	send_fd(ends[0], fd);
	get(fd);
	OK(close(fd));
	got = take_fd(ends[1]);
	IS(lseek(got, 0, SEEK_CUR), 1);
	/* An unreceived descriptor is closed with the socket. */
	send_fd(ends[0], got);
}

TEST(socket_options, "Do getsockopt and setsockopt know the usual options?")
{
	int ends[2], value = -1;
	socklen_t size = sizeof value;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	OK(getsockopt(ends[0], SOL_SOCKET, SO_TYPE, &value, &size));
	IS(value, SOCK_STREAM);
	OK(getsockopt(ends[0], SOL_SOCKET, SO_ERROR, &value, &size));
	IS(value, 0);
	OK(getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &value, &size));
	TRUE(value > 0);
	FAILS(getsockopt(ends[0], SOL_SOCKET, 9999, &value, &size), ENOPROTOOPT);
	FAILS(setsockopt(ends[0], SOL_SOCKET, 9999, &value, size), ENOPROTOOPT);
	FAULTS(RAW(SYS_getsockopt, ends[0], SOL_SOCKET, SO_TYPE, &value, wild));
	FAILS(getsockopt(99, SOL_SOCKET, SO_TYPE, &value, &size), EBADF);
}

TEST(socket_full, "Does a full socket say EAGAIN, and take again what was read?")
{
	static char text[PAGE];
	int ends[2];
	long sent = 0, got = 0, n;

	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	while ((n = write(ends[0], text, sizeof text)) > 0)
		sent += n;
	FAILS(n, EAGAIN);
	TRUE(sent >= PAGE);
	while ((n = read(ends[1], text, sizeof text)) > 0)
		got += n;
	IS(got, sent);
	TRUE(OK(write(ends[0], text, sizeof text)) > 0);
}

TEST(socket_large, "Do many bytes pass a socket between processes, whole and in order?")
{
	enum { LENGTH = 300000 };
	char *text = room(LENGTH);
	int ends[2];
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	START_CHILD (pid) {
		fill(text, LENGTH, 9);
		IS(write(ends[0], text, LENGTH), LENGTH);
	}
	OK(close(ends[0]));
	IS(read_all(ends[1], text, LENGTH), LENGTH);
	TRUE(filled(text, LENGTH, 9));
	IS(reap(pid), 0);
}

TEST(socket_poll, "Does poll see a client that waits, bytes and a hang-up?")
{
	int listener = bound(SOCK_STREAM, "s"), client = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), server;

	OK(listen(listener, 5));
	IS(events_of(listener, POLLIN), 0);
	OK(connect_to(client, "s"));
	IS(events_of(listener, POLLIN), POLLIN);
	server = (int)OK(accept(listener, NULL, NULL));
	IS(events_of(server, POLLIN), 0);
	put(client);
	IS(events_of(server, POLLIN), POLLIN);
	get(server);
	OK(close(client));
	IS(events_of(server, POLLIN) & (POLLIN | POLLHUP), POLLIN | POLLHUP);
}
