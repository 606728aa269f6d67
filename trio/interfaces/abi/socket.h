/* socket.h: Linux's numbers and structures of sockets, as on x86-64. */
#ifndef TRIO_ABI_SOCKET_H
/* The greatest length of an address: sizeof(struct sockaddr_storage). */
#define ADDRESS_MOST 128
#define TRIO_ABI_SOCKET_H

#include <stdint.h>

#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

/* In the host's byte order. */
#define INADDR_ANY 0U
#define INADDR_LOOPBACK 0x7f000001U
/* The most bytes of a datagram. */
#define UDP_MOST 65507

#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define SOCK_SEQPACKET 5
#define SOCK_TYPE_MASK 0xf
#define SOCK_CLOEXEC 02000000
#define SOCK_NONBLOCK 04000

/* An address: the family, then a path with or without NUL, or a NUL and the bytes of an abstract name. */
#define UNIX_PATH_MAX 108
struct linux_sockaddr_un {
	uint16_t family;
	char path[UNIX_PATH_MAX];
};

/* Port and address are in the network's byte order. */
struct linux_sockaddr_in {
	uint16_t family, port;
	uint32_t address;
	uint8_t zeros[8];
};

struct linux_iovec {
	uint64_t base, length;
};

struct linux_msghdr {
	uint64_t name;
	uint32_t name_length, padding;
	uint64_t vector, vector_count;
	uint64_t control, control_length;
	int32_t flags, padding_2;
};

/* Control data: a header, then the contents, each part aligned to 8 bytes. */
struct linux_cmsghdr {
	uint64_t length;
	int32_t level, type;
};
#define CMSG_ALIGN(n) (((n) + 7UL) & ~7UL)

#define SOL_SOCKET 1
#define SCM_RIGHTS 1
/* The most descriptors in one message. */
#define SCM_MAX_FD 253
/* The most bytes of all parts together: net.core.optmem_max. */
#define CONTROL_MOST 20480

struct linux_ucred {
	uint32_t pid, uid, gid;
};

/* ioctl's commands of a network device, and their argument. */
#define SIOCGIFFLAGS 0x8913
#define SIOCSIFFLAGS 0x8914
#define IFF_UP 0x1
#define IFF_LOOPBACK 0x8
#define IFF_RUNNING 0x40
struct linux_ifreq {
	char name[16];
	uint16_t flags, rest[11];
};

struct linux_linger {
	int32_t on, seconds;
};

#define MSG_PEEK 0x02
#define MSG_CTRUNC 0x08
#define MSG_TRUNC 0x20
#define MSG_DONTWAIT 0x40
#define MSG_EOR 0x80
#define MSG_WAITALL 0x100
#define MSG_NOSIGNAL 0x4000
#define MSG_CMSG_CLOEXEC 0x40000000

#define SHUT_RD 0
#define SHUT_WR 1
#define SHUT_RDWR 2

#define SOMAXCONN 4096

/* Options of SOL_SOCKET. */
#define SO_REUSEADDR 2
#define SO_TYPE 3
#define SO_ERROR 4
#define SO_SNDBUF 7
#define SO_RCVBUF 8
#define SO_BROADCAST 6
#define SO_KEEPALIVE 9
#define SO_LINGER 13
#define SO_RCVTIMEO 20
#define SO_SNDTIMEO 21
#define SO_ACCEPTCONN 30
#define SO_PROTOCOL 38
#define SO_DOMAIN 39
/* Of IPPROTO_TCP. */
#define TCP_NODELAY 1

/* How many sockets net has. */
#define NET_SOCKETS 1024
/* What net.state() and the `changed` of its calls tell: there is something to receive or accept; the peer sends no
 * more; there is room; it is not connected; this end sends no more; an error has to be told. */
#define NET_IN 1U
#define NET_END 2U
#define NET_OUT 4U
#define NET_APART 8U
#define NET_SHUT 16U
#define NET_ERROR 32U
#define NET_MORE (1U << 31)

#endif
