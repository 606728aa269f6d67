/* message.c: what goes from socket to socket: bytes to the receiver's ring; a packet beside them for each datagram and
 * sequenced packet, which stay whole, and of a stream for bytes that descriptors were sent with. */
#include "pipes/pipe.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* Datagrams that wait with one who did not choose the sender: net.unix.max_dgram_qlen. */
#define DATAGRAMS_MOST 10

/* Whom a message goes to, held. 0 or -errno. */
static int64_t receiver_of(uint32_t task, struct socket *s, const struct message *m, struct socket **out)
{
	int64_t error = 0;

	if (s->type == SOCK_DGRAM && m->address.length != 0)
		error = address_find(task, m->address, out);
	else if (s->peer == NULL)
		error = -ENOTCONN;
	else
		*out = socket_hold(s->peer);
	/* That is a disconnection for connect alone. */
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

/* `to` takes over the message, or of a stream's what there is room for. Returns how many bytes, or -errno. */
static int64_t deliver(struct request *r, const struct socket *s, struct socket *to, const struct message *m)
{
	uint64_t left = m->data.length - r->done;
	bool whole = s->type != SOCK_STREAM;
	struct packet *p = NULL;
	int64_t n;

	if (whole && left > ring_room(&to->ring))
		TRY(ring_resize(&to->ring, (uint32_t)(pages_for(to->ring.used + left) * PAGE)));
	/* scratch[0]: what goes beside a stream's bytes went with the first of them. */
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

	/* Memory is short: again once lost sockets are gone, if `to` is none. */
	do
		n = deliver(r, s, to, m);
	while (n == -ENOMEM && lost_recover(true) && !to->closed);
	if (n < 0)
		return settle(r, r->done > 0 ? (int64_t)r->done : n);
	r->done += (uint64_t)n;
	/* All of it; or a part alone could be read from the caller. */
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
		return error == -EPIPE ? write_broken(r, m->flags) : vfs_settle(r, error);
	/* It is not held while this request waits: its end wakes who waits for room. */
	if (receiver_is_full(s, to, m->data.length))
		return socket_wait(r, s, to, s->send_time, m->flags);
	return send_to(r, s, to, m);
}

/* Receiving -------------------------------------------------------------------------------------------------------- */

/* `n` bytes go, and the packet that they lay in; NULL without. */
static inline void take_out(struct socket *s, uint64_t n, struct packet *p)
{
	ring_drop(&s->ring, (uint32_t)n);
	if (p != NULL)
		packet_remove(s, p);
	/* Not for every byte of a stream: a sender is woken when it can send much. */
	if (s->type == SOCK_STREAM && ring_room(&s->ring) < s->ring.size / 2)
		return;
	unpark(&s->watch.waiters);
	/* Who sends datagrams here may be nobody's peer. */
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
	/* Nobody gets bytes of a packet and those behind it at once. */
	if (p != NULL)
		n = MIN(n, p->end - first);
	if (ring_look(&s->ring, m->data, r->done, (uint32_t)n) != 0)
		return settle(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
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
		TRY_ANSWER(r, ring_look(&s->ring, m->data, 0, (uint32_t)n));
	if (p->from.length != 0)
		TRY_ANSWER(r, address_put(r, &p->from, m->address));
	if (n < whole)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_TRUNC;
	if (s->type == SOCK_SEQPACKET)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_EOR;
	rights_put(r, m, p);
	if ((m->flags & MSG_PEEK) == 0)
		take_out(s, whole, p);
	return answer(r, (int64_t)(m->flags & MSG_TRUNC ? whole : n));
}
