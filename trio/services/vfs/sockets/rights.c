/* rights.c: descriptors sent beside data, and sockets that only packets hold. A socket's file counts separately how
 * many packets name it. A socket without descriptors can still be received while it lies in a socket that can be;
 * sockets that lie only in each other's packets, as in a cycle, are lost.
 *
 * A collection marks from the sockets that have descriptors through their packets, and ends what it has not marked. It
 * visits all sockets, so it runs only after an alarm, when descriptors are sent, or when files or memory run short.
 * Lost files are ended in parts and never recursively, however deep sockets are nested. */
#include "endpoints.h"
#include "polling/poll.h"
#include "sockets/socket.h"

/* The most files, connections and packets that one call ends, beside those of the last socket. */
#define PART 256
/* The time until the next part. Before a collection it grows with what the last one kept, so that collections take a
 * small part of the time. */
#define SOON 1000000
#define SOON_EACH 1000

static void alarm_in(nanoseconds time)
{
	io.waits = true;
	alarm_at(ENDPOINT_VFS, now() + time);
}

/* Notes that a socket may be lost now, because only packets name it. */
static void doubt(void)
{
	io.doubts++;
	if (!io.waits)
		alarm_in(SOON + io.kept * SOON_EACH);
}

/* Marking ---------------------------------------------------------------------------------------------------------- */

/* `s` is NULL for a file that is no socket. */
static void reach(struct socket *s)
{
	if (s == NULL || s->reached)
		return;
	s->reached = true;
	s->next_reached = io.reached;
	io.reached = s;
	io.kept++;
}

/* Marks the sockets in the packets of `s`, or ends these packets if `s` is lost. */
static void packets_look(struct socket *s, bool lose)
{
	LIST_EACH (struct packet, p, &s->packets, link) {
		for (uint32_t i = 0; !lose && i < p->count; i++) {
			io.kept++;
			reach(socket_in(p->files[i]));
		}
		if (lose && p->count > 0)
			packet_remove(s, p);
	}
}

/* Handles the packets of `s`, and of connections that wait to be accepted. */
static void socket_look(struct socket *s, bool lose)
{
	packets_look(s, lose);
	if (s->listens)
		LIST_EACH (struct socket, waiting, &s->pending, pending)
			packets_look(waiting, lose);
}

static void collect(void)
{
	io.doubts = io.kept = 0;
	io.settling = true;
	LIST_EACH (struct socket, s, &io.sockets, all) {
		s->reached = false;
		if (s->file->references > 0)
			reach(s);
	}
	while (io.reached != NULL) {
		struct socket *s = io.reached;

		io.reached = s->next_reached;
		socket_look(s, false);
	}
	LIST_EACH (struct socket, s, &io.sockets, all)
		if (!s->reached)
			socket_look(s, true);
	io.settling = false;
}

/* Ending ----------------------------------------------------------------------------------------------------------- */

/* The file goes into a packet. */
static void file_depart(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s != NULL) {
		f->named++;
		s->in_flight++;
	} else {
		(void)file_hold(f);
	}
}

/* The file leaves its packet. */
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

void rights_settle(void)
{
	struct packet *p;

	if (io.settling || io.lost == NULL)
		return;
	io.settling = true;
	io.left = PART;
	while (io.left > 0 && (p = io.lost) != NULL) {
		if (p->left > 0) {
			io.left--;
			file_arrive(p->files[--p->left]);
			continue;
		}
		io.lost = p->next;
		list_remove(&p->rights);
		heap_free(p, sizeof *p + p->count * sizeof p->files[0]);
	}
	io.settling = false;
	if (io.lost != NULL)
		alarm_in(SOON);
}

void packet_end(struct packet *p)
{
	if (p->count == 0) {
		heap_free(p, sizeof *p);
		return;
	}
	p->next = io.lost;
	io.lost = p;
	rights_settle();
}

void packet_remove(struct socket *s, struct packet *p)
{
	list_remove(&p->link);
	s->packet_count--;
	packet_end(p);
}

bool file_stays(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL || s->in_flight == 0) {
		epoll_forget(f);
		return false;
	}
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
	LIST_EACH (struct packet, p, &io.rights, rights)
		used += p->user == t->real_user ? p->count : 0;
	return used > t->files_most;
}

/* Finds the descriptors in `control` and their number. */
static int64_t rights_find(struct grant control, uint64_t *offset, uint32_t *count)
{
	struct linux_cmsghdr part;

	if (control.length > CONTROL_MOST)
		return -ENOBUFS;
	for (uint64_t at = 0; at + sizeof part <= control.length; at += CMSG_ALIGN(part.length)) {
		TRY(copy_in(&part, control, at, sizeof part));
		if (part.length < sizeof part || part.length > control.length - at)
			return -EINVAL;
		if (part.level != SOL_SOCKET)
			continue;
		if (part.type != SCM_RIGHTS || *count > 0)
			return -EINVAL;
		*offset = at + sizeof part;
		*count = (uint32_t)(part.length - sizeof part) / 4;
	}
	return *count > SCM_MAX_FD ? -EINVAL : 0;
}

int64_t packet_make(uint32_t task, struct grant control, struct packet **out)
{
	int32_t fds[SCM_MAX_FD];
	uint64_t offset = 0;
	uint32_t count = 0;
	struct packet *p;

	TRY(rights_find(control, &offset, &count));
	if (count > 0)
		TRY(copy_in(fds, control, offset, count * sizeof fds[0]));
	for (uint32_t i = 0; i < count; i++)
		if (file_of(task, fds[i]) == NULL)
			return -EBADF;
	if (count > 0 && rights_are_too_many(task))
		return -ETOOMANYREFS;
	p = heap_allocate(sizeof *p + count * sizeof p->files[0]);
	if (p == NULL)
		return -ENOMEM;

	/* committed */
	p->user = vfs.tasks[task].real_user;
	p->count = p->left = count;
	if (count > 0)
		list_add(&io.rights, &p->rights);
	for (uint32_t i = 0; i < count; i++) {
		p->files[i] = file_of(task, fds[i]);
		file_depart(p->files[i]);
	}
	*out = p;
	return 0;
}

void rights_put(struct request *r, const struct message *m, const struct packet *p)
{
	struct linux_cmsghdr part = { sizeof part, SOL_SOCKET, SCM_RIGHTS };
	uint32_t placed = 0;

	for (; placed < p->count && part.length + sizeof(int32_t) <= m->control.length; placed++) {
		struct file *f = p->files[placed];
		int32_t fd = (int32_t)descriptor_place(r->task, f, 0, m->flags & MSG_CMSG_CLOEXEC ? O_CLOEXEC : 0);

		if (fd < 0)
			break;
		(void)file_hold(f);
		if (copy_out(m->control, part.length, &fd, sizeof fd) != 0) {
			descriptor_close(r->task, fd);
			break;
		}
		part.length += sizeof fd;
	}
	if (placed > 0 && copy_out(m->control, 0, &part, sizeof part) == 0)
		r->out[OUT_VFS_RECEIVE_CONTROL_LENGTH] = MIN(m->control.length, CMSG_ALIGN(part.length));
	if (placed < p->count)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_CTRUNC;
}
