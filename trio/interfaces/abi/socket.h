/* socket.h: Linux's numbers and structures of sockets, as on x86-64. */
#ifndef TRIO_ABI_SOCKET_H
/* The most that an address may be long: sizeof(struct sockaddr_storage). */
#define ADDRESS_MOST 128
#define TRIO_ABI_SOCKET_H

#include <stdint.h>

#define AF_UNSPEC 0
#define AF_UNIX 1

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

/* What goes beside the data: a header, then the contents, each such part aligned to 8 bytes. */
struct linux_cmsghdr {
	uint64_t length;
	int32_t level, type;
};
#define CMSG_ALIGN(n) (((n) + 7UL) & ~7UL)

#define SOL_SOCKET 1
#define SCM_RIGHTS 1
/* Descriptors in one message. */
#define SCM_MAX_FD 253
/* Of all parts together: net.core.optmem_max. */
#define CONTROL_MOST 20480

struct linux_ucred {
	uint32_t pid, uid, gid;
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
#define SO_KEEPALIVE 9
#define SO_RCVTIMEO 20
#define SO_SNDTIMEO 21
#define SO_ACCEPTCONN 30
#define SO_PROTOCOL 38
#define SO_DOMAIN 39

#endif
