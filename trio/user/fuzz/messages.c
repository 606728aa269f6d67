/* messages.c: sequences about local sockets: packets of every size, and descriptors beside them, in cycles and
 * chains. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGEST (1ul << 17)
#define BEYOND_FILES 40000 /* pairs: more sockets than the machine's table of files has places */

static int local_pair(int *ends)
{
	static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM };
	int type = types[below(3)];

	HOLDS(socketpair(AF_UNIX, type, 0, ends) == 0);
	return type;
}

static void packet_goes(const int *ends, int type, size_t size)
{
	static char out[LARGEST], in[LARGEST];
	unsigned long seed = next();
	long sent, got = 0;

	fill(out, size, seed);
	sent = send(ends[0], out, size, MSG_DONTWAIT);
	if (sent < 0) {
		HOLDS(errno == EMSGSIZE || errno == EAGAIN || errno == ENOBUFS);
		return;
	}
	HOLDS(sent == (long)size || type == SOCK_STREAM);
	while (got < sent) {
		long some = recv(ends[1], in + got, sizeof in - (size_t)got, MSG_DONTWAIT);

		HOLDS(some > 0);
		HOLDS(some == sent || type == SOCK_STREAM);
		got += some;
	}
	HOLDS(got == sent && filled(in, (size_t)sent, seed));
}

/* Packets of sizes around every limit are received as they were sent. */
void packets(void)
{
	int ends[2], type = local_pair(ends);

	for (int i = 0; i < 60; i++) {
		size_t size = size_around();

		packet_goes(ends, type, size < LARGEST ? size : LARGEST);
	}
}

int send_rights(int to, int fd, size_t count)
{
	int fds[256];

	for (size_t i = 0; i < count; i++)
		fds[i] = fd;
	return send_fds(to, fds, count) == 1 ? 0 : -1;
}

/* Up to the limit of descriptors in a message, and one more. Those that arrive are that file, and none is left when
 * they are closed. */
void rights(void)
{
	int ends[2], fd = file_with("data", 1, 1), got[RIGHTS_MOST];
	unsigned before;
	struct stat sent, received;

	local_pair(ends);
	before = open_descriptors();
	HOLDS(fstat(fd, &sent) == 0);
	for (int round = 0; round < 8; round++) {
		size_t count = 1 + count_around() % 256;
		int refused = send_rights(ends[0], fd, count) < 0;

		HOLDS(refused ? count > RIGHTS_MOST && errno == EINVAL : count <= RIGHTS_MOST);
		if (refused)
			continue;
		HOLDS(take_fds(ends[1], got, RIGHTS_MOST, 0) == (long)count);
		HOLDS(open_descriptors() == before + count);
		for (size_t i = 0; i < count; i++) {
			HOLDS(fstat(got[i], &received) == 0 && received.st_ino == sent.st_ino);
			HOLDS(close(got[i]) == 0);
		}
	}
	HOLDS(open_descriptors() == before);
}

/* Sockets that only their own packets hold are collected: there is always room for another. */
void cycles(void)
{
	static const unsigned long counts[] = { 3, 50, 1000, BEYOND_FILES };
	unsigned long count = counts[below(4)];

	for (unsigned long i = 0; i < count; i++) {
		int ends[2], other = (int)below(2);

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
			broken("pair %lu of %lu: no socket: %s", i, count, strerror(errno));
		/* On Linux nobody may have more descriptors in flight than open. */
		if (send_rights(ends[0], ends[other], 1) < 0 || send_rights(ends[1], ends[!other], 1) < 0) {
			HOLDS(errno == ETOOMANYREFS);
			count = i;
		}
		close(ends[0]);
		close(ends[1]);
	}
}

/* One end or both of each pair lie in the next pair's packets. Closing the last pair ends all. */
void chains(void)
{
	static const unsigned long lengths[] = { 5, 100, 2000, 15000 };
	unsigned long links = lengths[below(4)];
	int outer[2], inner[2], refused = 0, first = (int)below(2);

	local_pair(inner);
	for (unsigned long i = 0; i < links && !refused; i++) {
		local_pair(outer);
		for (int end = first; end < 2; end++)
			refused |= send_rights(outer[!end], inner[end], 1) < 0;
		/* Linux limits their depth and the number in flight. */
		HOLDS(!refused || errno == ETOOMANYREFS);
		close(inner[0]);
		close(inner[1]);
		memcpy(inner, outer, sizeof inner);
	}
	close(inner[0]);
	close(inner[1]);
}

#define RING 4

/* Passes a received descriptor on until the ring is broken. */
static void pass(int (*ring)[2], int me)
{
	int in = ring[me][1], out = ring[(me + 1) % RING][0], fd;
	char bytes[64];

	for (int i = 0; i < RING; i++)
		for (int end = 0; end < 2; end++)
			if (ring[i][end] != in && ring[i][end] != out)
				close(ring[i][end]);
	while (take_fds(in, &fd, 1, 0) == 1) {
		HOLDS(pread(fd, bytes, sizeof bytes, 0) == sizeof bytes && filled(bytes, sizeof bytes, 7));
		if (send_rights(out, fd, 1) < 0)
			break;
		close(fd);
	}
	_exit(0);
}

/* Processes pass a descriptor round a ring. One is killed; the others see the end. */
void passing(void)
{
	int ring[RING][2], fd = file_with("data", 64, 7);
	unsigned before = open_descriptors();
	unsigned long victim = below(RING);
	pid_t pids[RING];

	for (int i = 0; i < RING; i++)
		HOLDS(socketpair(AF_UNIX, below(2) ? SOCK_SEQPACKET : SOCK_STREAM, 0, ring[i]) == 0);
	for (int i = 0; i < RING; i++) {
		START_CHILD (pids[i])
			pass(ring, i);
	}
	for (unsigned long tokens = 1 + below(3); tokens > 0; tokens--)
		HOLDS(send_rights(ring[0][0], fd, 1) == 0);
	for (int i = 0; i < RING; i++) {
		close(ring[i][0]);
		close(ring[i][1]);
	}
	sleep_us(below(5000));
	kill(pids[victim], SIGKILL);
	for (unsigned long i = 0; i < RING; i++)
		reap(pids[i], i == victim);
	HOLDS(open_descriptors() == before);
}
