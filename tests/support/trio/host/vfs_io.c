/* vfs_io.c: pipes, sockets, eventfd, poll and epoll of the file service on the host, with a mock of the seam:
 * requests of made-up tasks, random but fixed by the seed, against what must hold: bytes come out in order, nobody
 * waits who could go on, nothing is left. Run with the sanitizers. Prints what is broken and exits 1. */
#include <stdio.h>
#include <stdlib.h>
#include "abi/signal.h"
#include "files/files.h"
#include "polling/poll.h"
#include "sockets/socket.h"
#include "vfs_seam.h"

struct vfs vfs;
static uint64_t seed;

#define HOLDS(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)
static uint32_t dice(uint32_t sides)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % sides;
}

static struct grant of(const void *p, size_t n)
{
	return (struct grant){ (uint64_t)p, n };
}

static bool is_parked(const struct request *r)
{
	return r->link.next != NULL && r->link.next != &r->link;
}

static void begin(struct request *r, uint32_t task)
{
	memset(r, 0, sizeof *r);
	r->task = task;
}

static int64_t result_of(struct request *r, verdict how)
{
	HOLDS(how == ANSWERED);
	return r->result;
}

static int64_t close_of(int fd)
{
	return descriptor_close(1, fd);
}

static struct file *file_there(int fd)
{
	struct file *f = file_of(1, fd);

	HOLDS(f != NULL);
	return f;
}

/* One way through a pipe or a stream: random pieces by a writer and a reader that wait and are woken. */
struct flow {
	int in, out;
	struct request writer, reader;
	char sent[100000], got[100000];
	size_t sending, receiving;
	uint64_t written, read;
	bool ended;
};

static void flow_write(struct flow *f)
{
	struct file *file = file_there(f->in);

	if (is_parked(&f->writer))
		return;
	if (f->sending == 0) {
		f->sending = 1 + dice(dice(2) ? 3 * PAGE : sizeof f->sent);
		for (size_t i = 0; i < f->sending; i++)
			f->sent[i] = (char)((f->written + i) * 31 >> 3);
		begin(&f->writer, 1);
	}
	if (file->operations->write(&f->writer, file, of(f->sent, f->sending), &file->position) == PARKED)
		return;
	HOLDS(f->writer.result == (int64_t)f->sending);
	f->written += f->sending;
	f->sending = 0;
}

static void flow_read(struct flow *f)
{
	struct file *file = file_there(f->out);

	if (is_parked(&f->reader))
		return;
	if (f->receiving == 0) {
		f->receiving = 1 + dice(dice(2) ? 3 * PAGE : sizeof f->got);
		begin(&f->reader, 2);
	}
	if (file->operations->read(&f->reader, file, of(f->got, f->receiving), &file->position) == PARKED)
		return;
	HOLDS(f->reader.result >= 0);
	f->ended = f->reader.result == 0;
	for (int64_t i = 0; i < f->reader.result; i++)
		HOLDS(f->got[i] == (char)((f->read + (uint64_t)i) * 31 >> 3));
	f->read += (uint64_t)f->reader.result;
	f->receiving = 0;
}

static void flow_run(int in, int out, unsigned steps)
{
	static struct flow f;

	memset(&f, 0, sizeof f);
	f.in = in;
	f.out = out;
	for (unsigned i = 0; i < steps; i++) {
		/* One of both can always go on. */
		HOLDS(!is_parked(&f.writer) || !is_parked(&f.reader));
		if (dice(2))
			flow_write(&f);
		else
			flow_read(&f);
	}
	while (f.sending != 0) {
		flow_write(&f);
		flow_read(&f);
	}
	close_of(in);
	while (!f.ended)
		flow_read(&f);
	HOLDS(f.read == f.written);
	close_of(out);
}

static void test_pipes(void)
{
	struct request r;
	int ends[2];

	for (unsigned i = 0; i < 20; i++) {
		begin(&r, 1);
		HOLDS(result_of(&r, vfs_pipe(&r, of(ends, sizeof ends), 0)) == 0);
		if (i % 3 == 1)
			HOLDS(file_there(ends[0])->operations->control(file_there(ends[0]), F_SETPIPE_SZ,
								       PAGE << dice(9)) > 0);
		flow_run(ends[1], ends[0], 400);
	}
}

static void test_streams(void)
{
	struct request r;
	int ends[2];

	for (unsigned i = 0; i < 20; i++) {
		begin(&r, 1);
		HOLDS(result_of(&r, vfs_socketpair(&r, AF_UNIX, SOCK_STREAM, 0, of(ends, sizeof ends))) == 0);
		flow_run(ends[i % 2], ends[!(i % 2)], 400);
	}
}

/* Nobody reads any more: the call raises a signal, which is part of its answer, unless it asked for none. */
static void test_broken(void)
{
	struct request r;
	int ends[2];

	begin(&r, 1);
	HOLDS(result_of(&r, vfs_pipe(&r, of(ends, sizeof ends), 0)) == 0);
	close_of(ends[0]);
	begin(&r, 1);
	HOLDS(result_of(&r, file_there(ends[1])->operations->write(&r, file_there(ends[1]), of("x", 1), NULL)) ==
	      -EPIPE);
	HOLDS(r.raises == SIGPIPE);
	close_of(ends[1]);
	for (uint32_t type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		begin(&r, 1);
		HOLDS(result_of(&r, vfs_socketpair(&r, AF_UNIX, type, 0, of(ends, sizeof ends))) == 0);
		HOLDS(result_of(&r, vfs_shutdown_at(&r, ends[1], SHUT_WR)) == 0);
		HOLDS(result_of(&r, vfs_send_at(&r, ends[1], of("x", 1), of(0, 0), of(0, 0), MSG_NOSIGNAL)) == -EPIPE);
		HOLDS(r.raises == 0);
		HOLDS(result_of(&r, vfs_send_at(&r, ends[1], of("x", 1), of(0, 0), of(0, 0), 0)) == -EPIPE);
		HOLDS(r.raises == SIGPIPE);
		close_of(ends[0]);
		close_of(ends[1]);
	}
}

/* Messages keep their bounds and order; empty ones too. */
static void test_packets(uint32_t type)
{
	static char out[5000], in[5000];
	unsigned sent = 0, got = 0;
	uint32_t lengths[1000];
	struct request r;
	int ends[2];

	begin(&r, 1);
	HOLDS(result_of(&r, vfs_socketpair(&r, AF_UNIX, type, 0, of(ends, sizeof ends))) == 0);
	while (got < COUNT_OF(lengths)) {
		begin(&r, 1);
		if (sent < COUNT_OF(lengths) && dice(3)) {
			lengths[sent] = dice(2) ? dice(100) : dice(sizeof out);
			memset(out, (int)sent, lengths[sent]);
			vfs_send_at(&r, ends[0], of(out, lengths[sent]), of(0, 0), of(0, 0), MSG_DONTWAIT);
			if (r.result != -EAGAIN)
				HOLDS(r.result == lengths[sent++]);
		} else if (got < sent) {
			vfs_receive_at(&r, ends[1], of(in, sizeof in), of(0, 0), of(0, 0), MSG_DONTWAIT);
			HOLDS(r.result == lengths[got]);
			for (int64_t i = 0; i < r.result; i++)
				HOLDS(in[i] == (char)got);
			got++;
		}
	}
	close_of(ends[0]);
	close_of(ends[1]);
}

struct with_rights {
	struct linux_cmsghdr head;
	int32_t fds[2];
};

/* A descriptor goes along and is the same open file; sockets that only hold each other are closed. */
static void test_rights(uint32_t type)
{
	struct with_rights w = { { sizeof w.head + sizeof(int32_t), SOL_SOCKET, SCM_RIGHTS }, { 0, 0 } };
	int ends[2], others[2];
	struct request r;
	char byte = 'x';

	begin(&r, 1);
	HOLDS(result_of(&r, vfs_socketpair(&r, AF_UNIX, type, 0, of(ends, sizeof ends))) == 0);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_pipe(&r, of(others, sizeof others), 0)) == 0);
	w.fds[0] = others[1];
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_send_at(&r, ends[0], of(&byte, 1), of(0, 0), of(&w, sizeof w), 0)) == 1);
	close_of(others[1]);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_receive_at(&r, ends[1], of(&byte, 1), of(0, 0), of(&w, sizeof w), 0)) == 1);
	HOLDS(r.out[1] == CMSG_ALIGN(w.head.length) && w.head.length == sizeof w.head + sizeof(int32_t));
	begin(&r, 1);
	HOLDS(file_there(w.fds[0])->operations->write(&r, file_there(w.fds[0]), of("y", 1), NULL) == ANSWERED);
	begin(&r, 1);
	HOLDS(file_there(others[0])->operations->read(&r, file_there(others[0]), of(&byte, 1), NULL) == ANSWERED);
	HOLDS(byte == 'y');
	close_of(w.fds[0]);
	close_of(others[0]);

	w.fds[0] = ends[0];
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_send_at(&r, ends[0], of(&byte, 1), of(0, 0), of(&w, sizeof w), 0)) == 1);
	w.fds[0] = ends[1];
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_send_at(&r, ends[1], of(&byte, 1), of(0, 0), of(&w, sizeof w), 0)) == 1);
	close_of(ends[0]);
	close_of(ends[1]);
	HOLDS(vfs.files == 2 && alarm_is_set);
	alarms_ring();
	HOLDS(vfs.files == 0 && list_is_empty(&io.sockets) && list_is_empty(&io.rights));
}

/* Abstract names: connect, accept, both ways, a full backlog, a listener's end. */
static void test_connections(uint32_t type)
{
	static const char name[] = "\1\0\0name";
	struct grant address = of(name, sizeof name - 1);
	int listener, client, server;
	struct request r, waiting;
	char text[4] = "";

	begin(&r, 1);
	listener = (int)result_of(&r, vfs_socket(&r, AF_UNIX, type, 0));
	begin(&r, 1);
	client = (int)result_of(&r, vfs_socket(&r, AF_UNIX, type, 0));
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_connect_at(&r, client, address)) == -ECONNREFUSED);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_bind_at(&r, listener, address)) == 0);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_connect_at(&r, client, address)) == -ECONNREFUSED);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_listen_at(&r, listener, 0)) == 0);
	memset(&waiting, 0, sizeof waiting);
	waiting.task = 2;
	HOLDS(vfs_accept_at(&waiting, listener, of(0, 0), 0) == PARKED);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_connect_at(&r, client, address)) == 0);
	HOLDS(!is_parked(&waiting));
	begin(&r, 1);
	server = (int)result_of(&r, vfs_accept_at(&r, listener, of(0, 0), 0));
	HOLDS(server > 0);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_send_at(&r, client, of("abc", 3), of(0, 0), of(0, 0), 0)) == 3);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_receive_at(&r, server, of(text, 4), of(0, 0), of(0, 0), 0)) == 3);
	HOLDS(memcmp(text, "abc", 3) == 0);
	close_of(client);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_receive_at(&r, server, of(text, 4), of(0, 0), of(0, 0), 0)) == 0);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_send_at(&r, server, of("abc", 3), of(0, 0), of(0, 0), 0)) == -EPIPE);
	close_of(server);
	begin(&r, 1);
	client = (int)result_of(&r, vfs_socket(&r, AF_UNIX, type, 0));
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_connect_at(&r, client, address)) == 0);
	close_of(listener);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_receive_at(&r, client, of(text, 4), of(0, 0), of(0, 0), 0)) == -ECONNRESET);
	close_of(client);
}

/* A poll is woken by what it looks at and by nothing else; an edge is told once. */
static void test_polls(void)
{
	struct linux_pollfd polled = { .events = POLLIN };
	struct linux_epoll_event event = { POLLIN | EPOLLET, 7 };
	struct request poll, r;
	int ends[2], others[2], epoll;

	begin(&r, 1);
	HOLDS(result_of(&r, vfs_pipe(&r, of(ends, sizeof ends), 0)) == 0);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_socketpair(&r, AF_UNIX, SOCK_STREAM, 0, of(others, sizeof others))) == 0);
	begin(&r, 1);
	epoll = (int)result_of(&r, vfs_epoll_create(&r, 0));
	polled.fd = ends[0];
	memset(&poll, 0, sizeof poll);
	poll.task = 5;
	vfs.tasks[5] = vfs.tasks[1];
	HOLDS(vfs_poll(&poll, of(&polled, sizeof polled), 1, NEVER) == PARKED);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_send_at(&r, others[0], of("z", 1), of(0, 0), of(0, 0), 0)) == 1);
	HOLDS(is_parked(&poll));
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_epoll_control(&r, epoll, EPOLL_CTL_ADD, ends[0], of(&event, sizeof event))) == 0);
	begin(&r, 1);
	file_there(ends[1])->operations->write(&r, file_there(ends[1]), of("z", 1), NULL);
	HOLDS(r.result == 1 && !is_parked(&poll));
	HOLDS(result_of(&poll, vfs_poll(&poll, of(&polled, sizeof polled), 1, NEVER)) == 1);
	HOLDS(polled.revents == POLLIN);
	for (int want = 1; want >= 0; want--) {
		begin(&r, 1);
		HOLDS(result_of(&r, vfs_epoll_wait_at(&r, epoll, of(&event, sizeof event), 1, 0)) == want);
	}
	HOLDS(event.data == 7);
	close_of(ends[0]);
	close_of(ends[1]);
	begin(&r, 1);
	HOLDS(result_of(&r, vfs_epoll_wait_at(&r, epoll, of(&event, sizeof event), 1, 0)) == 0);
	close_of(epoll);
	close_of(others[0]);
	close_of(others[1]);
	vfs.tasks[5].descriptors = NULL;
}

/* Everything once, whatever fails on the way; then all descriptors are closed. */
static void everything(void)
{
	static char large[10000];
	struct with_rights w = { { sizeof w, SOL_SOCKET, SCM_RIGHTS }, { 0, 0 } };
	struct linux_epoll_event event = { POLLIN, 7 };
	const struct grant none = { 0, 0 }, name = of("\1\0\0name", 7);
	int ends[2] = { -1, -1 };
	struct request r;

	begin(&r, 1);
	vfs_pipe(&r, of(ends, sizeof ends), O_NONBLOCK);
	if (r.result == 0) {
		struct file *f = file_there(ends[1]);

		begin(&r, 1);
		f->operations->write(&r, f, of(large, sizeof large), NULL);
		f->operations->control(f, F_SETPIPE_SZ, 128 * PAGE);
	}
	for (uint32_t type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		begin(&r, 1);
		vfs_socketpair(&r, AF_UNIX, type, 0, of(ends, sizeof ends));
		if (r.result != 0)
			continue;
		w.fds[0] = ends[0];
		w.fds[1] = ends[1];
		begin(&r, 1);
		vfs_send_at(&r, ends[0], of(large, sizeof large), none, of(&w, sizeof w), MSG_DONTWAIT);
		begin(&r, 1);
		vfs_receive_at(&r, ends[1], of(large, 10), none, of(&w, sizeof w), MSG_DONTWAIT);
	}
	begin(&r, 1);
	vfs_socket(&r, AF_UNIX, SOCK_STREAM, 0);
	ends[0] = (int)r.result;
	begin(&r, 1);
	vfs_socket(&r, AF_UNIX, SOCK_STREAM, 0);
	ends[1] = (int)r.result;
	begin(&r, 1);
	vfs_bind_at(&r, ends[0], name);
	vfs_listen_at(&r, ends[0], 5);
	vfs_connect_at(&r, ends[1], name);
	if (ends[0] >= 0 && ends[1] >= 0 && r.result == 0)
		vfs_accept_at(&r, ends[0], none, 0);
	vfs_eventfd(&r, 0, 0);
	ends[0] = (int)r.result;
	vfs_epoll_create(&r, 0);
	vfs_epoll_control(&r, (int)r.result, EPOLL_CTL_ADD, ends[0], of(&event, sizeof event));
	for (int fd = 0; fd < 64; fd++)
		close_of(fd);
	alarms_ring();
}

static void test_without_memory(void)
{
	unsigned objects = objects_out;

	for (unsigned n = 1; n < 200; n++) {
		fail_at = n;
		everything();
		fail_at = 0;
		everything();
		HOLDS(vfs.files == 0 && pages_out == 0 && io.lost == NULL && objects_out == objects);
	}
}

int main(int count, char **arguments)
{
	seed = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
	io_start();
	vfs.tasks[1].descriptors = vfs.tasks[2].descriptors = descriptors_make(64);
	vfs.tasks[1].files_most = vfs.tasks[2].files_most = 1024;
	test_pipes();
	test_streams();
	test_broken();
	test_packets(SOCK_DGRAM);
	test_packets(SOCK_SEQPACKET);
	test_rights(SOCK_STREAM);
	test_rights(SOCK_DGRAM);
	test_connections(SOCK_STREAM);
	test_connections(SOCK_SEQPACKET);
	test_polls();
	test_without_memory();
	HOLDS(vfs.files == 0 && pages_out == 0);
	vfs.tasks[2].descriptors = NULL;
	descriptors_drop(1);
	puts("all holds");
	return 0;
}
