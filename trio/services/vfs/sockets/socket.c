/* socket.c: how sockets are made, joined and ended, their file operations, and their calls. */
#include "clock.h"
#include "polling/poll.h"
#include "sockets/socket.h"

#define TYPES_MOST 11

struct socket *socket_make(uint32_t task, uint32_t type)
{
	struct socket *s;

	while ((s = heap_allocate(sizeof *s)) == NULL)
		if (!lost_recover(true))
			return NULL;
	s->references = 1;
	s->type = type;
	s->family = AF_UNIX;
	ring_begin(&s->ring);
	list_start(&s->packets);
	s->send_buffer = s->receive_buffer = SOCKET_BUFFER;
	s->is = unnamed_by(task, S_IFSOCK | 0777);
	return s;
}

void socket_join(struct socket *a, struct socket *b)
{
	a->peer = socket_hold(b);
	b->peer = socket_hold(a);
}

/* The peer still gets what was sent to it, then the end. Unread data of this side are an error for the peer. */
static void peer_leave(struct socket *s)
{
	struct socket *peer = s->peer;

	if (s->type != SOCK_DGRAM) {
		peer->shut = SHUT_RECEIVE | SHUT_SEND;
		if (s->ring.used > 0 || s->packet_count > 0)
			peer->error = ECONNRESET;
	}
	s->peer = NULL;
	watch_changed(&peer->watch);
	socket_drop(peer);
}

/* Called when nobody has the socket open any more. */
static void socket_close(struct socket *s)
{
	s->closed = true;
	s->file = NULL;
	if (s->all.next != NULL)
		list_remove(&s->all);
	address_release(s);
	if (s->listens)
		LIST_EACH (struct socket, waiting, &s->pending, pending) {
			list_remove(&waiting->pending);
			waiting->peer->error = ECONNRESET;
			socket_close(waiting);
			io.left--;
		}
	if (s->peer != NULL)
		peer_leave(s);
	LIST_EACH (struct packet, p, &s->packets, link) {
		packet_remove(s, p);
		io.left--;
	}
	ring_end(&s->ring);
	memset(&s->ring, 0, sizeof s->ring);
	watch_changed(&s->watch);
	socket_drop(s);
}

/* Files ------------------------------------------------------------------------------------------------------------ */

static verdict socket_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	struct message m = { .data = to };

	return receive_message(r, f->state, &m);
}

static verdict socket_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct message m = { .data = from };

	return send_message(r, f->state, &m);
}

static bool socket_has_room(const struct socket *s)
{
	const struct socket *peer = s->peer;

	if (s->type == SOCK_STREAM)
		return peer == NULL || peer->closed || ring_room(&peer->ring) >= peer->ring.size / 2;
	return peer == NULL || packets_weight(peer) < s->send_buffer / 2;
}

static uint32_t socket_poll(struct file *f)
{
	struct socket *s = f->state;
	uint32_t ready = 0;

	/* The peer of a datagram socket may not be connected back, so its watch is needed too. */
	if (s->peer != NULL && s->peer->peer != s)
		watch(&s->peer->watch);
	watch(&s->watch);
	if (s->listens)
		return s->pending_count > 0 ? READY_IN : 0;
	if (s->error != 0)
		ready |= READY_ERROR;
	if (s->shut & SHUT_RECEIVE)
		ready |= POLLRDHUP | READY_IN;
	if (s->shut == (SHUT_RECEIVE | SHUT_SEND) || (s->type != SOCK_DGRAM && s->peer == NULL))
		ready |= READY_HANG_UP;
	if (s->ring.used > 0 || s->packet_count > 0)
		ready |= READY_IN;
	if (socket_has_room(s))
		ready |= READY_OUT;
	return ready;
}

static int64_t socket_readable(struct file *f)
{
	const struct socket *s = f->state;
	const struct packet *p;

	if (s->listens)
		return -EINVAL;
	if (s->type == SOCK_STREAM || s->packet_count == 0)
		return s->ring.used;
	p = CONTAINER(s->packets.next, struct packet, link);
	return (int64_t)(p->end - p->first);
}

static void socket_release(struct file *f)
{
	bool outermost = !io.settling;

	io.settling = true;
	socket_close(f->state);
	io.settling = !outermost;
	rights_settle();
}

const struct file_operations socket_files = {
	.read = socket_read,
	.write = socket_write,
	.poll = socket_poll,
	.readable = socket_readable,
	.stat = unnamed_stat,
	.kind = "socket:[%lu]",
	.release = socket_release,
};

static void socket_opened(struct socket *s, struct file *f)
{
	s->file = f;
	list_add(&io.sockets, &s->all);
}

int64_t socket_place(uint32_t task, struct socket *s, uint32_t flags)
{
	int64_t fd = place_one(task, &socket_files, s, O_RDWR | (flags & O_NONBLOCK), flags & O_CLOEXEC);

	if (fd >= 0)
		socket_opened(s, file_of(task, (int32_t)fd));
	return fd;
}

struct socket *socket_at(struct request *r, int32_t fd)
{
	struct file *f = file_at(r, fd);

	if (f == NULL)
		return NULL;
	r->result = -ENOTSOCK;
	return f->operations == &socket_files || f->operations == &inet_files ? f->state : NULL;
}

verdict socket_wait(struct request *r, const struct socket *s, struct socket *at, nanoseconds time, uint32_t flags)
{
	if ((s->file->flags & O_NONBLOCK) != 0 || (flags & MSG_DONTWAIT) != 0 || r->late)
		return r->done > 0 ? answer(r, (int64_t)r->done) : refuse(r, EAGAIN);
	if (time == 0)
		return park(&at->watch.waiters, r);
	/* The time runs from the first wait on. */
	if (r->scratch[3] == 0)
		r->scratch[3] = now() + time;
	return park_until(&at->watch.waiters, r, r->scratch[3]);
}

verdict socket_empty(struct request *r, struct socket *s, const struct message *m)
{
	int32_t error = s->error;

	if (r->done > 0 && (m->flags & MSG_WAITALL) == 0)
		return answer(r, (int64_t)r->done);
	if (error != 0 && r->done == 0) {
		s->error = 0;
		return refuse(r, error);
	}
	if (s->shut & SHUT_RECEIVE)
		return answer(r, (int64_t)r->done);
	return socket_wait(r, s, s, s->receive_time, m->flags);
}

/* Calls ------------------------------------------------------------------------------------------------------------ */

/* Returns the type, or -errno. */
static int64_t type_of(uint32_t family, uint32_t type, uint32_t protocol)
{
	uint32_t kind = type & SOCK_TYPE_MASK;

	if ((type & ~(uint32_t)(SOCK_TYPE_MASK | SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0 || kind >= TYPES_MOST)
		return -EINVAL;
	if (family == AF_INET)
		return (int64_t)kind;
	if (family != AF_UNIX)
		return -EAFNOSUPPORT;
	if (protocol != 0 && protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	if (kind == SOCK_RAW)
		return SOCK_DGRAM;
	return kind == SOCK_STREAM || kind == SOCK_DGRAM || kind == SOCK_SEQPACKET ? (int64_t)kind : -ESOCKTNOSUPPORT;
}

verdict vfs_socket(struct request *r, uint32_t family, uint32_t type, uint32_t protocol)
{
	int64_t kind = type_of(family, type, protocol);
	struct socket *s;
	int64_t fd;

	if (kind < 0)
		return answer(r, kind);
	if (family == AF_INET)
		return answer(r, inet_socket(r->task, type, protocol));
	s = socket_make(r->task, (uint32_t)kind);
	if (s == NULL)
		return refuse(r, ENOMEM);
	fd = socket_place(r->task, s, type);
	if (fd < 0)
		socket_close(s);
	return answer(r, fd);
}

verdict vfs_socketpair(struct request *r, uint32_t family, uint32_t type, uint32_t protocol, struct grant to)
{
	const uint32_t flags[2] = { O_RDWR | (type & O_NONBLOCK), O_RDWR | (type & O_NONBLOCK) };
	int64_t kind = type_of(family, type, protocol), error = -ENOMEM;
	struct socket *s[2] = { NULL, NULL };
	int32_t fds[2];

	if (kind < 0 || family == AF_INET)
		return answer(r, kind < 0 ? kind : -EOPNOTSUPP);
	for (unsigned i = 0; i < 2; i++)
		s[i] = socket_make(r->task, (uint32_t)kind);
	if (s[0] != NULL && s[1] != NULL) {
		socket_join(s[0], s[1]);
		error = place_two(r->task, &socket_files, (void *[2]){ s[0], s[1] }, flags, type & O_CLOEXEC, fds, to);
	}
	for (unsigned i = 0; i < 2; i++)
		if (error == 0)
			socket_opened(s[i], file_of(r->task, fds[i]));
		else if (s[i] != NULL)
			socket_close(s[i]);
	return answer(r, error);
}

verdict vfs_send(struct request *r, struct socket *s, struct grant data, struct grant address, struct grant control,
		 uint32_t flags)
{
	struct message m = { data, address, control, flags };

	if (control.length != 0)
		(void)lost_recover(rights_are_too_many(r->task));
	if (flags & ~(uint32_t)(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR))
		return refuse(r, flags & 1 ? EOPNOTSUPP : EINVAL);
	return s->net != 0 ? inet_send(r, s, &m) : send_message(r, s, &m);
}

verdict vfs_receive(struct request *r, struct socket *s, struct grant data, struct grant address, struct grant control,
		    uint32_t flags)
{
	struct message m = { data, address, control, flags };

	if (flags & ~(uint32_t)(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_TRUNC | MSG_WAITALL | MSG_CMSG_CLOEXEC))
		return refuse(r, flags & 1 ? EOPNOTSUPP : EINVAL);
	r->out[OUT_VFS_RECEIVE_LENGTH] = r->out[OUT_VFS_RECEIVE_CONTROL_LENGTH] = 0;
	r->out[OUT_VFS_RECEIVE_FLAGS] = flags & MSG_CMSG_CLOEXEC;
	return s->net != 0 ? inet_receive(r, s, &m) : receive_message(r, s, &m);
}

verdict vfs_shutdown(struct request *r, struct socket *s, uint32_t how)
{
	uint32_t bits = how + 1;

	if (how > SHUT_RDWR)
		return refuse(r, EINVAL);
	if (s->net != 0)
		return answer(r, inet_shutdown(s, bits));
	s->shut |= bits;
	/* What one end will not read the other end cannot send. */
	if (s->peer != NULL && s->type != SOCK_DGRAM) {
		s->peer->shut |= (bits & SHUT_RECEIVE ? SHUT_SEND : 0) | (bits & SHUT_SEND ? SHUT_RECEIVE : 0);
		watch_changed(&s->peer->watch);
	}
	watch_changed(&s->watch);
	return answer(r, 0);
}

struct io_state io;

void io_start(void)
{
	clock_random(grant_write(vfs.boot_id, sizeof vfs.boot_id));
	list_start(&io.names);
	list_start(&io.sockets);
	list_start(&io.epolls);
	list_start(&io.rights);
}
