/* message.c: messages between sockets of AF_UNIX. The receiver's ring gets the bytes. A packet beside them delimits a
 * datagram or a sequenced packet, and carries the descriptors that were sent with a stream's bytes. */
#include "pipes/pipe.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* The queue of a receiver that is not connected to the sender, as Linux's net.unix.max_dgram_qlen. */
#define DATAGRAMS_MOST 10

/* Finds and holds the receiver. Returns 0 or -errno. */
static int64_t receiver_of(uint32_t task, struct socket *s, const struct message *m, struct socket **out)
{
	int64_t error = 0;

	if (s->type == SOCK_DGRAM && m->address.length != 0)
		error = address_find(task, m->address, out);
	else if (s->peer == NULL)
		error = -ENOTCONN;
	else
		*out = socket_hold(s->peer);
	/* AF_UNSPEC dissolves a connection only in connect. */
	if (error != 0)
		return error == -EAFNOSUPPORT ? -EINVAL : error;
	if ((*out)->type != s->type)
		return -EPROTOTYPE;
	if ((*out)->closed && s->peer == *out) {
		socket_drop(s->peer);
		s->peer = NULL;
	}
	if ((*out)->closed)
		return -ECONNREFUSED;
	if ((*out)->shut & SHUT_RECEIVE)
		return -EPIPE;
	return s->type == SOCK_DGRAM && (*out)->peer != NULL && (*out)->peer != s ? -EPERM : 0;
}

static bool receiver_is_full(const struct socket *s, const struct socket *to, uint64_t length)
{
	if (to->peer != s && to->packet_count > DATAGRAMS_MOST)
		return true;
	return to->packet_count > 0 && packets_weight(to) + PACKET_WEIGHT + length > s->send_buffer;
}

/* Puts the message, or as much of a stream as fits, into the receiver. Returns the number of bytes or -errno. */
static int64_t deliver(struct request *r, const struct socket *s, struct socket *to, const struct message *m)
{
	uint64_t left = m->data.length - r->done;
	bool whole = s->type != SOCK_STREAM;
	struct packet *p = NULL;
	int64_t n;

	if (whole && left > ring_room(&to->ring))
		TRY(ring_resize(&to->ring, (uint32_t)(pages_for(to->ring.used + left) * PAGE)));
	/* scratch[0]: the descriptors went with the first bytes of this stream. */
	if (whole || (m->control.length > 0 && r->scratch[0] == 0))
		TRY(packet_make(r->task, m->control, &p));
	n = ring_put(&to->ring, m->data, r->done, (uint32_t)MIN(left, ring_room(&to->ring)), whole);
	if (n < 0) {
		if (p != NULL)
			packet_end(p);
		return n;
	}

	/* committed */
	if (p != NULL) {
		p->first = to->written;
		p->end = to->written + (uint64_t)n;
		p->from = s->name;
		list_add(&to->packets, &p->link);
		to->packet_count++;
		if (!whole)
			r->scratch[0] = 1;
	}
	to->written += (uint64_t)n;
	watch_changed(&to->watch);
	return n;
}

static inline verdict send_to(struct request *r, struct socket *s, struct socket *to, const struct message *m)
{
	int64_t n;

	/* If memory is short, tries again after ending lost sockets, unless `to` was one. */
	do
		n = deliver(r, s, to, m);
	while (n == -ENOMEM && lost_recover(true) && !to->closed);
	if (n < 0)
		return answer(r, r->done > 0 ? (int64_t)r->done : n);
	r->done += (uint64_t)n;
	/* All is sent, or only a part could be read from the caller. */
	if (r->done == m->data.length || ring_room(&to->ring) > 0)
		return answer(r, (int64_t)r->done);
	return socket_wait(r, s, to, s->send_time, m->flags);
}

static verdict stream_send(struct request *r, struct socket *s, const struct message *m)
{
	struct socket *to = s->peer;

	if (m->address.length != 0)
		return refuse(r, to != NULL ? EISCONN : EOPNOTSUPP);
	if (s->shut & SHUT_SEND)
		return write_broken(r, m->flags);
	if (to == NULL)
		return refuse(r, ENOTCONN);
	if (m->data.length == 0)
		return answer(r, 0);
	if (ring_room(&to->ring) == 0)
		return socket_wait(r, s, to, s->send_time, m->flags);
	return send_to(r, s, to, m);
}

verdict send_message(struct request *r, struct socket *s, const struct message *m)
{
	SOCKET_HELD struct socket *to = NULL;
	int64_t error;

	if (s->type == SOCK_STREAM)
		return stream_send(r, s, m);
	if (s->shut & SHUT_SEND)
		return write_broken(r, m->flags);
	if (m->data.length > s->send_buffer - PACKET_WEIGHT)
		return refuse(r, EMSGSIZE);
	error = receiver_of(r->task, s, m, &to);
	if (error != 0)
		return error == -EPIPE ? write_broken(r, m->flags) : answer_or_wait(r, error);
	/* The receiver is not held during the wait: its end wakes those who wait for room. */
	if (receiver_is_full(s, to, m->data.length))
		return socket_wait(r, s, to, s->send_time, m->flags);
	return send_to(r, s, to, m);
}

/* Receiving -------------------------------------------------------------------------------------------------------- */

/* Removes `n` bytes and their packet (may be NULL). */
static inline void take_out(struct socket *s, uint64_t n, struct packet *p)
{
	ring_drop(&s->ring, (uint32_t)n);
	if (p != NULL)
		packet_remove(s, p);
	/* The sender of a stream is woken only when there is much room. */
	if (s->type == SOCK_STREAM && ring_room(&s->ring) < s->ring.size / 2)
		return;
	unpark(&s->watch.waiters);
	/* Senders of datagrams need not be connected, so all pollers are woken. */
	if (s->type == SOCK_DGRAM)
		watch_polled(&s->watch);
	if (s->peer != NULL)
		watch_polled(&s->peer->watch);
}

static verdict stream_receive(struct request *r, struct socket *s, const struct message *m)
{
	uint64_t n = MIN(m->data.length - r->done, s->ring.used), first = s->written - s->ring.used;
	struct packet *p = NULL;

	if (s->peer == NULL)
		return refuse(r, EINVAL);
	if (m->data.length == 0)
		return answer(r, 0);
	if (n == 0)
		return socket_empty(r, s, m);
	if (s->packet_count > 0)
		p = CONTAINER(s->packets.next, struct packet, link);
	if (p != NULL && p->first >= first + n)
		p = NULL;
	/* One receive does not return bytes of a packet together with bytes behind it. */
	if (p != NULL)
		n = MIN(n, p->end - first);
	if (ring_look(&s->ring, m->data, r->done, (uint32_t)n) != 0)
		return answer(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
	if (p != NULL)
		rights_put(r, m, p);
	if ((m->flags & MSG_PEEK) != 0)
		return answer(r, (int64_t)n);
	take_out(s, n, p);
	r->done += n;
	if (r->done == m->data.length || (m->flags & MSG_WAITALL) == 0 || p != NULL)
		return answer(r, (int64_t)r->done);
	return socket_empty(r, s, m);
}

verdict receive_message(struct request *r, struct socket *s, const struct message *m)
{
	struct packet *p;
	uint64_t whole, n;

	if (s->type == SOCK_STREAM)
		return stream_receive(r, s, m);
	if (s->type == SOCK_SEQPACKET && s->peer == NULL)
		return refuse(r, ENOTCONN);
	if (s->packet_count == 0)
		return socket_empty(r, s, m);
	p = CONTAINER(s->packets.next, struct packet, link);
	whole = p->end - p->first;
	n = MIN(m->data.length, whole);
	if (n > 0)
		TRY_OR_WAIT(r, ring_look(&s->ring, m->data, 0, (uint32_t)n));
	if (p->from.length != 0)
		TRY_OR_WAIT(r, address_put(r, &p->from, m->address));
	if (n < whole)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_TRUNC;
	if (s->type == SOCK_SEQPACKET)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_EOR;
	rights_put(r, m, p);
	if ((m->flags & MSG_PEEK) == 0)
		take_out(s, whole, p);
	return answer(r, (int64_t)(m->flags & MSG_TRUNC ? whole : n));
}
