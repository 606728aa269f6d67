/* rights.c: descriptors and credentials beside data; and sockets that no descriptor refers to, and that packets
 * still hold. A socket's file counts apart how many packets name it. One without descriptors can be received again
 * while it lies with a socket that can; those that lie in nothing but each other's packets, as in a ring, are lost.
 *
 * A collection finds them in one pass over the sockets without descriptors, so it does not run whenever there may be
 * more: an alarm, the next who sends descriptors, or who finds the table of files full or memory short, starts it. What
 * is lost ends a part at a time, not one within the other, however deep sockets lie in sockets. */
#include "endpoints.h"
#include "files/files.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* Files, connections and packets that one call ends, and those of the last socket. */
#define PART 256
/* Until the next part; and before a collection longer by this for each that the last one looked at in vain, so that
 * collections take a small part of the time. */
#define SOON 1000000
#define SOON_EACH 1000

static void alarm_in(nanoseconds time)
{
	io.waits = true;
	alarm_at(ENDPOINT_VFS, now() + time);
}

/* A socket that only packets name may be lost from now on. */
static void doubt(void)
{
	io.doubts++;
	if (!io.waits)
		alarm_in(SOON + io.kept * SOON_EACH);
}

/* Finding ---------------------------------------------------------------------------------------------------------- */

static void reach(struct socket *s)
{
	if (s->reached)
		return;
	s->reached = true;
	s->next_reached = io.reached;
	io.reached = s;
	io.kept++;
}

enum pass { COUNT_WITHIN, REACH, LOSE };

static void rights_look(const struct rights *rights, enum pass pass)
{
	if (pass == REACH)
		io.kept += rights->count;
	for (uint32_t i = 0; i < rights->count; i++) {
		struct socket *inner = socket_in(rights->files[i]);

		if (inner == NULL || inner->unheld.next == NULL)
			continue;
		if (pass == REACH)
			reach(inner);
		else
			inner->within++;
	}
}

/* Nobody gets them any more: they are ended by rights_settle(), as many as one call may, or soon after. */
static void rights_lose(struct beside *b)
{
	b->rights->next = io.lost;
	io.lost = b->rights;
	b->rights = NULL;
}

static void packets_look(const struct socket *s, enum pass pass)
{
	LIST_EACH (struct packet, p, &s->packets, link) {
		struct beside *b = &p->beside;

		if (b->rights == NULL)
			continue;
		if (pass != LOSE) {
			rights_look(b->rights, pass);
			continue;
		}
		rights_lose(b);
	}
}

/* What lies with `s`: in its packets, and in those of connections that wait in it to be accepted. */
static void socket_look(const struct socket *s, enum pass pass)
{
	packets_look(s, pass);
	if (s->state == LISTENING)
		LIST_EACH (struct socket, waiting, &s->pending, pending)
			packets_look(waiting, pass);
}

/* Whoever lies with one that is not in the list can be received, and so can what lies with him. */
static void collect(void)
{
	io.doubts = io.kept = 0;
	LIST_EACH (struct socket, s, &io.unheld, unheld) {
		s->within = 0;
		s->reached = false;
		/* Received meanwhile. */
		if (s->file->references > 0)
			list_remove(&s->unheld);
	}
	LIST_EACH (struct socket, s, &io.unheld, unheld)
		socket_look(s, COUNT_WITHIN);
	LIST_EACH (struct socket, s, &io.unheld, unheld)
		if (s->in_flight > s->within)
			reach(s);
	while (io.reached != NULL) {
		struct socket *s = io.reached;

		io.reached = s->next_reached;
		socket_look(s, REACH);
	}
	LIST_EACH (struct socket, s, &io.unheld, unheld)
		if (!s->reached)
			socket_look(s, LOSE);
}

/* Ending ----------------------------------------------------------------------------------------------------------- */

/* It goes into a packet. */
static void file_depart(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL) {
		(void)file_hold(f);
		return;
	}
	f->named++;
	s->in_flight++;
}

/* One that was on its way. */
static void file_arrive(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL) {
		file_drop(f);
		return;
	}
	f->named--;
	s->in_flight--;
	if (f->references > 0)
		return;
	if (s->in_flight == 0)
		file_released(f);
	else
		doubt();
}

static void part_end(void)
{
	struct rights *rights;

	io.settling = true;
	io.left = PART;
	while (io.left > 0 && (rights = io.lost) != NULL) {
		if (rights->left > 0) {
			io.left--;
			file_arrive(rights->files[--rights->left]);
			continue;
		}
		io.lost = rights->next;
		list_remove(&rights->link);
		vfs_give(rights, sizeof *rights + rights->count * sizeof(struct file *));
	}
	io.settling = false;
}

void rights_settle(void)
{
	if (io.settling || io.lost == NULL)
		return;
	part_end();
	if (io.lost != NULL)
		alarm_in(SOON);
}

void beside_end(struct beside *b)
{
	if (b->rights == NULL)
		return;
	rights_lose(b);
	rights_settle();
}

bool file_stays(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL || s->in_flight == 0) {
		epoll_forget(f);
		return false;
	}
	if (s->unheld.next == NULL)
		list_add(&io.unheld, &s->unheld);
	doubt();
	return true;
}

/* When ------------------------------------------------------------------------------------------------------------- */

bool lost_recover(bool surely)
{
	if (io.settling)
		return false;
	if (io.lost == NULL && io.doubts > (surely ? 0 : PART + io.kept))
		collect();
	if (io.lost == NULL)
		return false;
	rights_settle();
	return true;
}

void lost_alarm(void)
{
	io.waits = false;
	(void)lost_recover(true);
	if (!io.waits && io.doubts > 0)
		alarm_in(SOON + io.kept * SOON_EACH);
}

/* Sending and receiving -------------------------------------------------------------------------------------------- */

bool rights_are_too_many(uint32_t task)
{
	const struct task_files *t = &vfs.tasks[task];
	uint64_t used = 0;

	if (t->user == 0)
		return false;
	LIST_EACH (struct rights, rights, &io.rights, link)
		used += rights->user == t->real_user ? rights->count : 0;
	return used > t->files_most;
}

/* `count` descriptors at `offset` of `control`. -ETOOMANYREFS: the user has more than RLIMIT_NOFILE on their way. */
static int64_t rights_get(uint32_t task, struct grant control, uint64_t offset, uint32_t count, struct rights **out)
{
	int32_t fds[SCM_MAX_FD];
	struct rights *rights;

	if (count > SCM_MAX_FD || *out != NULL)
		return -EINVAL;
	if (count == 0)
		return 0;
	TRY(copy_in(fds, control, offset, count * sizeof fds[0]));
	for (uint32_t i = 0; i < count; i++)
		if (file_of(task, fds[i]) == NULL)
			return -EBADF;
	if (rights_are_too_many(task))
		return -ETOOMANYREFS;
	rights = vfs_take(sizeof *rights + count * sizeof(struct file *));
	if (rights == NULL)
		return -ENOMEM;

	/* committed */
	rights->user = vfs.tasks[task].real_user;
	rights->count = rights->left = count;
	list_add(&io.rights, &rights->link);
	*out = rights;
	for (uint32_t i = 0; i < count; i++) {
		rights->files[i] = file_of(task, fds[i]);
		file_depart(rights->files[i]);
	}
	return 0;
}

/* Root may say that it is another. */
static int64_t sender_get(uint32_t task, struct grant control, uint64_t offset, struct linux_ucred *out)
{
	struct linux_ucred own = credentials_of(task);

	TRY(copy_in(out, control, offset, sizeof *out));
	return own.uid == 0 || memcmp(out, &own, sizeof own) == 0 ? 0 : -EPERM;
}

static int64_t parts_get(uint32_t task, struct grant control, struct beside *out)
{
	struct linux_cmsghdr part;

	if (control.length > CONTROL_MOST)
		return -ENOBUFS;
	for (uint64_t at = 0; at + sizeof part <= control.length; at += CMSG_ALIGN(part.length)) {
		uint64_t data = at + sizeof part;
		int64_t error = -EINVAL;

		TRY(copy_in(&part, control, at, sizeof part));
		if (part.length < sizeof part || part.length > control.length - at)
			return -EINVAL;
		if (part.level != SOL_SOCKET)
			continue;
		if (part.type == SCM_RIGHTS)
			error = rights_get(task, control, data, (uint32_t)(part.length - sizeof part) / 4,
					   &out->rights);
		else if (part.type == SCM_CREDENTIALS && part.length == sizeof part + sizeof out->sender)
			error = sender_get(task, control, data, &out->sender);
		if (error != 0)
			return error;
	}
	return 0;
}

int64_t beside_get(uint32_t task, struct grant control, struct beside *out)
{
	int64_t error;

	out->sender = credentials_of(task);
	error = parts_get(task, control, out);
	if (error != 0)
		beside_end(out);
	return error;
}

/* The control data that a receiver gets. */
struct control {
	struct grant to;
	uint64_t used;
	bool cut;
};

/* `data` NULL: it is there. */
static void control_put(struct control *c, int32_t type, const void *data, uint64_t length)
{
	struct linux_cmsghdr part = { sizeof part + length, SOL_SOCKET, type };

	if (c->to.length - c->used < part.length ||
	    (data != NULL && copy_out(c->to, c->used + sizeof part, data, length) != 0) ||
	    copy_out(c->to, c->used, &part, sizeof part) != 0)
		c->cut = true;
	else
		c->used = MIN(c->to.length, c->used + CMSG_ALIGN(part.length));
}

/* As many as there are room and descriptors for. */
static void rights_put(uint32_t task, struct control *c, const struct rights *rights, uint32_t flags)
{
	uint64_t at = c->used + sizeof(struct linux_cmsghdr);
	uint64_t room = c->to.length < at ? 0 : (c->to.length - at) / sizeof(int32_t);
	uint32_t placed = 0;

	while (placed < rights->count && placed < room) {
		struct file *f = file_hold(rights->files[placed]);
		int64_t fd = descriptor_place(task, f, 0, flags & MSG_CMSG_CLOEXEC ? O_CLOEXEC : 0);
		int32_t number = (int32_t)fd;

		if (fd < 0) {
			file_drop(f);
			break;
		}
		if (copy_out(c->to, at + placed * sizeof number, &number, sizeof number) != 0) {
			descriptor_close(task, number);
			break;
		}
		placed++;
	}
	if (placed > 0)
		control_put(c, SCM_RIGHTS, NULL, placed * sizeof(int32_t));
	if (placed < rights->count)
		c->cut = true;
}

void beside_put(struct request *r, struct socket *s, const struct message *m, struct beside *b, bool keep)
{
	static const struct linux_ucred nobody = { 0, 65534, 65534 };
	struct control c = { .to = m->control };

	if (s->pass_credentials && m->control.length > 0)
		control_put(&c, SCM_CREDENTIALS, b != NULL ? &b->sender : &nobody, sizeof nobody);
	if (b != NULL && b->rights != NULL) {
		rights_put(r->task, &c, b->rights, m->flags);
		if (!keep)
			beside_end(b);
	}
	r->out[OUT_VFS_RECEIVE_CONTROL_LENGTH] = c.used;
	if (c.cut)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_CTRUNC;
}
