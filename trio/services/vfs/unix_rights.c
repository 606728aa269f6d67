/* unix_rights.c: descriptors and credentials beside data. A descriptor on its way holds its open file; sockets that
 * only such descriptors hold, in each other's queues, are found and closed. */
#include "vfs_serve.h"
#include "socket.h"

static struct socket *socket_in(const struct file *f)
{
	return f->operations == &socket_files ? f->state : NULL;
}

/* A file goes on its way, or arrives: `by` is 1 or -1. */
static void in_flight(struct vfs *v, const struct file *f, int by)
{
	struct socket *s = socket_in(f);

	if (s == NULL)
		return;
	s->in_flight += (uint32_t)by;
	v->io->in_flight += (uint32_t)by;
}

static void rights_end(struct vfs *v, struct rights *rights)
{
	for (uint32_t i = 0; i < rights->count; i++) {
		in_flight(v, rights->files[i], -1);
		file_drop(v, rights->files[i]);
	}
	vfs_give(v, rights, sizeof *rights + rights->count * sizeof(struct file *));
}

static void rights_lose(struct vfs *v, struct rights *rights)
{
	rights->next = v->io->lost;
	v->io->lost = rights;
}

static void reach(struct socket *s, struct socket **reached)
{
	if (s->reached)
		return;
	s->reached = true;
	s->next_reached = *reached;
	*reached = s;
}

/* The sockets that lie in `s`'s packets, or wait in it to be accepted, can be reached where `s` can. */
static void reach_from(const struct socket *s, struct socket **reached)
{
	for (struct link *l = s->pending.next; s->state == LISTENING && l != &s->pending; l = l->next)
		reach(CONTAINER(l, struct socket, pending), reached);
	for (struct link *l = s->packets.next; l != &s->packets; l = l->next) {
		const struct rights *rights = CONTAINER(l, struct packet, link)->beside.rights;

		for (uint32_t i = 0; rights != NULL && i < rights->count; i++) {
			struct socket *inner = socket_in(rights->files[i]);

			if (inner != NULL)
				reach(inner, reached);
		}
	}
}

/* Nobody can reach `s`: what is on its way to it never arrives. */
static void rights_lose_all(struct vfs *v, struct socket *s)
{
	for (struct link *l = s->packets.next; l != &s->packets; l = l->next) {
		struct packet *p = CONTAINER(l, struct packet, link);

		if (p->beside.rights != NULL)
			rights_lose(v, p->beside.rights);
		p->beside.rights = NULL;
	}
}

#define EACH_SOCKET(v, s)                                                                                   \
	for (struct socket *s = CONTAINER((v)->io->all.next, struct socket, all); &s->all != &(v)->io->all; \
	     s = CONTAINER(s->all.next, struct socket, all))

/* Loses what lies in sockets that only each other's packets hold. Whoever is held by anything else can be reached; so
 * can what lies with him. */
static void rights_collect(struct vfs *v)
{
	struct socket *reached = NULL;

	EACH_SOCKET(v, s)
	s->reached = false;
	EACH_SOCKET(v, s)
	if (s->file != NULL && s->file->references > s->in_flight)
		reach(s, &reached);
	while (reached != NULL) {
		const struct socket *s = reached;

		reached = s->next_reached;
		reach_from(s, &reached);
	}
	EACH_SOCKET(v, s)
	if (!s->reached)
		rights_lose_all(v, s);
}

/* Rights that are lost end one after the other, not one within the other, however deep sockets lie in sockets. */
void rights_settle(struct vfs *v, bool collect)
{
	struct rights *rights;

	v->io->settling = true;
	do {
		while ((rights = v->io->lost) != NULL) {
			v->io->lost = rights->next;
			rights_end(v, rights);
		}
		if (collect && v->io->in_flight > 0)
			rights_collect(v);
	} while (v->io->lost != NULL);
	v->io->settling = false;
}

void beside_end(struct vfs *v, struct beside *b)
{
	if (b->rights == NULL)
		return;
	rights_lose(v, b->rights);
	b->rights = NULL;
	if (!v->io->settling)
		rights_settle(v, false);
}

/* Sending and receiving -------------------------------------------------------------------------------------------- */

/* `count` descriptors at `offset` of `control`. */
static int64_t rights_get(struct vfs *v, uint32_t task, struct grant control, uint64_t offset, uint32_t count,
			  struct rights **out)
{
	struct rights *rights;
	int32_t fds[SCM_MAX_FD];

	if (count > SCM_MAX_FD || *out != NULL)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (copy_in(fds, control, offset, count * sizeof fds[0]) != 0)
		return -EFAULT;
	for (uint32_t i = 0; i < count; i++)
		if (file_of(v, task, fds[i]) == NULL)
			return -EBADF;
	rights = vfs_take(v, sizeof *rights + count * sizeof(struct file *));
	if (rights == NULL)
		return -ENOMEM;

	/* committed */
	rights->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct file *f = file_of(v, task, fds[i]);

		INVARIANT(f != NULL);
		rights->files[i] = file_hold(f);
		in_flight(v, rights->files[i], 1);
	}
	*out = rights;
	return 0;
}

/* Root may say that it is another. */
static int64_t sender_get(struct vfs *v, uint32_t task, struct grant control, uint64_t offset, struct linux_ucred *out)
{
	struct linux_ucred own = credentials_of(v, task);

	if (copy_in(out, control, offset, sizeof *out) != 0)
		return -EFAULT;
	return own.uid == 0 || memcmp(out, &own, sizeof own) == 0 ? 0 : -EPERM;
}

static int64_t parts_get(struct vfs *v, uint32_t task, struct grant control, struct beside *out)
{
	struct linux_cmsghdr part;

	for (uint64_t at = 0; at + sizeof part <= control.length; at += CMSG_ALIGN(part.length)) {
		uint64_t data = at + sizeof part;
		int64_t error = -EINVAL;

		if (copy_in(&part, control, at, sizeof part) != 0)
			return -EFAULT;
		if (part.length < sizeof part || part.length > control.length - at)
			return -EINVAL;
		if (part.level != SOL_SOCKET)
			continue;
		if (part.type == SCM_RIGHTS)
			error = rights_get(v, task, control, data, (uint32_t)(part.length - sizeof part) / 4,
					   &out->rights);
		else if (part.type == SCM_CREDENTIALS && part.length == sizeof part + sizeof out->sender)
			error = sender_get(v, task, control, data, &out->sender);
		if (error != 0)
			return error;
	}
	return 0;
}

int64_t beside_get(struct vfs *v, uint32_t task, struct grant control, struct beside *out)
{
	int64_t error;

	out->sender = credentials_of(v, task);
	out->has_sender = true;
	error = parts_get(v, task, control, out);
	if (error != 0)
		beside_end(v, out);
	return error;
}

/* The control data that a receiver gets. */
struct control {
	struct grant to;
	uint64_t used;
	bool cut;
};

static void control_head(struct control *c, int32_t type, uint64_t length)
{
	struct linux_cmsghdr part = { sizeof part + length, SOL_SOCKET, type };

	if (copy_out(c->to, c->used, &part, sizeof part) != 0)
		c->cut = true;
	c->used = MIN(c->to.length, c->used + CMSG_ALIGN(part.length));
}

static void sender_put(struct control *c, const struct linux_ucred *sender)
{
	uint64_t at = c->used + sizeof(struct linux_cmsghdr);

	if (c->to.length < at + sizeof *sender || copy_out(c->to, at, sender, sizeof *sender) != 0)
		c->cut = true;
	else
		control_head(c, SCM_CREDENTIALS, sizeof *sender);
}

/* As many as there are room and descriptors for. */
static void rights_put(struct vfs *v, uint32_t task, struct control *c, const struct rights *rights, uint32_t flags)
{
	uint64_t at = c->used + sizeof(struct linux_cmsghdr);
	uint64_t room = c->to.length < at ? 0 : (c->to.length - at) / sizeof(int32_t);
	uint32_t placed = 0;

	while (placed < rights->count && placed < room) {
		struct file *f = file_hold(rights->files[placed]);
		int64_t fd = descriptor_place(v, task, f, 0, flags & MSG_CMSG_CLOEXEC ? O_CLOEXEC : 0);
		int32_t number = (int32_t)fd;

		if (fd < 0) {
			file_drop(v, f);
			break;
		}
		if (copy_out(c->to, at + placed * sizeof number, &number, sizeof number) != 0) {
			descriptor_close(v, task, number);
			break;
		}
		placed++;
	}
	if (placed > 0)
		control_head(c, SCM_RIGHTS, placed * sizeof(int32_t));
	if (placed < rights->count)
		c->cut = true;
}

void beside_put(struct vfs *v, struct request *r, struct socket *s, const struct message *m, struct beside *b,
		bool keep)
{
	static const struct linux_ucred nobody = { 0, 65534, 65534 };
	struct control c = { .to = m->control };

	if (s->pass_credentials && m->control.length > 0)
		sender_put(&c, b != NULL && b->has_sender ? &b->sender : &nobody);
	if (b != NULL && b->rights != NULL) {
		rights_put(v, r->task, &c, b->rights, m->flags);
		if (!keep)
			beside_end(v, b);
	}
	r->out[OUT_VFS_RECEIVE_CONTROL_LENGTH] = c.used;
	if (c.cut)
		r->out[OUT_VFS_RECEIVE_FLAGS] |= MSG_CTRUNC;
}
