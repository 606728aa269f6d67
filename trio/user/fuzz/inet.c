/* inet.c: sequences about sockets of AF_INET: what is sent arrives, and waiters wake when the other end goes. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGEST (1ul << 17)

/* A socket at a port of the kernel's choice; -1: there is no network. */
static int bound(int type, struct sockaddr_in *name)
{
	socklen_t size = sizeof *name;
	int fd = socket(AF_INET, type, 0);

	HOLDS(fd >= 0 || errno == EAFNOSUPPORT);
	memset(name, 0, sizeof *name);
	name->sin_family = AF_INET;
	name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	HOLDS(fd < 0 ||
	      (bind(fd, (struct sockaddr *)name, size) == 0 && getsockname(fd, (struct sockaddr *)name, &size) == 0));
	return fd;
}

static int stream_pair(int *ends)
{
	struct sockaddr_in name;
	int listener = bound(SOCK_STREAM, &name);

	if (listener < 0)
		return 0;
	HOLDS(listen(listener, (int)below(4)) == 0);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	HOLDS(ends[0] >= 0 && connect(ends[0], (struct sockaddr *)&name, sizeof name) == 0);
	ends[1] = accept(listener, NULL, NULL);
	HOLDS(ends[1] >= 0);
	/* A further connection that nobody accepts. */
	if (below(2)) {
		int lost = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		HOLDS(connect(lost, (struct sockaddr *)&name, sizeof name) == 0 || errno == EINPROGRESS);
		HOLDS(close(lost) == 0);
	}
	HOLDS(close(listener) == 0);
	return 1;
}

static void write_all(int fd, const char *from, size_t n)
{
	while (n > 0) {
		long done = write(fd, from, 1 + below(n));

		HOLDS(done > 0);
		from += done;
		n -= (size_t)done;
	}
}

/* Data go both ways in pieces of any size; the writer waits when the reader is slow. */
void inet_streams(void)
{
	char *out = room(LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *in = room(LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int ends[2];

	if (!stream_pair(ends))
		return;
	for (int i = 0; i < 6; i++) {
		size_t size = 1 + below(below(2) ? 300 : LARGEST), got = 0;
		unsigned long seed = next();
		int from = (int)below(2);
		pid_t writer;

		fill(out, size, seed);
		START_CHILD (writer) {
			write_all(ends[from], out, size);
		}
		while (got < size) {
			long some = recv(ends[1 - from], in + got, 1 + below(size - got), below(8) ? 0 : MSG_WAITALL);

			HOLDS(some > 0);
			got += (size_t)some;
			if (below(16) == 0)
				sleep_us(below(300));
		}
		HOLDS(filled(in, size, seed));
		reap(writer, 0);
	}
}

/* One end closes, by a reset or normally, while the other reads, writes or polls. */
void inet_ends(void)
{
	for (int i = 0; i < 6; i++) {
		struct linger at_once = { 1, 0 };
		char bytes[512] = { 0 };
		int ends[2];
		pid_t other;

		if (!stream_pair(ends))
			return;
		START_CHILD (other) {
			struct pollfd wait = { ends[1], POLLIN, 0 };
			unsigned what = below(3);
			long done;

			close(ends[0]);
			if (what == 0)
				HOLDS(poll(&wait, 1, -1) == 1);
			do
				done = what == 1 ? send(ends[1], bytes, sizeof bytes, MSG_NOSIGNAL)
						 : recv(ends[1], bytes, sizeof bytes, 0);
			while (done > 0);
			HOLDS(done == 0 || errno == ECONNRESET || errno == EPIPE);
		}
		HOLDS(close(ends[1]) == 0);
		sleep_us(below(500));
		if (below(2))
			HOLDS(send(ends[0], bytes, 1 + below(sizeof bytes), MSG_NOSIGNAL) > 0);
		if (below(2))
			HOLDS(setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
		if (below(2))
			HOLDS(shutdown(ends[0], SHUT_RDWR) == 0);
		HOLDS(close(ends[0]) == 0);
		reap(other, 0);
	}
}

/* Datagrams of every size arrive complete and in order, or not at all. */
void inet_datagrams(void)
{
	char *out = room(LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *in = room(LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	struct sockaddr_in name, other;
	int to = bound(SOCK_DGRAM, &name), from = bound(SOCK_DGRAM, &other);

	if (to < 0)
		return;
	for (int i = 0; i < 60; i++) {
		size_t size = size_around();
		unsigned long seed = next();
		long sent, got;

		size = size < LARGEST ? size : LARGEST;
		fill(out, size, seed);
		sent = sendto(from, out, size, MSG_DONTWAIT, (struct sockaddr *)&name, sizeof name);
		HOLDS(sent == (long)size || errno == EMSGSIZE || errno == EAGAIN || errno == ENOBUFS);
		if (sent < 0)
			continue;
		got = recv(to, in, LARGEST, MSG_DONTWAIT);
		HOLDS(got == sent && filled(in, size, seed));
	}
}
