/* vfs_lost.c: passes sockets through sockets at random, closes and receives them, and lets alarms ring: each time
 * what is open must be what can be reached from the descriptors, which a search of its own tells. */
#include <stdio.h>
#include <stdlib.h>
#include "files/files.h"
#include "sockets/socket.h"
#include "vfs_seam.h"

#define DESCRIPTORS 64
/* As descriptors.c has it. */
#define FILES_MOST 65536
#define REACHED_MOST 20000
#define HOLDS(condition) ((condition) ? (void)0 : wrong(__LINE__, #condition))

struct vfs vfs;
static uint64_t seed;
static const char *reached[REACHED_MOST];
static unsigned reached_count;

static void wrong(int line, const char *condition)
{
	printf("vfs_lost.c:%d: %s (seed %lu)\n", line, condition, seed);
	exit(1);
}

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)(seed >> 33) % n;
}

static struct grant of(const void *p, size_t length)
{
	return (struct grant){ (uint64_t)p, length };
}

static struct request *anew(void)
{
	static struct request r;

	r = (struct request){ .task = 1 };
	return &r;
}

/* What can be reached ------------------------------------------------------------------------------------------- */

static void search(const struct file *f);

static void search_packets(const struct socket *s)
{
	for (const struct link *l = s->packets.next; l != &s->packets; l = l->next) {
		const struct packet *p = CONTAINER(l, struct packet, link);

		for (uint32_t i = 0; i < p->count; i++)
			search(p->files[i]);
	}
}

static void search(const struct file *f)
{
	const struct socket *s = socket_in(f);

	for (unsigned i = 0; i < reached_count; i++)
		if (reached[i] == (const char *)f)
			return;
	HOLDS(reached_count < REACHED_MOST);
	reached[reached_count++] = (const char *)f;
	if (s == NULL)
		return;
	search_packets(s);
	if (s->listens)
		for (const struct link *l = s->pending.next; l != &s->pending; l = l->next)
			search_packets(CONTAINER(l, struct socket, pending));
}

static void what_is_open_can_be_reached(void)
{
	reached_count = 0;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (file_of(1, fd) != NULL)
			search(file_of(1, fd));
	HOLDS(vfs.files >= reached_count);
	alarms_ring();
	HOLDS(vfs.files == reached_count);
	HOLDS(io.lost == NULL && !io.settling);
}

/* What is done
 * ------------------------------------------------------------------------------------------------------- */

static int any(void)
{
	return (int)below(DESCRIPTORS);
}

static void make_pair(uint32_t type)
{
	int ends[2];

	vfs_socketpair(anew(), AF_UNIX, type, 0, of(ends, sizeof ends));
}

static void pass(void)
{
	struct {
		struct linux_cmsghdr head;
		int32_t fds[SCM_MAX_FD];
	} w = { { 0, SOL_SOCKET, SCM_RIGHTS }, { 0 } };
	unsigned n = below(16) == 0 ? SCM_MAX_FD : 1 + below(3), found = 0;

	for (unsigned tries = 0; found < n && tries < 4 * n; tries++) {
		int fd = any();

		if (file_of(1, fd) != NULL)
			w.fds[found++] = fd;
	}
	w.head.length = sizeof w.head + found * sizeof w.fds[0];
	vfs_send_at(anew(), any(), of("x", 1), of("", 0), of(&w, w.head.length), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void receive(void)
{
	char byte, control[3 * 24];
	uint32_t peek = below(8) == 0 ? MSG_PEEK : 0;

	vfs_receive_at(anew(), any(), of(&byte, 1), of("", 0), of(control, below(4) * 24), MSG_DONTWAIT | peek);
}

static void meet(void)
{
	char name[] = "\1\0\0";
	int fd = any();

	name[3] = (char)('a' + below(4));
	if (below(2) == 0) {
		vfs_bind_at(anew(), fd, of(name, sizeof name));
		vfs_listen_at(anew(), fd, 3);
		return;
	}
	if (socket_in(file_of(1, fd) == NULL ? &(struct file){ 0 } : file_of(1, fd)) == NULL)
		return;
	file_of(1, fd)->flags |= O_NONBLOCK;
	vfs_connect_at(anew(), fd, of(name, sizeof name));
}

static void act(void)
{
	static const uint32_t types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int ends[2];

	switch (below(16)) {
	case 0:
	case 1:
		make_pair(types[below(3)]);
		break;
	case 2:
		vfs_pipe(anew(), of(ends, sizeof ends), O_NONBLOCK);
		break;
	case 3:
		vfs_socket(anew(), AF_UNIX, below(2) ? SOCK_STREAM : SOCK_SEQPACKET, 0);
		break;
	case 4:
	case 5:
		meet();
		break;
	case 6:
		vfs_accept_at(anew(), any(), of("", 0), 0);
		break;
	case 7:
	case 8:
		receive();
		break;
	case 9:
	case 10:
	case 11:
		descriptor_close(1, any());
		break;
	default:
		pass();
	}
}

/* One that waits would be run again by a seam that this has not. */
static void nobody_waits(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (file_of(1, fd) != NULL)
			file_of(1, fd)->flags |= O_NONBLOCK;
}

/* A chain of `length`, each in the next one's packets, ends with its head, a part at a time. */
static void test_chain(int length)
{
	int ends[2], inner = -1;
	unsigned rings = 0;

	for (int i = 0; i < length; i++) {
		struct {
			struct linux_cmsghdr head;
			int32_t fd;
		} w = { { sizeof w.head + sizeof w.fd, SOL_SOCKET, SCM_RIGHTS }, inner };

		HOLDS(vfs_socketpair(anew(), AF_UNIX, SOCK_DGRAM, 0, of(ends, sizeof ends)) == ANSWERED);
		if (inner >= 0)
			vfs_send_at(anew(), ends[0], of("x", 1), of("", 0), of(&w, w.head.length), 0);
		if (inner >= 0)
			HOLDS(descriptor_close(1, inner) == 0);
		HOLDS(descriptor_close(1, ends[0]) == 0);
		inner = ends[1];
	}
	what_is_open_can_be_reached();
	HOLDS(vfs.files == (unsigned)length);
	HOLDS(descriptor_close(1, inner) == 0);
	for (; alarm_is_set; rings++) {
		uint32_t before = vfs.files;

		alarm_is_set = false;
		lost_alarm();
		HOLDS(before - vfs.files <= 257);
	}
	HOLDS(vfs.files == 0);
	HOLDS(rings >= (unsigned)length / 257);
}

static void lose_pair(void)
{
	int ends[2];

	HOLDS(vfs_socketpair(anew(), AF_UNIX, SOCK_STREAM, 0, of(ends, sizeof ends)) == ANSWERED);
	for (int i = 0; i < 2; i++) {
		struct {
			struct linux_cmsghdr head;
			int32_t fd;
		} w = { { sizeof w.head + sizeof w.fd, SOL_SOCKET, SCM_RIGHTS }, ends[i] };

		vfs_send_at(anew(), ends[i], of("x", 1), of("", 0), of(&w, w.head.length), 0);
	}
	HOLDS(descriptor_close(1, ends[0]) == 0 && descriptor_close(1, ends[1]) == 0 && vfs.files == 2);
}

/* No alarm has come yet: who finds no place or no memory gets that of lost sockets, and is refused without. */
static void test_refused_last(void)
{
	struct request *r;

	lose_pair();
	vfs.files += FILES_MOST - 2;
	r = anew();
	vfs_socket(r, AF_UNIX, SOCK_STREAM, 0);
	HOLDS(r->result == 0 && vfs.files == FILES_MOST - 1);
	vfs.files++;
	vfs_socket(r, AF_UNIX, SOCK_STREAM, 0);
	HOLDS(r->result == -ENFILE);
	vfs.files = 1;
	HOLDS(descriptor_close(1, 0) == 0);
	for (unsigned fails = 1; fails <= 2; fails++) {
		lose_pair();
		fail_at = fails;
		vfs_socket(anew(), AF_UNIX, SOCK_STREAM, 0);
		HOLDS(fail_at == 0 && vfs.files == 1);
		HOLDS(descriptor_close(1, 0) == 0);
	}
	fail_at = 1;
	vfs_socket(r, AF_UNIX, SOCK_STREAM, 0);
	HOLDS(r->result == -ENOMEM);
}

static void close_all(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		descriptor_close(1, fd);
	what_is_open_can_be_reached();
	HOLDS(vfs.files == 0 && pages_out == 0 && list_is_empty(&io.sockets) && list_is_empty(&io.rights));
}

int main(int count, char **arguments)
{
	unsigned objects;

	seed = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
	io_start();
	vfs.tasks[1].descriptors = descriptors_make(DESCRIPTORS);
	vfs.tasks[1].files_most = DESCRIPTORS;
	objects = objects_out;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 1000; i++) {
			nobody_waits();
			act();
			if (below(3) == 0)
				what_is_open_can_be_reached();
		}
		close_all();
		HOLDS(objects_out == objects);
	}
	test_chain(3000);
	test_refused_last();
	descriptors_drop(1);
	puts("all holds");
	return 0;
}
