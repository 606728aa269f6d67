/* lwipopts.h: lwIP's configuration: IPv4 over loopback, UDP and TCP, with its callback interface, without threads. */
#ifndef TRIO_NET_LWIPOPTS_H
#define TRIO_NET_LWIPOPTS_H

#include "lwip/init.h"
#include <stddef.h>

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
/* The service's alarm calls tcp_tmr(). */
#define LWIP_TIMERS 0
#define LWIP_STATS 0

/* memory.c */
void *net_allocate(size_t size);
void net_free(void *p);
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 16
/* lwIP never calls its calloc(). Up to 2.2.0 it only lets replace functions of a C library. */
#define NET_CALLOC(count, size) net_allocate((count) * (size))
#if LWIP_VERSION >= 0x02020100
#define MEM_CUSTOM_ALLOCATOR 1
#define MEM_CUSTOM_MALLOC net_allocate
#define MEM_CUSTOM_FREE net_free
#define MEM_CUSTOM_CALLOC NET_CALLOC
#else
#define MEM_LIBC_MALLOC 1
#define mem_clib_malloc net_allocate
#define mem_clib_free net_free
#define mem_clib_calloc NET_CALLOC
#endif

#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_ICMP 0
#define LWIP_RAW 0
#define LWIP_IPV6 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define PBUF_LINK_HLEN 0
#define LWIP_HAVE_LOOPIF 1
#define LWIP_NETIF_LOOPBACK 1
#define LWIP_LOOPBACK_MAX_PBUFS 0
/* Loopback damages nothing. */
#define CHECKSUM_GEN_IP 0
#define CHECKSUM_GEN_UDP 0
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_CHECK_IP 0
#define CHECKSUM_CHECK_UDP 0
#define CHECKSUM_CHECK_TCP 0

/* A segment and its headers fit into four pages; four segments fit into a window. */
#define TCP_MSS 16000
#define TCP_WND 64000
#define TCP_SND_BUF 64000
/* For lwIP's sockets, which are not used. With large segments lwIP requires a small value. */
#define TCP_SNDLOWAT 1000
/* Linux's first value, in milliseconds. */
#define LWIP_TCP_RTO_TIME 1000
/* Segments cannot overtake each other on loopback. */
#define TCP_QUEUE_OOSEQ 0
#define TCP_LISTEN_BACKLOG 1
#define SO_REUSE 1

#endif
