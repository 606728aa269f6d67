/* net_witness.c: the second witness of the network's rows. `net_witness udp|tcp|connect` prints what one round trip, or
 * one connection, takes by the processor's cycle counter: of twice as many operations less that of once as many. It
 * shares no line with the probe, no marker and no plugin. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define OPERATIONS 100

static struct sockaddr_in address = { .sin_family = AF_INET };
static int listener, type;

static void check(int worked)
{
	if (!worked) {
		perror("net_witness");
		exit(1);
	}
}

static int new_socket(void)
{
	int fd = socket(AF_INET, type, 0);

	check(fd >= 0);
	return fd;
}

/* `address` becomes that of the socket. */
static void address_of(int fd)
{
	socklen_t length = sizeof address;

	check(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
}

static int bound(void)
{
	int fd = new_socket();

	address.sin_port = 0;
	check(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
	address_of(fd);
	return fd;
}

static void connect_to(int fd)
{
	check(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
}

static void send_at_once(int fd)
{
	int one = 1;

	check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
}

static void pair(int end[2])
{
	end[0] = bound();
	if (type == SOCK_DGRAM) {
		end[1] = bound();
		connect_to(end[0]);
		address_of(end[0]);
		connect_to(end[1]);
	} else {
		check(listen(listener = end[0], 1) == 0);
		connect_to(end[0] = new_socket());
		check((end[1] = accept(listener, NULL, NULL)) >= 0);
		send_at_once(end[0]);
		send_at_once(end[1]);
	}
}

static void send_byte(int fd)
{
	char byte = 'w';

	check(write(fd, &byte, 1) == 1);
}

static int receive_byte(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/* The client waits for a byte and closes by a reset, for which the server waits. */
static void connection(void)
{
	struct linger hard = { .l_onoff = 1 };
	int fd = new_socket();

	connect_to(fd);
	check(receive_byte(fd));
	check(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0 && close(fd) == 0);
}

static void serve_connections(void)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		check(fd >= 0);
		send_byte(fd);
		receive_byte(fd);
		close(fd);
	}
}

static unsigned long cycles(int operations, int fd)
{
	unsigned long from = __rdtsc();

	while (operations--)
		if (fd < 0) {
			connection();
		} else {
			send_byte(fd);
			check(receive_byte(fd));
		}
	return __rdtsc() - from;
}

int main(int argc, char **argv)
{
	int connects = argc > 1 && strcmp(argv[1], "connect") == 0, end[2] = { -1, -1 };

	type = argc > 1 && strcmp(argv[1], "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connects)
		check(listen(listener = bound(), 1) == 0);
	else
		pair(end);
	pid_t child = fork();
	check(child >= 0);
	if (child == 0) {
		if (connects)
			serve_connections();
		while (receive_byte(end[1]))
			send_byte(end[1]);
		_exit(1);
	}
	cycles(10, end[0]);
	unsigned long once = cycles(OPERATIONS, end[0]), twice = cycles(2 * OPERATIONS, end[0]);
	kill(child, 9);
	check(waitpid(child, NULL, 0) == child);
	printf("%ld\n", (long)(twice - once) / OPERATIONS);
	return 0;
}
