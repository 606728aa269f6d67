/* ipc/unix-lat, tcp-lat, udp-lat (as lmbench's lat_unix, lat_tcp, lat_udp), sysv-msg, posix-mq, eventfd: one message
 * goes back and forth between two processes, by each means of the system. All are one loop with different calls.
 *
 * The parent sends an odd number, the peer replies with the next: only the peer can send that. An eventfd adds numbers
 * up: it is read to zero before the next number is added. */
#include "../km.h"

struct ipc_lat;

struct ipc_transport {
	const char *put_call, *get_call;
	size_t bytes; /* of a message: 1 or 8 */
	/* Makes one more line: the descriptors by which each side puts and gets. What `near` puts, `far` gets. */
	void (*open)(struct ipc_lat *, int near[2], int far[2]);
	int (*put)(const struct ipc_lat *, int to, const void *); /* 0, or -1 with errno */
	int (*get)(const struct ipc_lat *, int from, void *);     /* the same; waits */
	int (*pair)(int end[2]);                                  /* sockets: connected, or -1 with errno */
	const char *pair_call;
};

enum { IPC_LAT_PUT, IPC_LAT_GET };

struct ipc_lat {
	struct km *km;
	const struct ipc_transport *by;
	int near[2], far[2];         /* the parent's and the peer's descriptors, of PUT and GET */
	int own_near[2], own_far[2]; /* the baseline's: both are the parent's */
	int lines;                   /* opened so far */
	int queue;                   /* System V: the one queue, a type for each side of a line */
	struct km_keeper keeper;     /* of that queue */
	uint64_t sent, echoed;       /* messages of run, of baseline */
	long peer;
};

/* A message of 1 byte contains its number modulo 256. */
union ipc_lat_word {
	uint64_t number;
	unsigned char byte;
};

static void ipc_lat_set(const struct ipc_transport *by, union ipc_lat_word *word, uint64_t number)
{
	if (by->bytes == 1)
		word->byte = (unsigned char)number;
	else
		word->number = number;
}

static uint64_t ipc_lat_value(const struct ipc_transport *by, const union ipc_lat_word *word)
{
	return by->bytes == 1 ? word->byte : word->number;
}

/* Repeats calls that a handler interrupts, as long as the other process lives. */
static void ipc_lat_put(const struct ipc_lat *p, int to, const union ipc_lat_word *word)
{
	while (p->by->put(p, to, word) != 0)
		km_interrupted(p->km, p->by->put_call);
}

static void ipc_lat_get(const struct ipc_lat *p, int from, union ipc_lat_word *word)
{
	while (p->by->get(p, from, word) != 0)
		km_interrupted(p->km, p->by->get_call);
}

/* An even number is never the parent's message: it ends the peer. */
static void ipc_lat_peer(struct km *km, void *state)
{
	struct ipc_lat *p = state;
	union ipc_lat_word word;

	km_watch_parent(km);
	if (km_mq_join() != 0)
		km_fail_call(km, "mq_open");
	for (;;) {
		ipc_lat_get(p, p->far[IPC_LAT_GET], &word);
		if (ipc_lat_value(p->by, &word) % 2 == 0)
			return;
		ipc_lat_set(p->by, &word, ipc_lat_value(p->by, &word) + 1);
		ipc_lat_put(p, p->far[IPC_LAT_PUT], &word);
	}
}

static void *ipc_lat_setup(struct km *km, const struct ipc_transport *by)
{
	struct ipc_lat *p = km_state(km, sizeof *p);

	p->by = by;
	p->queue = -1;
	by->open(p, p->near, p->far);
	by->open(p, p->own_near, p->own_far);
	km_watch(km);
	p->peer = km_peer(km, ipc_lat_peer, p);
	km->claim.syscalls = 2;
	km->claim.any_switches = 1;
	km->claim.faults = 0;
	return p;
}

static void ipc_lat_run(void *state, uint64_t n) /* timed: n messages there and back */
{
	struct ipc_lat *p = state;
	const uint64_t mask = p->by->bytes == 1 ? 0xff : UINT64_MAX;
	union ipc_lat_word word;

	while (n--) {
		uint64_t number = 2 * p->sent++ + 1;

		ipc_lat_set(p->by, &word, number);
		ipc_lat_put(p, p->near[IPC_LAT_PUT], &word);
		ipc_lat_get(p, p->near[IPC_LAT_GET], &word);
		if (ipc_lat_value(p->by, &word) != ((number + 1) & mask))
			km_fail(p->km, "the reply to message %" PRIu64 " was %" PRIu64, number,
				ipc_lat_value(p->by, &word));
	}
}

static void ipc_lat_baseline(void *state, uint64_t n) /* timed: the same calls, by one process */
{
	struct ipc_lat *p = state;
	const uint64_t mask = p->by->bytes == 1 ? 0xff : UINT64_MAX;
	union ipc_lat_word word;

	while (n--) {
		uint64_t number = 2 * p->echoed++ + 1;

		ipc_lat_set(p->by, &word, number);
		ipc_lat_put(p, p->own_near[IPC_LAT_PUT], &word);
		ipc_lat_get(p, p->own_far[IPC_LAT_GET], &word);
		ipc_lat_set(p->by, &word, ipc_lat_value(p->by, &word) + 1);
		ipc_lat_put(p, p->own_far[IPC_LAT_PUT], &word);
		ipc_lat_get(p, p->own_near[IPC_LAT_GET], &word);
		if (ipc_lat_value(p->by, &word) != ((number + 1) & mask))
			km_fail(p->km, "message %" PRIu64 " came back as %" PRIu64, number,
				ipc_lat_value(p->by, &word));
	}
}

static void ipc_lat_teardown(void *state)
{
	struct ipc_lat *p = state;
	union ipc_lat_word word;

	km_watch_end(p->km);
	ipc_lat_set(p->by, &word, 2);
	ipc_lat_put(p, p->near[IPC_LAT_PUT], &word);
	km_peer_end(p->km, p->peer);
	if (p->queue >= 0)
		km_keep_end(p->km, &p->keeper);
}

/* Sockets and eventfd: descriptors, written to and read. ------------------------------------------------------- */

static int ipc_lat_fd_put(const struct ipc_lat *p, int to, const void *word)
{
	return write(to, word, p->by->bytes) == (ssize_t)p->by->bytes ? 0 : -1;
}

/* End of file: the other process has died, and the watch reports it. */
static int ipc_lat_fd_get(const struct ipc_lat *p, int from, void *word)
{
	ssize_t got = read(from, word, p->by->bytes);

	if (got == 0)
		errno = EPIPE;
	return got == (ssize_t)p->by->bytes ? 0 : -1;
}

static void ipc_lat_pair_open(struct ipc_lat *p, int near[2], int far[2])
{
	int end[2] = { -1, -1 };

	if (p->by->pair(end) != 0)
		km_lacking(p->km, p->by->pair_call);
	near[IPC_LAT_PUT] = near[IPC_LAT_GET] = end[0];
	far[IPC_LAT_PUT] = far[IPC_LAT_GET] = end[1];
}

static void ipc_lat_event_open(struct ipc_lat *p, int near[2], int far[2])
{
	near[IPC_LAT_PUT] = far[IPC_LAT_GET] = km_event_new();
	far[IPC_LAT_PUT] = near[IPC_LAT_GET] = near[IPC_LAT_PUT] < 0 ? -1 : km_event_new();
	if (far[IPC_LAT_PUT] < 0)
		km_lacking(p->km, "eventfd");
}

#define IPC_LAT_PAIR(pair, call) { "write", "read", 1, ipc_lat_pair_open, ipc_lat_fd_put, ipc_lat_fd_get, pair, call }
static const struct ipc_transport ipc_lat_unix = IPC_LAT_PAIR(km_socket_unix, "socketpair");
static const struct ipc_transport ipc_lat_tcp = IPC_LAT_PAIR(km_socket_tcp, "a TCP connection over loopback");
static const struct ipc_transport ipc_lat_udp = IPC_LAT_PAIR(km_socket_udp, "UDP sockets of loopback");
static const struct ipc_transport ipc_lat_event = { "write",        "read",         8,    ipc_lat_event_open,
						    ipc_lat_fd_put, ipc_lat_fd_get, NULL, NULL };

/* System V: one queue, a type for each direction of each line. ------------------------------------------------- */

static void ipc_lat_sysv_open(struct ipc_lat *p, int near[2], int far[2])
{
	if (p->queue < 0 && (p->queue = km_keep(p->km, &p->keeper, km_queue_new, km_queue_remove)) < 0)
		km_lacking(p->km, "msgget");
	near[IPC_LAT_PUT] = far[IPC_LAT_GET] = 2 * p->lines + 1;
	far[IPC_LAT_PUT] = near[IPC_LAT_GET] = 2 * p->lines + 2;
	p->lines++;
}

static int ipc_lat_sysv_put(const struct ipc_lat *p, int to, const void *word)
{
	return km_queue_put(p->queue, to, word);
}

static int ipc_lat_sysv_get(const struct ipc_lat *p, int from, void *word)
{
	return km_queue_get(p->queue, from, word);
}

static const struct ipc_transport ipc_lat_sysv = { "msgsnd",         "msgrcv",         8,    ipc_lat_sysv_open,
						   ipc_lat_sysv_put, ipc_lat_sysv_get, NULL, NULL };

/* POSIX: a queue for each direction of each line. -------------------------------------------------------------- */

static int ipc_lat_mq_new(struct ipc_lat *p)
{
	char name[64];
	int handle;

	snprintf(name, sizeof name, "/kernometer-%ld-%d", (long)getpid(), p->lines++);
	handle = km_mq_new(name);
	if (handle < 0) {
		int error = errno;

		(void)km_mq_join(); /* removes the names of those before */
		errno = error;
		km_lacking(p->km, "mq_open");
	}
	return handle;
}

static void ipc_lat_mq_open(struct ipc_lat *p, int near[2], int far[2])
{
	near[IPC_LAT_PUT] = far[IPC_LAT_GET] = ipc_lat_mq_new(p);
	far[IPC_LAT_PUT] = near[IPC_LAT_GET] = ipc_lat_mq_new(p);
}

static int ipc_lat_mq_put(const struct ipc_lat *p, int to, const void *word)
{
	(void)p;
	return km_mq_put(to, word);
}

static int ipc_lat_mq_get(const struct ipc_lat *p, int from, void *word)
{
	(void)p;
	return km_mq_get(from, word);
}

static const struct ipc_transport ipc_lat_mq = { "mq_send",      "mq_receive",   8,    ipc_lat_mq_open,
						 ipc_lat_mq_put, ipc_lat_mq_get, NULL, NULL };

static void *ipc_unix_lat_setup(struct km *km)
{
	void *state = ipc_lat_setup(km, &ipc_lat_unix);

	km->claim.reads = km->claim.writes = 1;
	km->claim.any_switches = 0; /* the process it wakes may preempt the writer, which then waits all the same */
	return state;
}

static void *ipc_tcp_lat_setup(struct km *km)
{
	km->claim.reads = km->claim.writes = 1;
	return ipc_lat_setup(km, &ipc_lat_tcp);
}

static void *ipc_udp_lat_setup(struct km *km)
{
	km->claim.reads = km->claim.writes = 1;
	return ipc_lat_setup(km, &ipc_lat_udp);
}

static void *ipc_eventfd_setup(struct km *km)
{
	km->claim.reads = km->claim.writes = 1;
	return ipc_lat_setup(km, &ipc_lat_event);
}

static void *ipc_sysv_msg_setup(struct km *km)
{
	return ipc_lat_setup(km, &ipc_lat_sysv);
}

static void *ipc_posix_mq_setup(struct km *km)
{
	return ipc_lat_setup(km, &ipc_lat_mq);
}

#define IPC_LAT_ROW                                                                                                  \
	.per = "round trip",                                                                                         \
	.subtracts = "the same message put and got by one process, there and back (the same four calls, no switch)", \
	.points = KM_POINTS({ .profile = QUICK, .path_n = 60, .place = SAME_CPU },                                   \
			    { .profile = FULL, .place = OTHER_CPU }),                                                \
	.run = ipc_lat_run, .baseline = ipc_lat_baseline,                                                            \
	.counted = { offsetof(struct ipc_lat, sent), "round trips were made" }, .teardown = ipc_lat_teardown

const struct workload ipc_unix_lat = {
	.name = "ipc/unix-lat",
	IPC_LAT_ROW,
	.source = "G's closing wish: network (lmbench's lat_unix)",
	.what = "two processes pass one byte back and forth over a pair of connected UNIX-domain stream sockets",
	.inside = "in each process one write and one read of a byte by indirect calls; the switches between them",
	.needs = CAP_UNIX_SOCKETS,
	.setup = ipc_unix_lat_setup,
};

const struct workload ipc_tcp_lat = {
	.name = "ipc/tcp-lat",
	IPC_LAT_ROW,
	.source = "G's closing wish: network (lmbench's lat_tcp)",
	.what = "two processes pass one byte back and forth over a TCP connection of loopback with TCP_NODELAY",
	.inside =
		"in each process one write and one read of a byte by indirect calls; the loopback device; the switches",
	.needs = CAP_INET_SOCKETS,
	.setup = ipc_tcp_lat_setup,
};

const struct workload ipc_udp_lat = {
	.name = "ipc/udp-lat",
	IPC_LAT_ROW,
	.source = "G's closing wish: network (lmbench's lat_udp)",
	.what = "two processes pass a datagram of one byte back and forth over connected UDP sockets of loopback",
	.inside =
		"in each process one write and one read of a byte by indirect calls; the loopback device; the switches",
	.needs = CAP_INET_SOCKETS,
	.setup = ipc_udp_lat_setup,
};

const struct workload ipc_sysv_msg = {
	.name = "ipc/sysv-msg",
	IPC_LAT_ROW,
	.source = "beyond the sources",
	.what = "two processes pass one word (8 bytes) back and forth over a System V queue, a type for each direction",
	.inside = "in each process one msgsnd and one msgrcv of a word by indirect calls, copies of 8 bytes; "
		  "the switches between them",
	.needs = CAP_SYSV_MSG,
	.setup = ipc_sysv_msg_setup,
};

const struct workload ipc_posix_mq = {
	.name = "ipc/posix-mq",
	IPC_LAT_ROW,
	.source = "beyond the sources",
	.what = "two processes pass one word (8 bytes) back and forth over two POSIX message queues of one message",
	.inside =
		"in each process one mq_send and one mq_receive of a word by indirect calls; the switches between them",
	.needs = CAP_POSIX_MQ,
	.setup = ipc_posix_mq_setup,
};

const struct workload ipc_eventfd = {
	.name = "ipc/eventfd",
	IPC_LAT_ROW,
	.source = "beyond the sources",
	.what = "two processes pass one word (8 bytes) back and forth over two eventfds",
	.inside = "in each process one write and one read of a word by indirect calls; the switches between them",
	.needs = CAP_EVENTFD,
	.setup = ipc_eventfd_setup,
};
