/* inet.c: sockets of AF_INET, whose data net keeps. Requests wait here until net reports a change of their socket: in
 * its answer to the call that changed it, or by a notification. */
#include "abi/poll.h"
#include "net.h"
#include "pipes/pipe.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* Whatever net answers, this loop ends and only touches existing sockets. */
static void tell(uint32_t changed)
{
	for (unsigned left = NET_SOCKETS; changed != 0 && left != 0; left--) {
		uint32_t number = changed & ~NET_MORE;

		if (number <= NET_SOCKETS && io.inet[number] != NULL)
			watch_changed(&io.inet[number]->watch);
		if ((changed & NET_MORE) == 0 || net_changed(&changed) != 0)
			return;
	}
}

/* Checks net's answer with a new socket's number. Returns net's error, -EIO if the number cannot be a new one, or 0. */
static int64_t of_new(int64_t result, uint32_t number)
{
	if (result < 0)
		return result;
	return number != 0 && number <= NET_SOCKETS && io.inet[number] == NULL ? 0 : -EIO;
}

void inet_notified(void)
{
	uint32_t changed = 0;

	if (net_changed(&changed) == 0)
		tell(changed);
	else
		/* net has ended. */
		for (unsigned i = 1; i <= NET_SOCKETS; i++)
			if (io.inet[i] != NULL)
				watch_changed(&io.inet[i]->watch);
}

/* Reads address and port. Returns 0, 1 for AF_UNSPEC, -EINVAL, -EAFNOSUPPORT or -EFAULT. */
static int64_t address_get(struct grant from, uint32_t *address, uint32_t *port)
{
	struct linux_sockaddr_in in;

	if (from.length < sizeof in.family)
		return -EINVAL;
	TRY(copy_in(&in, from, 0, MIN(from.length, sizeof in)));
	*address = *port = 0;
	if (in.family == AF_UNSPEC)
		return 1;
	if (from.length < sizeof in)
		return -EINVAL;
	*address = __builtin_bswap32(in.address);
	*port = __builtin_bswap16(in.port);
	return in.family == AF_INET ? 0 : -EAFNOSUPPORT;
}

static int64_t address_copy(struct request *r, uint32_t address, uint32_t port, struct grant to)
{
	struct linux_sockaddr_in in = { AF_INET, __builtin_bswap16((uint16_t)port), __builtin_bswap32(address), { 0 } };

	r->out[ADDRESS_LENGTH] = sizeof in;
	return copy_out(to, 0, &in, MIN(to.length, sizeof in));
}

static int64_t name_copy(struct request *r, uint32_t number, uint32_t peer, struct grant to)
{
	uint32_t address, port;

	TRY(net_name(number, peer, &address, &port));
	return address_copy(r, address, port, to);
}

/* Files ------------------------------------------------------------------------------------------------------------ */

static verdict inet_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	struct message m = { .data = to };

	return inet_receive(r, f->state, &m);
}

static verdict inet_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct message m = { .data = from };

	return inet_send(r, f->state, &m);
}

static uint32_t inet_poll(struct file *f)
{
	struct socket *s = f->state;
	uint32_t state, bytes, ready = 0;

	watch(&s->watch);
	if (net_state(s->net, &state, &bytes) != 0)
		return READY_ERROR | READY_HANG_UP;
	if (s->shut & SHUT_RECEIVE)
		state |= NET_END;
	if ((state & NET_IN) != 0 || s->kept != 0)
		ready |= READY_IN;
	if (state & NET_END)
		ready |= POLLRDHUP | READY_IN;
	if (state & NET_OUT)
		ready |= READY_OUT;
	if ((state & NET_APART) != 0 || (state & (NET_END | NET_SHUT)) == (NET_END | NET_SHUT))
		ready |= READY_HANG_UP;
	if (state & NET_ERROR)
		ready |= READY_ERROR;
	return ready;
}

static int64_t inet_readable(struct file *f)
{
	const struct socket *s = f->state;
	uint32_t state, bytes;

	if (s->listens)
		return -EINVAL;
	TRY(net_state(s->net, &state, &bytes));
	return bytes;
}

/* The only device is loopback, and it is always up. */
static verdict inet_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at)
{
	struct linux_ifreq device;

	if (command != SIOCGIFFLAGS && command != SIOCSIFFLAGS)
		return refuse(r, ENOTTY);
	TRY_OR_WAIT(r, copy_in(&device, at, 0, sizeof device));
	if (strncmp(device.name, "lo", sizeof device.name) != 0)
		return refuse(r, ENODEV);
	if (command == SIOCSIFFLAGS)
		return vfs.tasks[r->task].user != 0 ? refuse(r, EPERM) : answer(r, 0);
	device.flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
	return answer(r, copy_out(at, 0, &device, sizeof device));
}

static void inet_close(uint32_t number, bool hard)
{
	uint32_t changed;

	io.inet[number] = NULL;
	if (net_close(number, hard, &changed) == 0)
		tell(changed);
}

static void inet_release(struct file *f)
{
	struct socket *s = f->state;

	s->file = NULL;
	if (s->kept != 0)
		inet_close(s->kept, true);
	inet_close(s->net, s->linger.on && s->linger.seconds == 0);
	watch_changed(&s->watch);
	socket_drop(s);
}

const struct file_operations inet_files = {
	.read = inet_read,
	.write = inet_write,
	.poll = inet_poll,
	.readable = inet_readable,
	.ioctl = inet_ioctl,
	.stat = unnamed_stat,
	.kind = "socket:[%lu]",
	.release = inet_release,
};

/* Makes a descriptor for net's socket, which on an error stays the caller's. */
static int64_t inet_place(uint32_t task, uint32_t number, uint32_t type, uint32_t flags)
{
	struct socket *s = socket_make(task, type);
	int64_t fd;

	if (s == NULL)
		return -ENOMEM;
	s->family = AF_INET;
	s->protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	s->net = number;
	fd = place_one(task, &inet_files, s, O_RDWR | (flags & O_NONBLOCK), flags & O_CLOEXEC);
	if (fd < 0) {
		socket_drop(s);
		return fd;
	}
	s->file = file_of(task, (int32_t)fd);
	io.inet[number] = s;
	return fd;
}

/* Calls ------------------------------------------------------------------------------------------------------------ */

int64_t inet_socket(uint32_t task, uint32_t type, uint32_t protocol)
{
	uint32_t kind = type & SOCK_TYPE_MASK, own = kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP, number = 0;
	int64_t result, fd;

	if (kind != SOCK_STREAM && kind != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != 0 && protocol != own)
		return -EPROTONOSUPPORT;
	result = net_open(kind, &number);
	TRY(of_new(result, number));
	fd = inet_place(task, number, kind, type);
	if (fd < 0)
		inet_close(number, true);
	return fd;
}

int64_t inet_bind(struct socket *s, struct grant from)
{
	uint32_t address, port;
	int64_t unspecified = address_get(from, &address, &port);

	TRY(unspecified);
	return unspecified ? -EAFNOSUPPORT : net_bind(s->net, address, port);
}

int64_t inet_listen(struct socket *s, int32_t backlog)
{
	TRY(net_listen(s->net, MIN((uint32_t)backlog, (uint32_t)SOMAXCONN)));
	s->listens = true;
	return 0;
}

verdict inet_connect(struct request *r, struct socket *s, struct grant to)
{
	uint32_t address, port, changed = 0;
	int64_t result = address_get(to, &address, &port);

	if (result > 0 && s->type == SOCK_STREAM)
		return refuse(r, EAFNOSUPPORT);
	TRY_OR_WAIT(r, result);
	result = net_connect(s->net, address, port, &changed);
	tell(changed);
	/* The earlier run waited for this. */
	if (result == -EISCONN && r->scratch[0] != 0)
		return answer(r, 0);
	if (result != -EWAIT && result != -EALREADY)
		return answer(r, result);
	if ((s->file->flags & O_NONBLOCK) != 0 || r->late)
		return refuse(r, result == -EALREADY && r->scratch[0] == 0 ? EALREADY : EINPROGRESS);
	r->scratch[0] = 1;
	return socket_wait(r, s, s, s->send_time, 0);
}

verdict inet_accept(struct request *r, struct socket *s, struct grant address, uint32_t flags)
{
	int64_t result = 0, fd;
	uint32_t number = 0;

	if (s->kept == 0) {
		result = net_accept(s->net, &number);
		result = of_new(result, number);
		s->kept = result == 0 ? number : 0;
	}
	if (s->type == SOCK_DGRAM)
		return refuse(r, EOPNOTSUPP);
	if (result == -EWAIT)
		return s->shut & SHUT_RECEIVE ? refuse(r, EINVAL) : socket_wait(r, s, s, s->receive_time, 0);
	TRY_OR_WAIT(r, result);
	if (address.length != 0) {
		result = name_copy(r, s->kept, 1, address);
		/* The connection has ended already. */
		if (result == -ENOTCONN)
			result = address_copy(r, 0, 0, address);
		TRY_OR_WAIT(r, result);
	}
	fd = inet_place(r->task, s->kept, s->type, flags);
	if (fd >= 0)
		s->kept = 0;
	return answer(r, fd);
}

verdict inet_name(struct request *r, struct socket *s, uint32_t peer, struct grant to)
{
	return answer(r, name_copy(r, s->net, peer, to));
}

int64_t inet_shutdown(struct socket *s, uint32_t bits)
{
	uint32_t changed = 0, state, bytes;
	int64_t result = 0;

	if (bits & SHUT_SEND && !s->listens)
		result = net_shutdown(s->net, &changed);
	else if (!s->listens && net_state(s->net, &state, &bytes) == 0 && (state & NET_APART) != 0)
		result = -ENOTCONN;
	TRY(result);
	s->shut |= bits;
	tell(changed);
	watch_changed(&s->watch);
	return 0;
}

verdict inet_send(struct request *r, struct socket *s, const struct message *m)
{
	uint32_t address = 0, port = 0, changed = 0;
	int64_t n;

	if (m->address.length != 0 && s->type == SOCK_DGRAM) {
		n = address_get(m->address, &address, &port);
		TRY_OR_WAIT(r, n);
		if (n > 0 || port == 0)
			return refuse(r, EINVAL);
	}
	do {
		n = net_send(s->net, grant_part(m->data, r->done, m->data.length - r->done), address, port, &changed);
		tell(changed);
		if (n == -EWAIT)
			return socket_wait(r, s, s, s->send_time, m->flags);
		if (n == -EPIPE && r->done == 0)
			return write_broken(r, m->flags);
		if (n < 0)
			return answer(r, r->done > 0 ? (int64_t)r->done : n);
		r->done += MIN((uint64_t)n, m->data.length - r->done);
	} while (n > 0 && r->done < m->data.length);
	return answer(r, (int64_t)r->done);
}

/* Answers for one datagram of `whole` bytes. */
static verdict datagram_answer(struct request *r, const struct message *m, int64_t whole)
{
	if ((uint64_t)whole > m->data.length)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_TRUNC;
	return answer(r, m->flags & MSG_TRUNC ? whole : MIN(whole, (int64_t)m->data.length));
}

verdict inet_receive(struct request *r, struct socket *s, const struct message *m)
{
	bool peek = (m->flags & MSG_PEEK) != 0;
	uint32_t address, port, changed = 0;
	int64_t n;

	do {
		n = net_receive(s->net, grant_part(m->data, r->done, m->data.length - r->done), peek, &address, &port,
				&changed);
		tell(changed);
		if (n == -EWAIT && (s->shut & SHUT_RECEIVE))
			return answer(r, (int64_t)r->done);
		if (n == -EWAIT && (r->done == 0 || (m->flags & MSG_WAITALL)))
			return socket_wait(r, s, s, s->receive_time, m->flags);
		if (n < 0)
			return answer(r, r->done > 0 ? (int64_t)r->done : n);
		if (s->type == SOCK_DGRAM) {
			TRY_OR_WAIT(r, address_copy(r, address, port, m->address));
			return datagram_answer(r, m, n);
		}
		r->done += MIN((uint64_t)n, m->data.length - r->done);
	} while (n > 0 && r->done < m->data.length && (m->flags & MSG_WAITALL) && !peek);
	return answer(r, (int64_t)r->done);
}
