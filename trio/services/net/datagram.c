/* datagram.c: sockets of UDP. */
#include "net_internal.h"

uint64_t datagrams_taken;

static void received(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *address, uint16_t port)
{
	struct net_socket *s = arg;
	uint32_t weight = p->tot_len + (uint32_t)DATAGRAM_WEIGHT;
	struct datagram *d = NULL;

	datagrams_taken++;
	if (s->weight + weight <= DATAGRAMS_MOST)
		d = heap_take(sizeof *d);
	if (d == NULL) {
		pbuf_free(p);
		return;
	}
	*d = (struct datagram){ .bytes = p, .from = { lwip_ntohl(ip4_addr_get_u32(address)), port } };
	list_add(&s->datagrams, &d->link);
	s->weight += weight;
	socket_changed(s);
}

err_t datagram_open(struct net_socket *s)
{
	s->udp = udp_new();
	if (s->udp == NULL)
		return ERR_MEM;
	list_start(&s->datagrams);
	udp_recv(s->udp, received, s);
	return ERR_OK;
}

static void datagram_drop(struct net_socket *s, struct datagram *d)
{
	s->weight -= d->bytes->tot_len + (uint32_t)DATAGRAM_WEIGHT;
	list_remove(&d->link);
	pbuf_free(d->bytes);
	heap_free(d, sizeof *d);
}

void datagram_close(struct net_socket *s)
{
	LIST_EACH (struct datagram, d, &s->datagrams, link)
		datagram_drop(s, d);
	udp_remove(s->udp);
}

int64_t datagram_connect(struct net_socket *s, const ip_addr_t *to)
{
	err_t error;

	if (s->peer.port == 0) {
		udp_disconnect(s->udp);
		s->connected = false;
		return 0;
	}
	error = udp_connect(s->udp, to, (uint16_t)s->peer.port);
	if (error != ERR_OK)
		return -errno_of(error);
	s->own = (struct endpoint){ INADDR_LOOPBACK, s->udp->local_port };
	s->connected = true;
	return 0;
}

int64_t datagram_send(struct net_socket *s, struct grant from, const ip_addr_t *to, uint32_t port)
{
	struct pbuf *p;
	err_t error;

	TRY(error_take(s));
	if (s->shut)
		return -EPIPE;
	if (port == 0 && !s->connected)
		return -EDESTADDRREQ;
	if (from.length > UDP_MOST)
		return -EMSGSIZE;
	p = pbuf_alloc(PBUF_TRANSPORT, (uint16_t)from.length, PBUF_RAM);
	if (p == NULL)
		return -ENOBUFS;
	if (from.length > 0 && copy_in(p->payload, from, 0, from.length) != 0) {
		pbuf_free(p);
		return -EFAULT;
	}
	error = port != 0 ? udp_sendto(s->udp, p, to, (uint16_t)port) : udp_send(s->udp, p);
	pbuf_free(p);
	s->own.port = s->udp->local_port;
	return error == ERR_OK ? (int64_t)from.length : -errno_of(error);
}

int64_t datagram_receive(struct net_socket *s, struct grant to, bool peek, struct endpoint *from)
{
	struct datagram *d;
	uint64_t whole;

	if (list_is_empty(&s->datagrams)) {
		TRY(error_take(s));
		return -EWAIT;
	}
	d = CONTAINER(s->datagrams.next, struct datagram, link);
	whole = d->bytes->tot_len;
	TRY(bytes_out(to, d->bytes, MIN(to.length, whole)));
	*from = d->from;
	if (!peek)
		datagram_drop(s, d);
	return (int64_t)whole;
}
