/* unix_stream.c: bytes between connected sockets. They lie in the receiver's ring; what was sent beside them
 * (descriptors, credentials) in its list, with the places in the stream to which it belongs. */
#include "socket.h"

/* Before the first byte of a message with something beside it: a place for that. 0 or -errno. */
static int64_t mark_make(struct request *r, struct socket *s, const struct message *m, struct packet **out)
{
	struct socket *to = s->peer;
	struct packet *mark;
	int64_t error;

	*out = NULL;
	/* scratch[0]: it went with the first part. */
	if (r->scratch[0] != 0 || (m->control.length == 0 && !s->pass_credentials && !to->pass_credentials))
		return 0;
	mark = packet_make(0);
	if (mark == NULL)
		return -ENOMEM;
	error = beside_get(r->task, m->control, &mark->beside);
	if (error != 0) {
		packet_end(mark);
		return error;
	}
	*out = mark;
	return 0;
}

static void mark_place(struct request *r, struct socket *to, struct packet *mark, uint64_t n)
{
	mark->first = to->written;
	mark->end = to->written + n;
	list_add(&to->packets, &mark->link);
	r->scratch[0] = 1;
}

verdict stream_send(struct request *r, struct file *f, struct socket *s, const struct message *m)
{
	struct socket *to = s->peer;
	uint64_t left = m->data.length - r->done;
	struct packet *mark;
	int64_t n;

	if (m->address.length != 0)
		return refuse(r, s->state == CONNECTED ? EISCONN : EOPNOTSUPP);
	if (s->shut & SHUT_SEND)
		return socket_broken(r, m->flags);
	if (s->state != CONNECTED)
		return refuse(r, ENOTCONN);
	if (to->closed || (to->shut & SHUT_RECEIVE))
		return socket_broken(r, m->flags);
	if (left == 0)
		return answer(r, 0);
	if (ring_room(&to->ring) == 0)
		return socket_wait(r, &to->for_room, s->send_time, f, m->flags);
	n = mark_make(r, s, m, &mark);
	if (n != 0)
		return settle(r, n);
	n = ring_put(&to->ring, m->data, r->done, (uint32_t)MIN(left, ring_room(&to->ring)), false);
	if (n < 0) {
		if (mark != NULL)
			packet_end(mark);
		return settle(r, r->done > 0 ? (int64_t)r->done : n);
	}
	if (mark != NULL)
		mark_place(r, to, mark, (uint64_t)n);
	to->written += (uint64_t)n;
	r->done += (uint64_t)n;
	if (is_waited_for(&to->for_data))
		unpark(&to->for_data);
	watch_changed(&to->watch);
	/* All of it; or a part alone could be read from the caller. */
	if ((uint64_t)n == left || ring_room(&to->ring) > 0)
		return answer(r, (int64_t)r->done);
	return socket_wait(r, &to->for_room, s->send_time, f, m->flags);
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

/* Nothing is there. */
static verdict stream_empty(struct request *r, struct file *f, struct socket *s, const struct message *m)
{
	if (r->done > 0 && (m->flags & MSG_WAITALL) == 0)
		return answer(r, (int64_t)r->done);
	if (s->error != 0 && r->done == 0) {
		int32_t error = s->error;

		s->error = 0;
		return refuse(r, error);
	}
	if (s->shut & SHUT_RECEIVE)
		return answer(r, (int64_t)r->done);
	return socket_wait(r, &s->for_data, s->receive_time, f, m->flags);
}

verdict stream_receive(struct request *r, struct file *f, struct socket *s, const struct message *m)
{
	uint64_t n = MIN(m->data.length - r->done, s->ring.used);
	struct packet *mark;
	bool keep = m->flags & MSG_PEEK;

	if (s->state != CONNECTED)
		return refuse(r, EINVAL);
	if (m->data.length == 0)
		return answer(r, 0);
	if (n == 0)
		return stream_empty(r, f, s, m);
	mark = mark_within(s, &n);
	if (ring_look(&s->ring, m->data, r->done, (uint32_t)n) != 0)
		return settle(r, r->done > 0 ? (int64_t)r->done : -EFAULT);
	beside_put(r, s, m, mark == NULL ? NULL : &mark->beside, keep);
	if (keep)
		return answer(r, (int64_t)n);
	ring_drop(&s->ring, (uint32_t)n);
	r->done += n;
	if (mark != NULL) {
		list_remove(&mark->link);
		packet_end(mark);
	}
	/* Not for every byte: a sender goes on when it can send much. */
	if (ring_room(&s->ring) >= s->ring.size / 2) {
		if (is_waited_for(&s->for_room))
			unpark(&s->for_room);
		if (s->peer != NULL)
			watch_changed(&s->peer->watch);
	}
	if (r->done == m->data.length || (m->flags & MSG_WAITALL) == 0 || mark != NULL)
		return answer(r, (int64_t)r->done);
	return stream_empty(r, f, s, m);
}
