/* socket.h: sockets. One of AF_UNIX receives bytes in its ring; its packets carry descriptors and delimit datagrams and
 * sequenced packets. Of one of AF_INET net keeps the data. */
#ifndef TRIO_VFS_SOCKET_H
#define TRIO_VFS_SOCKET_H

#include "abi/poll.h"
#include "abi/socket.h"
#include "files/files.h"
#include "pipes/ring.h"

/* The size that Linux reports. A stream's ring has RING_PAGES; others grow up to this size. */
#define SOCKET_BUFFER 212992
/* What a packet counts beside its bytes, so that empty ones fill a queue too. */
#define PACKET_WEIGHT 512

/* Bits of `shut`. */
#define SHUT_RECEIVE 1
#define SHUT_SEND 2

/* `length` is what programs see: family and path; 0: no address. */
struct address {
	uint32_t length;
	char path[UNIX_PATH_MAX];
};

/* Describes the bytes from `first` to before `end`, counted from the first byte received: one message or, in a stream,
 * bytes that were sent with descriptors. */
struct packet {
	struct link link;
	uint64_t first, end;
	struct address from;
	/* Files in flight (file_depart()) and their sender. A packet with files is in io.rights and, when it is to be
	 * ended, in io.lost; `left` files are then still to be dropped. */
	struct link rights;
	struct packet *next;
	uint32_t user, count, left;
	struct file *files[];
};

/* A socket is held by its file, by its peer, and by the listener that it waits in. */
struct socket {
	struct unnamed is;
	uint32_t references;
	uint32_t type, family, protocol;
	/* Whether it is a listener. */
	uint32_t listens;
	uint32_t shut;
	/* An error to report once (ECONNRESET). */
	int32_t error;
	/* The other end, even after it was closed; for datagrams the receiver. */
	struct socket *peer;
	bool closed;
	/* Where it is bound: a node (held), or a link in the list of abstract names. */
	struct node *node;
	struct link named;
	struct address name;
	/* Received bytes, their number since the beginning, and their packets. */
	struct ring ring;
	uint64_t written;
	struct link packets;
	uint32_t packet_count;
	/* Requests wait here to receive or accept while it is empty, and to send here or connect while it is full. */
	struct watch watch;
	/* A listener's connections that wait to be accepted, or this socket's link in that list. */
	struct link pending;
	uint32_t pending_count, backlog;
	/* Options as programs see them; times are in nanoseconds, 0: no limit. */
	uint32_t send_buffer, receive_buffer;
	nanoseconds receive_time, send_time;
	uint32_t reuse_address, keep_alive, broadcast, no_delay;
	struct linux_linger linger;
	/* The socket's file (NULL before accept), the number of packets that name it, the link in io.sockets. */
	struct file *file;
	uint32_t in_flight;
	struct link all;
	/* AF_INET: net's number of the socket; of an accepted connection without a descriptor; 0: none. */
	uint32_t net, kept;
	/* For collections in rights.c: it was marked; the next one to visit. */
	bool reached;
	struct socket *next_reached;
};

static inline uint32_t packets_weight(const struct socket *s)
{
	return s->ring.used + s->packet_count * PACKET_WEIGHT;
}

/* All calls that answer an address answer its length first. */
#define ADDRESS_LENGTH OUT_VFS_ACCEPT_LENGTH
_Static_assert(ADDRESS_LENGTH == OUT_VFS_RECEIVE_LENGTH && ADDRESS_LENGTH == OUT_VFS_SOCKET_NAME_LENGTH, "one place");

/* The arguments of a send or receive. */
struct message {
	struct grant data, address, control;
	uint32_t flags;
};

extern struct io_state {
	/* Sockets with abstract names; sockets with a file; all epolls; packets with descriptors. */
	struct link names, sockets, epolls, rights;
	/* AF_INET sockets by net's number. */
	struct socket *inet[NET_SOCKETS + 1];
	/* Packets to be ended, whether rights_settle() runs or will run, and how much more it may do. */
	struct packet *lost;
	bool settling;
	int32_t left;
	/* The alarm is set. */
	bool waits;
	/* How often since the last collection a socket may have been lost; how many sockets and descriptors that
	 * collection kept; sockets that are marked and not yet visited. */
	uint64_t doubts, kept;
	struct socket *reached;
} io;

/* socket.c: io_start() is called at the service's start. */
void io_start(void);
extern const struct file_operations socket_files;
/* Returns NULL if memory is short even after lost sockets were ended. */
struct socket *socket_make(uint32_t task, uint32_t type);
static inline struct socket *socket_hold(struct socket *s)
{
	s->references++;
	return s;
}
static inline void socket_drop(struct socket *s)
{
	if (--s->references == 0)
		heap_free(s, sizeof *s);
}
/* Declares a variable whose socket, if not NULL, is dropped at the end of its scope. */
#define SOCKET_HELD __attribute__((cleanup(socket_leave)))
static inline void socket_leave(struct socket *const *s)
{
	if (*s != NULL)
		socket_drop(*s);
}
/* Makes the two each other's peers. */
void socket_join(struct socket *a, struct socket *b);
/* Makes a file at a descriptor for a socket; the file takes over the caller's hold, unless this fails. */
int64_t socket_place(uint32_t task, struct socket *s, uint32_t flags);
/* Waits for a change of `at` for at most `time` (0: no limit). Answers EAGAIN, or what was done, if the time is over or
 * the flags forbid waiting. */
verdict socket_wait(struct request *r, const struct socket *s, struct socket *at, nanoseconds time, uint32_t flags);
/* Nothing is there to receive: answers what was done before, an error or the end, or waits. */
verdict socket_empty(struct request *r, struct socket *s, const struct message *m);

/* address.c: finds and holds the socket bound to an address. Returns 0, -ECONNREFUSED and the like, or -EWAIT. */
int64_t address_find(uint32_t task, struct grant address, struct socket **out);
void address_release(struct socket *s);
/* Writes as much of the address as fits and answers its length. Returns 0 or -EFAULT. */
int64_t address_put(struct request *r, const struct address *a, struct grant to);

/* message.c */
verdict send_message(struct request *r, struct socket *s, const struct message *m);
verdict receive_message(struct request *r, struct socket *s, const struct message *m);

/* inet.c: the calls of the same names for AF_INET. */
extern const struct file_operations inet_files;
int64_t inet_socket(uint32_t task, uint32_t type, uint32_t protocol);
int64_t inet_bind(struct socket *s, struct grant from);
int64_t inet_listen(struct socket *s, int32_t backlog);
verdict inet_connect(struct request *r, struct socket *s, struct grant to);
verdict inet_accept(struct request *r, struct socket *s, struct grant address, uint32_t flags);
verdict inet_name(struct request *r, struct socket *s, uint32_t peer, struct grant to);
int64_t inet_shutdown(struct socket *s, uint32_t bits);
verdict inet_send(struct request *r, struct socket *s, const struct message *m);
verdict inet_receive(struct request *r, struct socket *s, const struct message *m);
/* Handles NOTIFIED_VFS_NET. */
void inet_notified(void);

/* rights.c: makes a packet with the descriptors in `control`. 0, -EBADF, -EINVAL, -EFAULT, -ENOBUFS, -ENOMEM,
 * -ETOOMANYREFS. */
int64_t packet_make(uint32_t task, struct grant control, struct packet **out);
/* Ends a packet that is in no list, and drops its files: as many as one call may, others soon after. */
void packet_end(struct packet *p);
/* Removes the packet from `s` and ends it. */
void packet_remove(struct socket *s, struct packet *p);
/* Gives the receiver a copy of each descriptor; sets the request's `control_length` and `flags`. */
void rights_put(struct request *r, const struct message *m, const struct packet *p);
/* Whether the task's user has more descriptors in flight than RLIMIT_NOFILE. */
bool rights_are_too_many(uint32_t task);
static inline struct socket *socket_in(const struct file *f)
{
	return f->operations == &socket_files ? f->state : NULL;
}
/* Ends lost packets, as many as one call may. */
void rights_settle(void);
/* Called when no descriptor refers to a file that epolls or packets name. Returns whether packets keep it. */
bool file_stays(struct file *f);
/* Ends lost sockets and returns whether there were any. `surely`: they must be found now, because files or memory ran
 * short; otherwise it only keeps them from growing in number. */
bool lost_recover(bool surely);
/* Handles NOTIFY_ALARM. */
void lost_alarm(void);

#endif
