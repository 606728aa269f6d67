/* net_internal.h: a socket of this service: lwIP's control block, received data, and its state. */
#ifndef TRIO_NET_INTERNAL_H
#define TRIO_NET_INTERNAL_H

#include "abi/socket.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"
#include "net_serve.h"

/* The limit for a socket's received datagrams in bytes; each counts this much more than its own. */
#define DATAGRAMS_MOST 212992
#define DATAGRAM_WEIGHT 512

/* In host byte order; lwIP's `ip4_addr_t` is in network byte order. */
struct endpoint {
	uint32_t address, port;
};

struct datagram {
	struct link link;
	struct pbuf *bytes;
	struct endpoint from;
};

struct net_socket {
	uint32_t number, type;
	/* One of both, by the type. NULL: not connected yet, or no more. */
	struct tcp_pcb *tcp;
	struct udp_pcb *udp;
	struct endpoint own, peer;
	/* A stream's received bytes, their number, and how many more fit behind the last ones. */
	struct pbuf *first, *last;
	uint32_t queued, room;
	/* Received datagrams and their weight. */
	struct link datagrams;
	uint32_t weight;
	/* A listener's connections that wait to be accepted, or this socket's link in that list. */
	struct link pending;
	bool listens, connecting, connected;
	/* The peer's stream has ended; this end's has. */
	bool ended, shut;
	/* An error to report once. */
	int32_t error;
	/* The link in the list of changed sockets. */
	struct link changed;
};

/* main.c */
struct net_socket *socket_new(uint32_t type);
/* Notes the change for those who wait. */
void socket_changed(struct net_socket *s);
int32_t errno_of(err_t error);
/* Returns and clears the error to report: 0 or a negative errno. */
int64_t error_take(struct net_socket *s);
/* Copies the first `n` bytes of a chain. Returns 0 or -EFAULT. */
int64_t bytes_out(struct grant to, const struct pbuf *p, uint64_t n);
/* Counts datagrams that found a socket. */
extern uint64_t datagrams_taken;

/* stream.c */
err_t stream_open(struct net_socket *s);
void stream_close(struct net_socket *s, bool hard);
int64_t stream_listen(struct net_socket *s, uint32_t backlog);
int64_t stream_connect(struct net_socket *s, const ip_addr_t *to, struct endpoint peer);
int64_t stream_send(struct net_socket *s, struct grant from);
int64_t stream_receive(struct net_socket *s, struct grant to, bool peek);
int64_t stream_shut(struct net_socket *s);
/* To be called when nothing is under way on loopback: closed connections need not linger. */
void streams_forget(void);

/* datagram.c */
err_t datagram_open(struct net_socket *s);
void datagram_close(struct net_socket *s);
int64_t datagram_connect(struct net_socket *s, const ip_addr_t *to);
int64_t datagram_send(struct net_socket *s, struct grant from, const ip_addr_t *to, uint32_t port);
int64_t datagram_receive(struct net_socket *s, struct grant to, bool peek, struct endpoint *from);

#endif
