/* platform_ipc.c: what differs between platforms in sockets, queues, futexes and shared memory. */
#include "platform_ipc.h"

#if HAVE_UNIX_SOCKETS || HAVE_INET_SOCKETS
#include <sys/socket.h>
#endif
#if HAVE_INET_SOCKETS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#endif
#if HAVE_SYSV_MSG
#include <sys/ipc.h>
#include <sys/msg.h>
#endif
#if HAVE_POSIX_MQ
#include <mqueue.h>
#endif
#if HAVE_EPOLL
#include <sys/epoll.h>
#endif
#if HAVE_SENDFILE
#include <sys/sendfile.h>
#endif
#if HAVE_EVENTFD
#include <sys/eventfd.h>
#endif
#if HAVE_SCHED_YIELD
#include <sched.h>
#endif

#if HAVE_UNIX_SOCKETS || HAVE_INET_SOCKETS

static void ipc_close(int *fd)
{
	int error = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = error;
}

/* 0; or -1 with errno, both closed. */
static int ipc_both(int end[2], int result)
{
	if (result == 0 && fcntl(end[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(end[1], F_SETFD, FD_CLOEXEC) == 0)
		return 0;
	ipc_close(&end[0]);
	ipc_close(&end[1]);
	return -1;
}

#endif

#if HAVE_UNIX_SOCKETS
int km_socket_unix(int end[2])
{
	end[0] = end[1] = -1;
	return ipc_both(end, socketpair(AF_UNIX, SOCK_STREAM, 0, end));
}
#else
KM_LACKS(int, km_socket_unix, (int end[2] KM_UNUSED), -1)
#endif

#if HAVE_INET_SOCKETS

static void ipc_loopback(struct sockaddr_in *at, unsigned port)
{
	memset(at, 0, sizeof *at);
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at->sin_port = htons((uint16_t)port);
}

/* A loopback socket at a port of the kernel's choice: its descriptor, or -1. */
static int ipc_bound(int type, unsigned *port)
{
	struct sockaddr_in at;
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, type, 0);

	ipc_loopback(&at, 0);
	if (fd >= 0 && (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
			getsockname(fd, (struct sockaddr *)&at, &size) != 0))
		ipc_close(&fd);
	*port = fd < 0 ? 0 : ntohs(at.sin_port);
	return fd;
}

static int ipc_connect(int fd, unsigned port)
{
	struct sockaddr_in at;

	ipc_loopback(&at, port);
	return connect(fd, (struct sockaddr *)&at, sizeof at);
}

int km_socket_listen(int *fd, unsigned *port)
{
	*fd = ipc_bound(SOCK_STREAM, port);
	if (*fd >= 0 && listen(*fd, 16) != 0)
		ipc_close(fd);
	return *fd < 0 ? -1 : 0;
}

int km_socket_connect(int *fd, unsigned port)
{
	*fd = socket(AF_INET, SOCK_STREAM, 0);
	if (*fd >= 0 && ipc_connect(*fd, port) != 0)
		ipc_close(fd);
	return *fd < 0 ? -1 : 0;
}

int km_socket_accept(int fd)
{
	return accept(fd, NULL, NULL);
}

int km_socket_close_hard(int fd)
{
	struct linger at_once = { 1, 0 };
	int set = setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);

	return close(fd) == 0 && set == 0 ? 0 : -1;
}

/* The connection exists before anybody accepts it: one process has both ends. */
int km_socket_tcp(int end[2])
{
	unsigned port;
	int one = 1, result = -1, listener;

	end[0] = end[1] = -1;
	if (km_socket_listen(&listener, &port) == 0 && km_socket_connect(&end[0], port) == 0) {
		end[1] = accept(listener, NULL, NULL);
		if (end[1] >= 0 && setsockopt(end[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
		    setsockopt(end[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0)
			result = 0;
	}
	ipc_close(&listener);
	return ipc_both(end, result);
}

int km_socket_udp(int end[2])
{
	unsigned port[2] = { 0, 0 };
	int result = -1;

	end[1] = -1;
	end[0] = ipc_bound(SOCK_DGRAM, &port[0]);
	if (end[0] >= 0)
		end[1] = ipc_bound(SOCK_DGRAM, &port[1]);
	if (end[1] >= 0 && ipc_connect(end[0], port[1]) == 0 && ipc_connect(end[1], port[0]) == 0)
		result = 0;
	return ipc_both(end, result);
}

#else

KM_LACKS(int, km_socket_listen, (int *fd KM_UNUSED, unsigned *port KM_UNUSED), -1)
KM_LACKS(int, km_socket_connect, (int *fd KM_UNUSED, unsigned port KM_UNUSED), -1)
KM_LACKS(int, km_socket_accept, (int fd KM_UNUSED), -1)
KM_LACKS(int, km_socket_close_hard, (int fd KM_UNUSED), -1)
KM_LACKS(int, km_socket_tcp, (int end[2] KM_UNUSED), -1)
KM_LACKS(int, km_socket_udp, (int end[2] KM_UNUSED), -1)

#endif

#if HAVE_SYSV_MSG

struct ipc_message {
	long type;
	char word[8];
};

int km_queue_new(void)
{
	return msgget(IPC_PRIVATE, IPC_CREAT | 0600);
}

int km_queue_put(int id, long type, const void *word)
{
	struct ipc_message m;

	m.type = type;
	memcpy(m.word, word, sizeof m.word);
	return msgsnd(id, &m, sizeof m.word, 0);
}

int km_queue_get(int id, long type, void *word)
{
	struct ipc_message m;
	ssize_t got = msgrcv(id, &m, sizeof m.word, type, 0);

	if (got < 0)
		return -1;
	if (got != (ssize_t)sizeof m.word) {
		errno = EIO;
		return -1;
	}
	memcpy(word, m.word, sizeof m.word);
	return 0;
}

int km_queue_remove(int id)
{
	return msgctl(id, IPC_RMID, NULL);
}

#else

KM_LACKS(int, km_queue_new, (void), -1)
KM_LACKS(int, km_queue_put, (int id KM_UNUSED, long type KM_UNUSED, const void *word KM_UNUSED), -1)
KM_LACKS(int, km_queue_get, (int id KM_UNUSED, long type KM_UNUSED, void *word KM_UNUSED), -1)
KM_LACKS(int, km_queue_remove, (int id KM_UNUSED), -1)

#endif

#if HAVE_POSIX_MQ

/* mqd_t is a number here and a pointer there; a handle is an index of this table. */
static mqd_t ipc_queues[8];
static int ipc_nqueues;

#if HAVE_MQ_FORK
static int ipc_mq_unname(const char *name)
{
	return mq_unlink(name);
}

int km_mq_join(void)
{
	return 0;
}
#else
static char ipc_names[sizeof ipc_queues / sizeof ipc_queues[0]][64];

/* The name stays until the child has opened the queue by it. */
static int ipc_mq_unname(const char *name)
{
	strcpy(ipc_names[ipc_nqueues], name);
	return 0;
}

int km_mq_join(void)
{
	int failed = 0;

	for (int i = 0; i < ipc_nqueues; i++) {
		ipc_queues[i] = mq_open(ipc_names[i], O_RDWR);
		failed |= ipc_queues[i] == (mqd_t)-1 || mq_unlink(ipc_names[i]) != 0;
	}
	return failed ? -1 : 0;
}
#endif

int km_mq_new(const char *name)
{
	struct mq_attr attributes;
	mqd_t queue;

	if (ipc_nqueues == (int)(sizeof ipc_queues / sizeof ipc_queues[0])) {
		errno = EMFILE;
		return -1;
	}
	memset(&attributes, 0, sizeof attributes);
	attributes.mq_maxmsg = 1;
	attributes.mq_msgsize = 8;
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
	if (queue == (mqd_t)-1)
		return -1;
	ipc_queues[ipc_nqueues] = queue;
	if (ipc_mq_unname(name) != 0)
		return -1;
	return ipc_nqueues++;
}

int km_mq_put(int handle, const void *word)
{
	return mq_send(ipc_queues[handle], word, 8, 0);
}

int km_mq_get(int handle, void *word)
{
	ssize_t got = mq_receive(ipc_queues[handle], word, 8, NULL);

	if (got >= 0 && got != 8)
		errno = EIO;
	return got == 8 ? 0 : -1;
}

#else

int km_mq_join(void)
{
	return 0;
}

KM_LACKS(int, km_mq_new, (const char *name KM_UNUSED), -1)
KM_LACKS(int, km_mq_put, (int handle KM_UNUSED, const void *word KM_UNUSED), -1)
KM_LACKS(int, km_mq_get, (int handle KM_UNUSED, void *word KM_UNUSED), -1)

#endif

#if HAVE_EPOLL

int km_epoll_new(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

int km_epoll_add(int set, int fd)
{
	struct epoll_event event;

	memset(&event, 0, sizeof event);
	event.events = EPOLLIN;
	event.data.fd = fd;
	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

int km_epoll_remove(int set, int fd)
{
	struct epoll_event event; /* not used, but before Linux 2.6.9 it must be there */

	return epoll_ctl(set, EPOLL_CTL_DEL, fd, &event);
}

int km_epoll_wait(int set)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, -1) == 1 ? event.data.fd : -1;
}

#else

KM_LACKS(int, km_epoll_new, (void), -1)
KM_LACKS(int, km_epoll_add, (int set KM_UNUSED, int fd KM_UNUSED), -1)
KM_LACKS(int, km_epoll_remove, (int set KM_UNUSED, int fd KM_UNUSED), -1)
KM_LACKS(int, km_epoll_wait, (int set KM_UNUSED), -1)

#endif

#if HAVE_SENDFILE
ssize_t km_sendfile(int to, int file, size_t n)
{
	off_t from = 0;

	return sendfile(to, file, &from, n);
}
#else
KM_LACKS(ssize_t, km_sendfile, (int to KM_UNUSED, int file KM_UNUSED, size_t n KM_UNUSED), -1)
#endif

#if HAVE_EVENTFD
int km_event_new(void)
{
	return eventfd(0, EFD_CLOEXEC);
}
#else
KM_LACKS(int, km_event_new, (void), -1)
#endif

#if HAVE_SHARED_MAP && !defined(MAP_ANONYMOUS) && defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#endif

#if HAVE_SHARED_MAP && HAVE_MMAP && defined(MAP_ANONYMOUS)
/* Does a child's store reach us? On some systems the mapping succeeds, and each process has its own. */
static int ipc_is_shared(volatile char *at)
{
	pid_t child = fork(), got;

	if (child == 0) {
		*at = 1;
		_exit(0);
	}
	do
		got = child < 0 ? child : waitpid(child, NULL, 0);
	while (got < 0 && child > 0 && errno == EINTR);
	if (got < 0)
		return -1;
	if (*at != 1) {
		errno = EOPNOTSUPP;
		return 0;
	}
	*at = 0;
	return 1;
}

void *km_map_shared(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, KM_SHARED_ANONYMOUS | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (ipc_is_shared(at) != 1) {
		int error = errno;

		munmap(at, bytes);
		errno = error;
		return NULL;
	}
	return at;
}
#else
KM_LACKS(void *, km_map_shared, (size_t bytes KM_UNUSED), NULL)
#endif

#if HAVE_FUTEX && KM_FUTEX_CALL
#include <sys/futex.h>
#endif
#if HAVE_FUTEX && !defined(SYS_futex) && defined(SYS_futex_time64) /* without a time limit they are the same */
#define SYS_futex SYS_futex_time64
#endif
enum { IPC_FUTEX_WAIT = 0, IPC_FUTEX_WAKE = 1 };

#if HAVE_FUTEX && KM_FUTEX_CALL
int km_futex_wait(volatile uint32_t *word, uint32_t seen)
{
	return futex(word, FUTEX_WAIT, (int)seen, NULL, NULL);
}
#elif HAVE_FUTEX && HAVE_SYSCALL
int km_futex_wait(volatile uint32_t *word, uint32_t seen)
{
	return (int)syscall(SYS_futex, word, IPC_FUTEX_WAIT, seen, NULL, NULL, 0);
}
#else
KM_LACKS(int, km_futex_wait, (volatile uint32_t *word KM_UNUSED, uint32_t seen KM_UNUSED), -1)
#endif

#if HAVE_FUTEX && KM_FUTEX_CALL
int km_futex_wake(volatile uint32_t *word)
{
	return futex(word, FUTEX_WAKE, 1, NULL, NULL);
}
#elif HAVE_FUTEX && HAVE_SYSCALL
int km_futex_wake(volatile uint32_t *word)
{
	return (int)syscall(SYS_futex, word, IPC_FUTEX_WAKE, 1, NULL, NULL, 0);
}
#else
KM_LACKS(int, km_futex_wake, (volatile uint32_t *word KM_UNUSED), -1)
#endif

#if HAVE_SCHED_YIELD
int km_yield(void)
{
	return sched_yield();
}
#else
KM_LACKS(int, km_yield, (void), -1)
#endif
