/* net_internal.h: a socket as this service knows it: lwIP's control block, what has come for it, what is to be told of
 * it. */
#ifndef TRIO_NET_INTERNAL_H
#define TRIO_NET_INTERNAL_H

#include "abi/socket.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"
#include "net_serve.h"

/* Bytes that wait for one who does not receive datagrams; each counts this much beside its own. */
#define DATAGRAMS_MOST 212992
#define DATAGRAM_WEIGHT 512

/* Both as the host has them; lwIP's `ip4_addr_t` is the network's. */
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
	/* NULL: never connected, or not any more. One of both, by the type. */
	struct tcp_pcb *tcp;
	struct udp_pcb *udp;
	struct endpoint own, peer;
	/* A stream's: bytes that came, and how many; how many more fit behind the last of them. */
	struct pbuf *first, *last;
	uint32_t queued, room;
	/* Datagrams, and their weight. */
	struct link datagrams;
	uint32_t weight;
	/* A listener's connections that wait to be accepted; or one's own place among them. */
	struct link pending;
	bool listens, connecting, connected;
	/* The peer sends no more; this end does not. */
	bool ended, shut;
	/* To be told once. */
	int32_t error;
	/* Among those that have changed. */
	struct link changed;
};

/* memory.c */
void memory_start(void);

/* main.c */
struct net_socket *socket_new(uint32_t type);
/* Who waits for it looks again. */
void socket_changed(struct net_socket *s);
int32_t errno_of(err_t error);
/* 0, or what is to be told once, which is then told: a negative errno. */
int64_t error_take(struct net_socket *s);
/* The first `n` bytes of a chain, or -EFAULT. */
int64_t bytes_out(struct grant to, const struct pbuf *p, uint64_t n);
/* Of a packet under way: somebody was there to take it. */
extern uint64_t datagrams_taken;

/* stream.c */
err_t stream_open(struct net_socket *s);
void stream_close(struct net_socket *s, bool hard);
int64_t stream_listen(struct net_socket *s, uint32_t backlog);
int64_t stream_connect(struct net_socket *s, const ip_addr_t *to, struct endpoint peer);
int64_t stream_send(struct net_socket *s, struct grant from);
int64_t stream_receive(struct net_socket *s, struct grant to, bool peek);
int64_t stream_shut(struct net_socket *s);
/* Nothing that was sent on loopback is still under way: a closed connection need not be remembered. */
void streams_forget(void);

/* datagram.c */
err_t datagram_open(struct net_socket *s);
void datagram_close(struct net_socket *s);
int64_t datagram_connect(struct net_socket *s, const ip_addr_t *to);
int64_t datagram_send(struct net_socket *s, struct grant from, const ip_addr_t *to, uint32_t port);
int64_t datagram_receive(struct net_socket *s, struct grant to, bool peek, struct endpoint *from);

#endif
