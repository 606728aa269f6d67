/* main.c: sockets by number, their changes, lwIP's timer, and the calls. Each call runs lwIP until no packet is under
 * way on loopback. */
#include "net_internal.h"
#include "vfs.h"
#include "lwip/init.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/netif.h"

#define TICK (TCP_TMR_INTERVAL * 1000000ULL)

static struct {
	struct net_socket *sockets[NET_SOCKETS + 1];
	struct link changed;
	bool ticks;
} net;

int32_t errno_of(err_t error)
{
	switch (error) {
	case ERR_OK:
		return 0;
	case ERR_MEM:
	case ERR_BUF:
		return ENOBUFS;
	case ERR_USE:
		return EADDRINUSE;
	case ERR_RTE:
		return ENETUNREACH;
	case ERR_ISCONN:
		return EISCONN;
	case ERR_CONN:
	case ERR_CLSD:
		return ENOTCONN;
	case ERR_TIMEOUT:
		return ETIMEDOUT;
	case ERR_RST:
	case ERR_ABRT:
		return ECONNRESET;
	default:
		return EINVAL;
	}
}

int64_t error_take(struct net_socket *s)
{
	int64_t error = s->error;

	s->error = 0;
	return -error;
}

int64_t bytes_out(struct grant to, const struct pbuf *p, uint64_t n)
{
	for (uint64_t at = 0; at < n; p = p->next) {
		uint64_t part = MIN(n - at, (uint64_t)p->len);

		if (copy_out(to, at, p->payload, part) != 0)
			return -EFAULT;
		at += part;
	}
	return 0;
}

void net_start(void)
{
	list_start(&net.changed);
	lwip_init();
}

void socket_changed(struct net_socket *s)
{
	if (s->changed.next == NULL)
		list_add(&net.changed, &s->changed);
}

struct net_socket *socket_new(uint32_t type)
{
	uint32_t number = 1;
	struct net_socket *s;

	while (number <= NET_SOCKETS && net.sockets[number] != NULL)
		number++;
	s = number <= NET_SOCKETS ? heap_take(sizeof *s) : NULL;
	if (s == NULL)
		return NULL;
	*s = (struct net_socket){ .number = number, .type = type };
	net.sockets[number] = s;
	return s;
}

static void socket_free(struct net_socket *s)
{
	if (s->changed.next != NULL)
		list_remove(&s->changed);
	net.sockets[s->number] = NULL;
	heap_free(s, sizeof *s);
}

static int64_t socket_of(uint32_t number, struct net_socket **out)
{
	*out = number <= NET_SOCKETS ? net.sockets[number] : NULL;
	return *out == NULL ? -EBADF : 0;
}

/* lwIP calls this when a connection needs its timer. */
void tcp_timer_needed(void)
{
	if (net.ticks)
		return;
	net.ticks = true;
	alarm_at(ENDPOINT_NET, now() + TICK);
}

/* Delivers all packets, also those that they cause. */
static void run(void)
{
	netif_poll_all();
	streams_forget();
}

int64_t net_changed(uint32_t *out_changed)
{
	struct net_socket *s;

	*out_changed = 0;
	if (list_is_empty(&net.changed))
		return 0;
	s = CONTAINER(net.changed.next, struct net_socket, changed);
	list_remove(&s->changed);
	*out_changed = s->number | (list_is_empty(&net.changed) ? 0 : NET_MORE);
	return 0;
}

static int64_t answer_of(int64_t result, uint32_t *out_changed)
{
	run();
	(void)net_changed(out_changed);
	return result;
}

void net_notified(uint64_t bits)
{
	if ((bits >> NOTIFY_ALARM & 1) == 0)
		return;
	net.ticks = false;
	tcp_tmr();
	run();
	if (tcp_active_pcbs != NULL)
		tcp_timer_needed();
	if (!list_is_empty(&net.changed))
		notify(ENDPOINT_VFS, VFS_NET);
}

int64_t net_open(uint32_t type, uint32_t *out_socket)
{
	struct net_socket *s = socket_new(type);

	if (s == NULL)
		return -ENOBUFS;
	if ((type == SOCK_STREAM ? stream_open(s) : datagram_open(s)) != ERR_OK) {
		socket_free(s);
		return -ENOBUFS;
	}
	*out_socket = s->number;
	return 0;
}

static void socket_end(struct net_socket *s, bool hard)
{
	if (s->listens)
		LIST_EACH (struct net_socket, waiting, &s->pending, pending) {
			list_remove(&waiting->pending);
			if (waiting->tcp != NULL)
				tcp_backlog_accepted(waiting->tcp);
			stream_close(waiting, true);
			socket_free(waiting);
		}
	if (s->type == SOCK_STREAM)
		stream_close(s, hard);
	else
		datagram_close(s);
	socket_free(s);
}

int64_t net_close(uint32_t socket, uint32_t hard, uint32_t *out_changed)
{
	struct net_socket *s;

	*out_changed = 0;
	TRY(socket_of(socket, &s));
	socket_end(s, hard != 0);
	return answer_of(0, out_changed);
}

/* The machine has one address. `to` becomes the address for lwIP. */
static int64_t address_take(struct endpoint *from, ip_addr_t *to)
{
	if (from->address == INADDR_ANY)
		from->address = INADDR_LOOPBACK;
	ip4_addr_set_u32(to, lwip_htonl(from->address));
	return from->address == INADDR_LOOPBACK ? 0 : -ENETUNREACH;
}

int64_t net_bind(uint32_t socket, uint32_t address, uint32_t port)
{
	ip_addr_t at = IPADDR4_INIT(lwip_htonl(address));
	struct net_socket *s;
	err_t error;

	TRY(socket_of(socket, &s));
	if (address != INADDR_ANY && address != INADDR_LOOPBACK)
		return -EADDRNOTAVAIL;
	if (s->own.port != 0 || (s->type == SOCK_STREAM && s->tcp == NULL))
		return -EINVAL;
	error = s->type == SOCK_STREAM ? tcp_bind(s->tcp, &at, (uint16_t)port) : udp_bind(s->udp, &at, (uint16_t)port);
	if (error != ERR_OK)
		return error == ERR_BUF ? -EADDRINUSE : -errno_of(error);
	s->own = (struct endpoint){ address, s->type == SOCK_STREAM ? s->tcp->local_port : s->udp->local_port };
	return 0;
}

int64_t net_listen(uint32_t socket, uint32_t backlog)
{
	struct net_socket *s;

	TRY(socket_of(socket, &s));
	return s->type == SOCK_STREAM ? stream_listen(s, backlog) : -EOPNOTSUPP;
}

int64_t net_connect(uint32_t socket, uint32_t address, uint32_t port, uint32_t *out_changed)
{
	struct endpoint peer = { address, port };
	struct net_socket *s;
	int64_t result;
	ip_addr_t to;

	*out_changed = 0;
	TRY(socket_of(socket, &s));
	TRY(address_take(&peer, &to));
	if (s->type != SOCK_STREAM) {
		s->peer = peer;
		return datagram_connect(s, &to);
	}
	result = stream_connect(s, &to, peer);
	if (result != -EWAIT)
		return result;
	run();
	if (s->connected)
		result = 0;
	else if (s->error != 0)
		result = error_take(s);
	(void)net_changed(out_changed);
	return result;
}

int64_t net_accept(uint32_t socket, uint32_t *out_end)
{
	struct net_socket *s, *end;

	TRY(socket_of(socket, &s));
	if (!s->listens)
		return -EINVAL;
	if (list_is_empty(&s->pending))
		return -EWAIT;
	end = CONTAINER(s->pending.next, struct net_socket, pending);
	list_remove(&end->pending);
	if (end->tcp != NULL)
		tcp_backlog_accepted(end->tcp);
	*out_end = end->number;
	return 0;
}

int64_t net_send(uint32_t socket, struct grant from, uint32_t address, uint32_t port, uint32_t *out_changed)
{
	struct endpoint peer = { address, port };
	uint64_t taken = datagrams_taken;
	struct net_socket *s;
	int64_t result;
	ip_addr_t to;

	*out_changed = 0;
	TRY(socket_of(socket, &s));
	if (s->type == SOCK_STREAM)
		return answer_of(stream_send(s, from), out_changed);
	TRY(address_take(&peer, &to));
	result = datagram_send(s, from, &to, port);
	run();
	/* No socket took the datagram. The next call of a connected sender reports that. */
	if (result >= 0 && taken == datagrams_taken && s->connected)
		s->error = ECONNREFUSED;
	(void)net_changed(out_changed);
	return result;
}

int64_t net_receive(uint32_t socket, struct grant to, uint32_t peek, uint32_t *out_address, uint32_t *out_port,
		    uint32_t *out_changed)
{
	struct endpoint from = { 0, 0 };
	struct net_socket *s;
	int64_t result;

	*out_address = *out_port = *out_changed = 0;
	TRY(socket_of(socket, &s));
	if (s->type == SOCK_STREAM)
		return answer_of(stream_receive(s, to, peek != 0), out_changed);
	result = datagram_receive(s, to, peek != 0, &from);
	*out_address = from.address;
	*out_port = from.port;
	return result;
}

int64_t net_shutdown(uint32_t socket, uint32_t *out_changed)
{
	struct net_socket *s;

	*out_changed = 0;
	TRY(socket_of(socket, &s));
	if (s->type == SOCK_STREAM)
		return answer_of(stream_shut(s), out_changed);
	s->shut = s->connected;
	return s->connected ? 0 : -ENOTCONN;
}

int64_t net_name(uint32_t socket, uint32_t peer, uint32_t *out_address, uint32_t *out_port)
{
	struct net_socket *s;
	struct endpoint e;

	*out_address = *out_port = 0;
	TRY(socket_of(socket, &s));
	if (peer && !s->connected)
		return -ENOTCONN;
	e = peer ? s->peer : s->own;
	*out_address = e.address;
	*out_port = e.port;
	return 0;
}

int64_t net_state(uint32_t socket, uint32_t *out_ready, uint32_t *out_bytes)
{
	struct net_socket *s;
	uint32_t ready;

	*out_ready = *out_bytes = 0;
	TRY(socket_of(socket, &s));
	ready = s->error != 0 ? NET_ERROR : 0;
	if (s->listens) {
		ready |= list_is_empty(&s->pending) ? 0 : NET_IN;
	} else if (s->type == SOCK_STREAM) {
		*out_bytes = s->queued;
		ready |= s->queued > 0 ? NET_IN : 0;
		ready |= s->ended ? NET_END : 0;
		if (s->connected)
			ready |= s->shut || tcp_sndbuf(s->tcp) >= TCP_SND_BUF / 2 ? NET_OUT : 0;
		ready |= !s->connected && !s->connecting ? NET_OUT | NET_APART : 0;
		ready |= s->shut ? NET_SHUT : 0;
	} else {
		ready |= NET_OUT;
		if (!list_is_empty(&s->datagrams)) {
			*out_bytes = CONTAINER(s->datagrams.next, struct datagram, link)->bytes->tot_len;
			ready |= NET_IN;
		}
	}
	*out_ready = ready;
	return 0;
}

int64_t net_error(uint32_t socket)
{
	struct net_socket *s;

	TRY(socket_of(socket, &s));
	return -error_take(s);
}

int64_t net_reuse(uint32_t socket, uint32_t on)
{
	struct net_socket *s;

	TRY(socket_of(socket, &s));
	if (s->type == SOCK_STREAM && s->tcp != NULL && on)
		ip_set_option(s->tcp, SOF_REUSEADDR);
	else if (s->type == SOCK_STREAM && s->tcp != NULL)
		ip_reset_option(s->tcp, SOF_REUSEADDR);
	else if (s->udp != NULL && on)
		ip_set_option(s->udp, SOF_REUSEADDR);
	else if (s->udp != NULL)
		ip_reset_option(s->udp, SOF_REUSEADDR);
	return 0;
}

const struct net_service net_service = NET_HANDLERS;
