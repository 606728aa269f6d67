/* stream.c: sockets of TCP. lwIP's callbacks note what has come; they must not call functions that send. */
#include "net_internal.h"
#include "lwip/priv/tcp_priv.h"

/* A buffer for what is sent in one copy. */
static uint8_t bytes[TCP_MSS];

/* Up to FEW bytes are appended to buffers of TOGETHER bytes, so that a queue of many small segments takes no more
 * memory than its window has bytes. */
#define FEW 256
#define TOGETHER 1900

static err_t received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
	struct net_socket *s = arg;
	struct pbuf *all;

	socket_changed(s);
	if (p == NULL) {
		s->ended = true;
		return ERR_OK;
	}
	if (s->last != NULL && p->tot_len <= FEW) {
		if (s->room < p->tot_len) {
			all = pbuf_alloc(PBUF_RAW, TOGETHER, PBUF_RAM);
			if (all == NULL)
				return ERR_MEM;
			all->len = all->tot_len = 0;
			s->last = s->last->next = all;
			s->room = TOGETHER;
		}
		pbuf_copy_partial(p, (char *)s->last->payload + s->last->len, p->tot_len, 0);
		s->last->len = (uint16_t)(s->last->len + p->tot_len);
		s->last->tot_len = s->last->len;
		s->room -= p->tot_len;
		s->queued += p->tot_len;
		pbuf_free(p);
		return ERR_OK;
	}
	s->queued += p->tot_len;
	s->room = 0;
	if (s->last == NULL)
		s->first = p;
	else
		s->last->next = p;
	while (p->next != NULL)
		p = p->next;
	s->last = p;
	return ERR_OK;
}

static err_t sent(void *arg, struct tcp_pcb *pcb, uint16_t length)
{
	if (tcp_sndbuf(pcb) >= TCP_SND_BUF / 2)
		socket_changed(arg);
	return ERR_OK;
}

/* lwIP has freed the control block. */
static void failed(void *arg, err_t error)
{
	struct net_socket *s = arg;

	s->tcp = NULL;
	if (error != ERR_CLSD)
		s->error = s->connecting ? ECONNREFUSED : s->ended ? EPIPE : errno_of(error);
	s->ended = !s->connecting;
	s->connecting = s->connected = false;
	socket_changed(s);
}

static void names_set(struct net_socket *s)
{
	s->own = (struct endpoint){ lwip_ntohl(ip4_addr_get_u32(&s->tcp->local_ip)), s->tcp->local_port };
	s->peer = (struct endpoint){ lwip_ntohl(ip4_addr_get_u32(&s->tcp->remote_ip)), s->tcp->remote_port };
}

static err_t connected(void *arg, struct tcp_pcb *pcb, err_t error)
{
	struct net_socket *s = arg;

	s->connecting = false;
	s->connected = true;
	names_set(s);
	socket_changed(s);
	return ERR_OK;
}

static void callbacks_set(struct net_socket *s, struct tcp_pcb *pcb)
{
	s->tcp = pcb;
	tcp_arg(pcb, s);
	tcp_recv(pcb, received);
	tcp_sent(pcb, sent);
	tcp_err(pcb, failed);
	/* Nagle's delay saves packets, which are cheap on loopback. */
	tcp_nagle_disable(pcb);
}

static err_t accepted(void *arg, struct tcp_pcb *pcb, err_t error)
{
	struct net_socket *listener = arg, *s;

	if (pcb == NULL)
		return ERR_MEM;
	s = socket_new(SOCK_STREAM);
	if (s == NULL)
		return ERR_MEM;
	callbacks_set(s, pcb);
	names_set(s);
	s->connected = true;
	tcp_backlog_delayed(pcb);
	list_add(&listener->pending, &s->pending);
	socket_changed(listener);
	return ERR_OK;
}

err_t stream_open(struct net_socket *s)
{
	struct tcp_pcb *pcb = tcp_new();

	if (pcb == NULL)
		return ERR_MEM;
	callbacks_set(s, pcb);
	return ERR_OK;
}

static void callbacks_clear(struct tcp_pcb *pcb)
{
	tcp_arg(pcb, NULL);
	if (pcb->state == LISTEN)
		return;
	tcp_recv(pcb, NULL);
	tcp_sent(pcb, NULL);
	tcp_err(pcb, NULL);
}

void stream_close(struct net_socket *s, bool hard)
{
	struct tcp_pcb *pcb = s->tcp;

	/* Unread bytes cause a reset. lwIP itself sends one only if this end has not ended before. */
	hard |= s->queued > 0;
	if (s->first != NULL)
		pbuf_free(s->first);
	if (pcb == NULL)
		return;
	callbacks_clear(pcb);
	if (hard && pcb->state != LISTEN && pcb->state != CLOSED)
		tcp_abort(pcb);
	else if (tcp_close(pcb) != ERR_OK)
		tcp_abort(pcb);
}

int64_t stream_listen(struct net_socket *s, uint32_t backlog)
{
	struct tcp_pcb *pcb = s->tcp;
	err_t error;

	/* One more than asked for, as on Linux. */
	backlog = MIN(backlog, 254U) + 1;
	if (s->listens) {
		tcp_backlog_set(pcb, (uint8_t)backlog);
		return 0;
	}
	if (pcb == NULL || pcb->state != CLOSED)
		return -EINVAL;
	if (pcb->local_port == 0 && tcp_bind(pcb, IP_ADDR_ANY, 0) != ERR_OK)
		return -EADDRINUSE;
	s->own.port = pcb->local_port;
	pcb = tcp_listen_with_backlog_and_err(pcb, (uint8_t)backlog, &error);
	if (pcb == NULL)
		return error == ERR_USE ? -EADDRINUSE : -ENOMEM;
	s->tcp = pcb;
	s->listens = true;
	list_start(&s->pending);
	tcp_accept(pcb, accepted);
	return 0;
}

int64_t stream_connect(struct net_socket *s, const ip_addr_t *to, struct endpoint peer)
{
	err_t error;

	if (s->listens || s->connected)
		return -EISCONN;
	if (s->connecting)
		return -EALREADY;
	TRY(error_take(s));
	/* A socket whose connection failed may try again. */
	if (s->tcp == NULL && stream_open(s) != ERR_OK)
		return -ENOMEM;
	s->ended = false;
	error = tcp_connect(s->tcp, to, (uint16_t)peer.port, connected);
	if (error != ERR_OK)
		return -errno_of(error);
	s->connecting = true;
	s->peer = peer;
	s->own = (struct endpoint){ INADDR_LOOPBACK, s->tcp->local_port };
	return -EWAIT;
}

int64_t stream_send(struct net_socket *s, struct grant from)
{
	uint64_t done = 0;

	TRY(error_take(s));
	if (s->shut)
		return -EPIPE;
	if (!s->connected)
		return s->connecting ? -EWAIT : -EPIPE;
	while (done < from.length) {
		uint64_t n = MIN(MIN(from.length - done, sizeof bytes), tcp_sndbuf(s->tcp));

		if (n == 0 || tcp_sndqueuelen(s->tcp) + 2 > TCP_SND_QUEUELEN)
			break;
		if (copy_in(bytes, from, done, n) != 0)
			return done > 0 ? (int64_t)done : -EFAULT;
		if (tcp_write(s->tcp, bytes, (uint16_t)n, TCP_WRITE_FLAG_COPY) != ERR_OK)
			break;
		done += n;
	}
	(void)tcp_output(s->tcp);
	return done > 0 || from.length == 0 ? (int64_t)done : -EWAIT;
}

/* Removes the first `n` bytes. */
static void drop(struct net_socket *s, uint32_t n)
{
	s->queued -= n;
	while (n > 0 && n >= s->first->len) {
		struct pbuf *p = s->first;

		n -= p->len;
		s->first = p->next;
		p->next = NULL;
		pbuf_free(p);
	}
	if (n > 0)
		pbuf_remove_header(s->first, n);
	if (s->first != NULL)
		return;
	s->last = NULL;
	s->room = 0;
}

int64_t stream_receive(struct net_socket *s, struct grant to, bool peek)
{
	uint32_t n = (uint32_t)MIN(to.length, s->queued);

	if (s->listens || (!s->connected && !s->ended && !s->connecting))
		return -ENOTCONN;
	if (n == 0 && to.length > 0) {
		/* The end came before the reset. */
		if (s->error == EPIPE)
			return 0;
		TRY(error_take(s));
		return s->ended ? 0 : -EWAIT;
	}
	TRY(bytes_out(to, s->first, n));
	if (peek || n == 0)
		return n;
	drop(s, n);
	if (s->tcp != NULL)
		tcp_recved(s->tcp, (uint16_t)n);
	return n;
}

int64_t stream_shut(struct net_socket *s)
{
	if (s->tcp == NULL || !s->connected)
		return s->ended ? 0 : -ENOTCONN;
	if (s->shut)
		return 0;
	s->shut = true;
	return -errno_of(tcp_shutdown(s->tcp, 0, 1));
}

void streams_forget(void)
{
	while (tcp_tw_pcbs != NULL) {
		struct net_socket *s = tcp_tw_pcbs->callback_arg;

		if (s != NULL) {
			s->tcp = NULL;
			s->connected = false;
			socket_changed(s);
		}
		tcp_abort(tcp_tw_pcbs);
	}
}
