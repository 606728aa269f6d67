/* unix_rights.c: descriptors and credentials beside data. */
#include "socket.h"

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

void rights_give(struct rights *rights)
{
	list_remove(&rights->link);
	vfs_give(rights, sizeof *rights + rights->count * sizeof(struct file *));
}

void beside_end(struct beside *b)
{
	if (b->rights == NULL)
		return;
	rights_lose(b->rights);
	b->rights = NULL;
	rights_settle();
}

/* Sending and receiving -------------------------------------------------------------------------------------------- */

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
