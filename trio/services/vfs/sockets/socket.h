/* socket.h: a socket of AF_UNIX: data that one end sends lie in the other's ring; what goes beside them, and where a
 * datagram or a sequenced packet begins and ends, in its list of packets. Or of AF_INET, whose data are net's. */
#ifndef TRIO_VFS_SOCKET_H
#define TRIO_VFS_SOCKET_H

#include "abi/poll.h"
#include "abi/socket.h"
#include "files/files.h"
#include "pipes/ring.h"

/* As Linux reports them; a stream's ring holds RING_PAGES, others grow up to what stands here. */
#define SOCKET_BUFFER 212992
/* A packet counts this much beside its bytes, so that empty ones fill a queue too. */
#define PACKET_WEIGHT 512

/* Bits of `shut`. */
#define SHUT_RECEIVE 1
#define SHUT_SEND 2

/* `length` as programs see it: of the family and the path, 0 for none. */
struct address {
	uint32_t length;
	char path[UNIX_PATH_MAX];
};

/* What belongs to the bytes from `first` to before `end`, counted from the first that came: one message; or, of a
 * stream, those that descriptors were sent beside. */
struct packet {
	struct link link;
	uint64_t first, end;
	struct address from;
	/* Open files of a user's on their way, file_depart(): with any it is among all such, and among those that are
	 * to be ended, of which `left` are still to. */
	struct link rights;
	struct packet *next;
	uint32_t user, count, left;
	struct file *files[];
};

/* Held by its file, by the peer that names it, and by the listener that it waits with. */
struct socket {
	struct unnamed is;
	uint32_t references;
	uint32_t type, family, protocol;
	/* It waits for connections. */
	uint32_t listens;
	uint32_t shut;
	/* To be told once: ECONNRESET. */
	int32_t error;
	/* The other end, even if it is closed; of datagrams: whom it sends to. */
	struct socket *peer;
	bool closed;
	/* What it is bound to: a node (held), or a place in the list of abstract names. */
	struct node *node;
	struct link named;
	struct address name;
	/* What came: bytes, and how many since the beginning; what belongs to them. */
	struct ring ring;
	uint64_t written;
	struct link packets;
	uint32_t packet_count;
	/* Here wait, too, those who want to receive or accept while it is empty, or to send here or to connect while
	 * it is full. */
	struct watch watch;
	/* A listener's connections to be accepted; or one's own place among them. */
	struct link pending;
	uint32_t pending_count, backlog;
	/* Options as programs have them; SO_RCVTIMEO, SO_SNDTIMEO in nanoseconds, 0: none. */
	uint32_t send_buffer, receive_buffer;
	nanoseconds receive_time, send_time;
	uint32_t reuse_address, keep_alive, broadcast, no_delay;
	struct linux_linger linger;
	/* Its file; NULL before accept. How often packets name it. Among all that have a file. */
	struct file *file;
	uint32_t in_flight;
	struct link all;
	/* Of AF_INET: net's number of it; and of a connection that was accepted and could not be placed. 0: none. */
	uint32_t net, kept;
	/* Of a collection: it can be received; the next that is to be looked at. rights.c */
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

/* What one call sends or receives. */
struct message {
	struct grant data, address, control;
	uint32_t flags;
};

extern struct io_state {
	/* Sockets with abstract names; all that have a file; all of epoll.c's; packets with descriptors. */
	struct link names, sockets, epolls, rights;
	/* Of AF_INET, by net's number. */
	struct socket *inet[NET_SOCKETS + 1];
	/* Packets to be ended; rights_settle() is at it, or will be; how much more it may. */
	struct packet *lost;
	bool settling;
	int32_t left;
	/* The alarm will come. */
	bool waits;
	/* How often since the last collection a socket may have been lost; how many sockets and descriptors that one
	 * kept, and what it has found to keep and not looked at yet. */
	uint64_t doubts, kept;
	struct socket *reached;
} io;

/* socket.c */
/* At the service's start. */
void io_start(void);
extern const struct file_operations socket_files;
/* NULL: memory is short even without lost sockets, which are gone then. */
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
/* A variable whose socket is dropped where its scope ends; NULL: there is none. */
#define SOCKET_HELD __attribute__((cleanup(socket_leave)))
static inline void socket_leave(struct socket *const *s)
{
	if (*s != NULL)
		socket_drop(*s);
}
/* Both are each other's peers from now on. */
void socket_join(struct socket *a, struct socket *b);
/* A file at a descriptor for a socket that has none; the file takes over the caller's hold, unless it fails. */
int64_t socket_place(uint32_t task, struct socket *s, uint32_t flags);
/* Waits for a change of `at` for at most `time` (0: any time); -EAGAIN, or what was done, where that is over or
 * `flags` say not to wait. */
verdict socket_wait(struct request *r, const struct socket *s, struct socket *at, nanoseconds time, uint32_t flags);
/* Nothing is there to be received: what was done before, an error, the end, or it waits. */
verdict socket_empty(struct request *r, struct socket *s, const struct message *m);

/* address.c */
/* The socket bound to an address: held, or -ECONNREFUSED and the like, -EWAIT. */
int64_t address_find(uint32_t task, struct grant address, struct socket **out);
void address_release(struct socket *s);
/* As much as there is room for; the request's `length` is the address's. 0 or -EFAULT. */
int64_t address_put(struct request *r, const struct address *a, struct grant to);

/* message.c */
verdict send_message(struct request *r, struct socket *s, const struct message *m);
verdict receive_message(struct request *r, struct socket *s, const struct message *m);

/* inet.c: what the calls of the same names do of AF_INET. */
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
/* NOTIFIED_VFS_NET. */
void inet_notified(void);

/* rights.c */
/* With the descriptors that `control` names. -EBADF, -EINVAL, -EFAULT, -ENOBUFS, -ENOMEM, -ETOOMANYREFS. */
int64_t packet_make(uint32_t task, struct grant control, struct packet **out);
/* It is in no list; nobody gets its descriptors any more: as many are ended as one call may, others soon after. */
void packet_end(struct packet *p);
/* The same of one that lies with `s`. */
void packet_remove(struct socket *s, struct packet *p);
/* Gives the receiver a copy of each: sets the request's `control_length` and `flags`. */
void rights_put(struct request *r, const struct message *m, const struct packet *p);
/* The task's user has more descriptors on their way than RLIMIT_NOFILE. */
bool rights_are_too_many(uint32_t task);
static inline struct socket *socket_in(const struct file *f)
{
	return f->operations == &socket_files ? f->state : NULL;
}
/* Those that nobody gets any more are ended, as many as one call may. */
void rights_settle(void);
/* No descriptor refers to a file that epolls or packets name. It stays if packets do. */
bool file_stays(struct file *f);
/* Ends lost sockets. False: there are none. `surely`: files are too many or memory is short, so they have to be found
 * now; else enough that some are not to become ever more. */
bool lost_recover(bool surely);
/* NOTIFY_ALARM. */
void lost_alarm(void);

#endif
