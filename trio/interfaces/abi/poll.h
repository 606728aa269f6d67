/* poll.h: Linux's numbers and structures for waiting on several files at once, as on x86-64. */
#ifndef TRIO_ABI_POLL_H
#define TRIO_ABI_POLL_H

#include <stdint.h>

/* poll's events; epoll's lower bits are the same. */
#define POLLIN 0x001
#define POLLPRI 0x002
#define POLLOUT 0x004
#define POLLERR 0x008
#define POLLHUP 0x010
#define POLLNVAL 0x020
#define POLLRDNORM 0x040
#define POLLRDBAND 0x080
#define POLLWRNORM 0x100
#define POLLWRBAND 0x200
#define POLLRDHUP 0x2000

struct linux_pollfd {
	int32_t fd;
	int16_t events, revents;
};

#define EPOLL_CLOEXEC 02000000
#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3
#define EPOLLEXCLUSIVE (1U << 28)
#define EPOLLWAKEUP (1U << 29)
#define EPOLLONESHOT (1U << 30)
#define EPOLLET (1U << 31)

struct linux_epoll_event {
	uint32_t events;
	uint64_t data;
} __attribute__((packed));

#define EFD_SEMAPHORE 1
#define EFD_CLOEXEC 02000000
#define EFD_NONBLOCK 04000

/* Bytes of a set of descriptors for select, in whole words. Descriptors beyond the largest count are ignored. */
#define FD_SET_BYTES(count) (((uint64_t)MIN((uint32_t)(count), 65536U) + 63) / 64 * 8)

#endif
