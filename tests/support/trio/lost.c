/* lost.c: `lost pairs N` makes N pairs of sockets one after the other that pass their own ends over themselves, and
 * closes them; `lost chain N` makes a chain of N sockets, each in a packet of the next one's, and closes its head.
 * Prints what that took, by path in instructions, and free pages. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define COUNTERS "/proc/trio/counters"
/* Free pages are looked at after so many pairs. */
#define LOOK 1000

static long longest, started;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what)
{
	printf("failed %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Around each call: the longest counts. */
static void begin(void)
{
	started = now();
}

static void end(int failed, const char *what)
{
	long took = now() - started;

	if (failed)
		fail(what);
	if (took > longest)
		longest = took;
}

static long free_pages(void)
{
	static char text[65536];
	int fd = open(COUNTERS, O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);
	const char *found;

	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	found = strstr(text, "free_pages ");
	if (!found)
		fail(COUNTERS);
	return atol(found + 11);
}

static void make_pair(int type, int ends[2])
{
	begin();
	end(socketpair(AF_UNIX, type, 0, ends) != 0, "socketpair");
}

static void close_one(int fd)
{
	begin();
	end(close(fd) != 0, "close");
}

static void send_one(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof fd)] __attribute__((aligned(8))) = "";
	struct iovec part = { "x", 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(head), &fd, sizeof fd);
	begin();
	end(sendmsg(socket, &message, 0) != 1, "sendmsg");
}

static void pairs(long count)
{
	struct timespec soon = { 0, 200000000 };
	long before = free_pages(), least = before;
	int ends[2];

	for (long i = 0; i < count; i++) {
		make_pair(i & 1 ? SOCK_STREAM : SOCK_DGRAM, ends);
		send_one(ends[0], ends[0]);
		send_one(ends[1], ends[1]);
		close_one(ends[0]);
		close_one(ends[1]);
		if (i % LOOK == 0 && free_pages() < least)
			least = free_pages();
	}
	nanosleep(&soon, NULL);
	printf("missing %ld\nheld %ld\nlongest %ld\n", before - free_pages(), before - least, longest);
}

static void chain(long count)
{
	struct pollfd witness = { .events = POLLIN };
	int ends[2], inner;
	long made, closed;

	if (pipe(ends) != 0)
		fail("pipe");
	witness.fd = ends[0];
	inner = ends[1];
	made = now();
	for (long i = 0; i < count; i++) {
		make_pair(SOCK_DGRAM, ends);
		send_one(ends[0], inner);
		close_one(inner);
		close_one(ends[0]);
		inner = ends[1];
	}
	made = now() - made;
	closed = now();
	close_one(inner);
	if (poll(&witness, 1, 60000) != 1 || !(witness.revents & POLLHUP))
		fail("poll");
	printf("made %ld\nclosed %ld\nlongest %ld\n", made, now() - closed, longest);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	(strcmp(argv[1], "pairs") == 0 ? pairs : chain)(atol(argv[2]));
	return 0;
}
