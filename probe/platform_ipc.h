/* platform_ipc.h: communication between processes where systems differ. A missing part fails with ENOSYS. For km.h. */
#ifndef KM_PLATFORM_IPC_H
#define KM_PLATFORM_IPC_H

#include "platform.h"

/* Sockets on this host alone, closed on exec. Each: 0, or -1 with errno. */
int km_socket_unix(int end[2]);                /* a connected pair of streams */
int km_socket_tcp(int end[2]);                 /* the same over loopback, with TCP_NODELAY on both */
int km_socket_udp(int end[2]);                 /* two datagram sockets of loopback, each connected to the other */
int km_socket_listen(int *fd, unsigned *port); /* a TCP port of loopback, chosen by the kernel */
int km_socket_connect(int *fd, unsigned port); /* a new TCP connection to it */
int km_socket_accept(int fd);                  /* waits: the new descriptor, or -1 */
int km_socket_close_hard(int fd);              /* closes by a reset: no TIME_WAIT, the port is free at once */

/* System V message queues. Messages have 8 bytes; `type` is positive. */
int km_queue_new(void); /* an id, or -1 */
int km_queue_put(int id, long type, const void *word);
int km_queue_get(int id, long type, void *word); /* waits */
int km_queue_remove(int id);

/* POSIX message queues of one message of 8 bytes. Where a child does not have its parent's, km_mq_join opens them
 * there, by their names, which it removes; elsewhere km_mq_new removes the name before it returns. */
int km_mq_new(const char *name); /* a handle, valid in children too, or -1 */
int km_mq_join(void);            /* in the one child: 0, or -1 with errno */
int km_mq_put(int handle, const void *word);
int km_mq_get(int handle, void *word); /* waits */

/* Linux's epoll; each: -1 with errno. */
int km_epoll_new(void);               /* a set */
int km_epoll_add(int set, int fd);    /* 0: tells from now on when it can be read */
int km_epoll_remove(int set, int fd); /* 0 */
int km_epoll_wait(int set);           /* waits: a descriptor that can be read */

ssize_t km_sendfile(int to, int file, size_t n); /* from the file's beginning: bytes sent, or -1 */

int km_event_new(void); /* an eventfd, read and written by words; or -1 */

/* Memory that stays shared after fork, zeroed; NULL with errno (EOPNOTSUPP: not shared). Released by km_unmap. */
void *km_map_shared(size_t bytes);

/* Waits while *word is `seen`, until it is woken: 0, or -1 with errno (EAGAIN: it had changed before). */
int km_futex_wait(volatile uint32_t *word, uint32_t seen);
int km_futex_wake(volatile uint32_t *word); /* wakes one waiter: how many were woken, or -1 */

int km_yield(void); /* sched_yield */

#endif
