/* unix_stream.c: bytes between connected sockets. They lie in the receiver's ring; what was sent beside them
 * (descriptors, credentials) in its list, with the places in the stream to which it belongs. */
#include "socket.h"

verdict stream_send(struct request *r, struct socket *s, const struct message *m)
{
	struct socket *to = s->peer;
	uint64_t left = m->data.length - r->done;
	struct packet *mark = NULL;
	int64_t n = 0;

	if (m->address.length != 0)
		return refuse(r, s->state == CONNECTED ? EISCONN : EOPNOTSUPP);
	if (s->shut & SHUT_SEND)
		return write_broken(r, m->flags);
	if (s->state != CONNECTED)
		return refuse(r, ENOTCONN);
	if (to->closed || (to->shut & SHUT_RECEIVE))
		return write_broken(r, m->flags);
	if (left == 0)
		return answer(r, 0);
	if (ring_room(&to->ring) == 0)
		return socket_wait(r, s, to, s->send_time, m->flags);
	/* scratch[0]: what goes beside the message went with its first part. */
	if (r->scratch[0] == 0 && (m->control.length > 0 || s->pass_credentials || to->pass_credentials))
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

verdict stream_receive(struct request *r, struct socket *s, const struct message *m)
{
	uint64_t n = MIN(m->data.length - r->done, s->ring.used);
	struct packet *mark;
	bool keep = m->flags & MSG_PEEK;

	if (s->state != CONNECTED)
		return refuse(r, EINVAL);
	if (m->data.length == 0)
		return answer(r, 0);
	if (n == 0)
		return socket_empty(r, s, m);
	mark = mark_within(s, &n);
	if (ring_look(&s->ring, m->data, r->done, (uint32_t)n) != 0)
		return settle(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
	beside_put(r, s, m, mark == NULL ? NULL : &mark->beside, keep);
	if (keep)
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
