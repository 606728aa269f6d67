/* lost.c: sockets that hold each other by descriptors in flight. Those that nobody can receive any more are closed,
 * however many they are and however they hold each other; others stay. Linux looks for them when a socket is closed. */
#include "usertests.h"

enum { SECONDS = 10 };

static void make_pair(int type, int ends[2])
{
	OK(socketpair(AF_UNIX, type, 0, ends));
}

/* Closes both ends. */
static void close_pair(const int ends[2])
{
	OK(close(ends[0]));
	OK(close(ends[1]));
}

static void close_some_socket(void)
{
	OK(close((int)OK(socket(AF_UNIX, SOCK_STREAM, 0))));
}

/* Returns the read end of a pipe whose write end goes to `socket`. It reads the end once that socket is lost. */
static int witness(int socket)
{
	int ends[2];

	OK(pipe2(ends, O_NONBLOCK));
	send_fd(socket, ends[1]);
	OK(close(ends[1]));
	return ends[0];
}

static int is_gone(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 0;
}

static void goes(int fd)
{
	for (int i = 0; i < SECONDS * 100 && !is_gone(fd); i++) {
		close_some_socket();
		sleep_ms(10);
	}
	TRUE(is_gone(fd));
}

static void stays(int fd)
{
	for (int i = 0; i < 10; i++) {
		close_some_socket();
		sleep_ms(10);
	}
	TRUE(!is_gone(fd));
}

static void lose_pair(int type)
{
	int ends[2];

	make_pair(type, ends);
	send_fd(ends[0], ends[0]);
	send_fd(ends[1], ends[1]);
	close_pair(ends);
}

TEST(lost_pairs, "Are sockets closed that only hold themselves, of each type?")
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };

	for (int i = 0; i < 3; i++) {
		int ends[2], end;

		make_pair(types[i], ends);
		end = witness(ends[0]);
		send_fd(ends[0], ends[0]);
		send_fd(ends[1], ends[1]);
		close_pair(ends);
		goes(end);
	}
}

TEST(lost_quietly, "Do lost sockets give back what they hold though no other socket is closed?")
{
	/* The runner counts the pages. */
	for (int i = 0; i < 200; i++)
		lose_pair(i & 1 ? SOCK_STREAM : SOCK_DGRAM);
}

TEST(lost_ring, "Is a ring of sockets closed with its last descriptor, and not before?")
{
	enum { LENGTH = 5 };
	int ends[LENGTH][2], fds[2], end;

	for (int i = 0; i < LENGTH; i++)
		make_pair(SOCK_DGRAM, ends[i]);
	for (int i = 0; i < LENGTH; i++)
		send_fd(ends[i][0], ends[(i + 1) % LENGTH][1]);
	end = witness(ends[2][0]);
	for (int i = 0; i < LENGTH; i++)
		OK(close(ends[i][0]));
	for (int i = 1; i < LENGTH; i++)
		OK(close(ends[i][1]));
	stays(end);
	/* Goes along the ring: each step holds by another socket. */
	fds[0] = take_fd(ends[0][1]);
	OK(close(ends[0][1]));
	fds[1] = take_fd(fds[0]);
	OK(close(fds[0]));
	stays(end);
	OK(close(fds[1]));
	goes(end);
}

TEST(lost_connection, "Is a listener closed that a connection holds, which waits to be accepted by it?")
{
	int listener = bound(SOCK_STREAM, "s"), client = (int)OK(socket(AF_UNIX, SOCK_STREAM, 0)), end, kept;

	OK(listen(listener, 5));
	OK(connect_to(client, "s"));
	send_fd(client, listener);
	end = witness(client);
	OK(close(client));
	kept = (int)OK(dup(listener));
	OK(close(listener));
	stays(end);
	OK(close(kept));
	goes(end);
}

TEST(lost_not, "Does one that can still be received come with all that lies in it?")
{
	int outer[2], inner[2], got, last;
	char byte;

	make_pair(SOCK_STREAM, outer);
	make_pair(SOCK_STREAM, inner);
	send_fd(inner[0], inner[0]);
	IS(write(inner[1], "y", 1), 1);
	send_fd(outer[0], inner[1]);
	close_pair(inner);
	for (int i = 0; i < 20; i++)
		lose_pair(SOCK_STREAM);
	close_some_socket();
	sleep_ms(20);
	got = take_fd(outer[1]);
	last = take_fd(got);
	IS(read(last, &byte, 1), 1);
	IS(byte, 'y');
	IS(write(last, "z", 1), 1);
	IS(read(got, &byte, 1), 1);
	IS(byte, 'z');
}

TEST(lost_peek, "Does a look at descriptors leave them to be received, and both be the same file?")
{
	int ends[2], seen;
	char byte;

	make_pair(SOCK_DGRAM, ends);
	send_fd(ends[0], ends[0]);
	OK(close(ends[0]));
	IS(take_fds(ends[1], &seen, 1, MSG_PEEK), 1);
	IS(write(seen, "a", 1), 1);
	OK(close(seen));
	ends[0] = take_fd(ends[1]);
	IS(read(ends[1], &byte, 1), 1);
	IS(byte, 'a');
	IS(write(ends[0], "b", 1), 1);
	IS(read(ends[1], &byte, 1), 1);
}

TEST(lost_chain, "Does a long chain end with its head, to its other end?")
{
	enum { LENGTH = 700 };
	int ends[2], inner, end;

	make_pair(SOCK_DGRAM, ends);
	end = witness(ends[0]);
	OK(close(ends[0]));
	inner = ends[1];
	for (int i = 0; i < LENGTH; i++) {
		make_pair(SOCK_DGRAM, ends);
		send_fd(ends[0], inner);
		OK(close(inner));
		OK(close(ends[0]));
		inner = ends[1];
	}
	stays(end);
	OK(close(inner));
	goes(end);
}

TEST(lost_too_many, "Are no more descriptors on their way than an ordinary user may have open?")
{
	struct rlimit few = { 64, 64 };
	int ends[2], fds[60];

	become_ordinary();
	OK(setrlimit(RLIMIT_NOFILE, &few));
	make_pair(SOCK_DGRAM, ends);
	/* They are closed with the socket. */
	for (int i = 0; i < 60; i++)
		fds[i] = 0;
	IS(send_fds(ends[0], fds, 60), 1);
	IS(send_fds(ends[0], fds, 4), 1);
	IS(send_fds(ends[0], fds, 1), 1);
	FAILS(send_fds(ends[0], fds, 1), ETOOMANYREFS);
	IS(take_fds(ends[1], fds, 0, MSG_DONTWAIT), 0);
	IS(send_fds(ends[0], fds, 1), 1);
}

static void *lose_many(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		lose_pair(SOCK_STREAM);
		lose_pair(SOCK_DGRAM);
		close_some_socket();
	}
	return NULL;
}

static void *send_many(void *socket)
{
	int ends[2], copy = *(int *)socket;

	for (int i = 0; i < 300; i++) {
		make_pair(SOCK_STREAM, ends);
		put(ends[1]);
		while (send_fds(copy, ends, 2) < 0)
			sched_yield();
		close_pair(ends);
	}
	return NULL;
}

TEST(lost_receive, "Do threads receive whole sockets while others are lost?")
{
	int ends[2], fds[2], stop = 0;
	pthread_t loser, sender;

	make_pair(SOCK_DGRAM, ends);
	loser = start_thread(lose_many, &stop);
	sender = start_thread(send_many, &ends[0]);
	for (int i = 0; i < 300; i++) {
		struct pollfd wait = { ends[1], POLLIN, 0 };

		IS(poll(&wait, 1, SECONDS * 1000), 1);
		IS(take_fds(ends[1], fds, 2, MSG_DONTWAIT), 2);
		get(fds[0]);
		put(fds[0]);
		get(fds[1]);
		close_pair(fds);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	IS(pthread_join(sender, NULL), 0);
	IS(pthread_join(loser, NULL), 0);
}
