/* message.c: what goes from socket to socket. Datagrams and sequenced packets stay whole, in the receiver's list.
 * A stream's bytes lie in the receiver's ring; descriptors that were sent beside them in its list, with the places in
 * the stream to which they belong. */
#include "pipes/pipe.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* A packet weighs at least this much, so that empty ones fill a queue too. */
#define OVERHEAD 512
/* Datagrams that wait with one who did not choose the sender: net.unix.max_dgram_qlen. */
#define DATAGRAMS_MOST 10

/* A packet with `length` bytes of the message and the descriptors beside them. 0, -ENOBUFS without memory, -EFAULT, or
 * as rights_get(). */
static int64_t packet_make(uint32_t task, const struct message *m, uint32_t length, struct packet **out)
{
	struct packet *p = vfs_take(sizeof *p + length);
	int64_t error;

	if (p == NULL)
		return -ENOBUFS;
	p->length = length;
	error = copy_in(p->data, m->data, 0, length);
	if (error == 0)
		error = rights_get(task, m->control, p);
	if (error != 0)
		packet_end(p);
	else
		*out = p;
	return error;
}

void packet_end(struct packet *p)
{
	rights_lose(p->rights);
	vfs_give(p, sizeof *p + p->length);
}

static void packet_add(struct socket *to, struct packet *p)
{
	list_add(&to->packets, &p->link);
	to->packet_count++;
	to->packet_weight += p->length + OVERHEAD;
}

/* Out of its list, and to its end. */
static void packet_remove(struct socket *s, struct packet *p)
{
	list_remove(&p->link);
	s->packet_count--;
	s->packet_weight -= p->length + OVERHEAD;
	packet_end(p);
}

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
		error = -EPROTOTYPE;
	else if ((*out)->closed)
		error = s->type == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
	else if ((*out)->shut & SHUT_RECEIVE)
		error = -EPIPE;
	else if (s->type == SOCK_DGRAM && (*out)->peer != NULL && (*out)->peer != s)
		error = -EPERM;
	if (error != 0)
		socket_drop(*out);
	if (error == -ECONNREFUSED && s->peer == *out) {
		socket_drop(s->peer);
		s->peer = NULL;
	}
	return error;
}

static bool receiver_is_full(const struct socket *s, const struct socket *to, uint64_t length)
{
	if (to->peer != s && to->packet_count > DATAGRAMS_MOST)
		return true;
	return to->packet_count > 0 && to->packet_weight + length + OVERHEAD > s->send_buffer;
}

/* `to` takes the message over. */
static int64_t packet_deliver(struct request *r, struct socket *s, struct socket *to, const struct message *m)
{
	struct packet *p;
	int64_t error = packet_make(r->task, m, (uint32_t)m->data.length, &p);

	/* Memory is short: again once lost sockets are gone, if `to` is none. */
	while (error == -ENOBUFS && lost_recover(true) && !to->closed)
		error = packet_make(r->task, m, (uint32_t)m->data.length, &p);
	if (error != 0)
		return error;

	/* committed */
	p->from = s->name;
	packet_add(to, p);
	watch_changed(&to->watch);
	return (int64_t)m->data.length;
}

static verdict packet_send(struct request *r, struct socket *s, const struct message *m)
{
	struct socket *to;
	int64_t result;
	verdict how;

	if (s->shut & SHUT_SEND)
		return write_broken(r, m->flags);
	if (s->type == SOCK_SEQPACKET && !s->connected)
		return refuse(r, ENOTCONN);
	if (m->data.length > s->send_buffer - OVERHEAD)
		return refuse(r, EMSGSIZE);
	result = receiver_of(r->task, s, m, &to);
	if (result == -EPIPE)
		return write_broken(r, m->flags);
	if (result != 0)
		return vfs_settle(r, result);
	/* It is not held while this request waits: its end wakes who waits for room. */
	if (receiver_is_full(s, to, m->data.length))
		how = socket_wait(r, s, to, s->send_time, m->flags);
	else
		how = settle(r, packet_deliver(r, s, to, m));
	socket_drop(to);
	return how;
}

static verdict packet_receive(struct request *r, struct socket *s, const struct message *m)
{
	struct packet *p;
	uint64_t n;

	if (s->type == SOCK_SEQPACKET && !s->connected)
		return refuse(r, ENOTCONN);
	if (s->packet_count == 0)
		return socket_empty(r, s, m);
	p = CONTAINER(s->packets.next, struct packet, link);
	n = MIN(m->data.length, p->length);
	TRY_ANSWER(r, copy_out(m->data, 0, p->data, n));
	if (p->from.length != 0)
		TRY_ANSWER(r, address_put(r, &p->from, m->address));
	if (n < p->length)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_TRUNC;
	if (s->type == SOCK_SEQPACKET)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_EOR;
	rights_put(r, m, p->rights);
	r->result = (int64_t)(m->flags & MSG_TRUNC ? p->length : n);
	if ((m->flags & MSG_PEEK) != 0)
		return ANSWERED;
	packet_remove(s, p);
	watch_changed(&s->watch);
	if (s->peer != NULL)
		watch_polled(&s->peer->watch);
	return ANSWERED;
}

/* Streams ---------------------------------------------------------------------------------------------------------- */

static verdict stream_send(struct request *r, struct socket *s, const struct message *m)
{
	struct socket *to = s->peer;
	uint64_t left = m->data.length - r->done;
	struct packet *mark = NULL;
	int64_t n = 0;

	if (m->address.length != 0)
		return refuse(r, s->connected ? EISCONN : EOPNOTSUPP);
	if (s->shut & SHUT_SEND)
		return write_broken(r, m->flags);
	if (!s->connected)
		return refuse(r, ENOTCONN);
	if (to->closed || (to->shut & SHUT_RECEIVE))
		return write_broken(r, m->flags);
	if (left == 0)
		return answer(r, 0);
	if (ring_room(&to->ring) == 0)
		return socket_wait(r, s, to, s->send_time, m->flags);
	/* scratch[0]: what goes beside the message went with its first part. */
	if (r->scratch[0] == 0 && m->control.length > 0)
		n = packet_make(r->task, m, 0, &mark);
	if (n != 0)
		return settle(r, n == -ENOBUFS ? -ENOMEM : n);
	n = ring_put(&to->ring, m->data, r->done, (uint32_t)MIN(left, ring_room(&to->ring)), false);
	if (n < 0) {
		if (mark != NULL)
			packet_end(mark);
		return settle(r, r->done > 0 ? (int64_t)r->done : n);
	}
	if (mark != NULL) {
		mark->first = to->written;
		mark->end = to->written + (uint64_t)n;
		packet_add(to, mark);
		r->scratch[0] = 1;
	}
	to->written += (uint64_t)n;
	r->done += (uint64_t)n;
	watch_changed(&to->watch);
	/* All of it; or a part alone could be read from the caller. */
	if ((uint64_t)n == left || ring_room(&to->ring) > 0)
		return answer(r, (int64_t)r->done);
	return socket_wait(r, s, to, s->send_time, m->flags);
}

/* What lies beside the first bytes that a receiver of `n` gets; then he gets no bytes behind those it belongs to. */
static struct packet *mark_within(struct socket *s, uint64_t *n)
{
	uint64_t read = s->written - s->ring.used;
	struct packet *mark;

	if (list_is_empty(&s->packets))
		return NULL;
	mark = CONTAINER(s->packets.next, struct packet, link);
	if (mark->first >= read + *n)
		return NULL;
	*n = MIN(*n, mark->end - read);
	return mark;
}

static verdict stream_receive(struct request *r, struct socket *s, const struct message *m)
{
	uint64_t n = MIN(m->data.length - r->done, s->ring.used);
	struct packet *mark;

	if (!s->connected)
		return refuse(r, EINVAL);
	if (m->data.length == 0)
		return answer(r, 0);
	if (n == 0)
		return socket_empty(r, s, m);
	mark = mark_within(s, &n);
	if (ring_look(&s->ring, m->data, r->done, (uint32_t)n) != 0)
		return settle(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
	rights_put(r, m, mark == NULL ? NULL : mark->rights);
	if ((m->flags & MSG_PEEK) != 0)
		return answer(r, (int64_t)n);
	ring_drop(&s->ring, (uint32_t)n);
	r->done += n;
	if (mark != NULL)
		packet_remove(s, mark);
	/* Not for every byte: a sender goes on when it can send much. */
	if (ring_room(&s->ring) >= s->ring.size / 2) {
		unpark(&s->watch.waiters);
		if (s->peer != NULL)
			watch_polled(&s->peer->watch);
	}
	if (r->done == m->data.length || (m->flags & MSG_WAITALL) == 0 || mark != NULL)
		return answer(r, (int64_t)r->done);
	return socket_empty(r, s, m);
}

verdict send_message(struct request *r, struct socket *s, const struct message *m)
{
	return s->type == SOCK_STREAM ? stream_send(r, s, m) : packet_send(r, s, m);
}

verdict receive_message(struct request *r, struct socket *s, const struct message *m)
{
	return s->type == SOCK_STREAM ? stream_receive(r, s, m) : packet_receive(r, s, m);
}
