/* unix_address.c: addresses of AF_UNIX: names of files, abstract names; and who finds whom by them: bind, listen,
 * connect, accept. */
#include "socket.h"

/* The family's bytes before the path. */
#define FAMILY 2
#define AUTOBIND_MOST 0x100000

/* Takes an address apart. Returns the path's length (without NUL; of an abstract name with it), 0: none given;
 * -errno. */
static int64_t address_get(struct grant from, struct linux_sockaddr_un *to)
{
	uint64_t length;

	memset(to, 0, sizeof *to);
	if (from.length < FAMILY || from.length > sizeof *to)
		return -EINVAL;
	TRY(copy_in(to, from, 0, from.length));
	if (to->family != AF_UNIX)
		return to->family == AF_UNSPEC ? -EAFNOSUPPORT : -EINVAL;
	length = from.length - FAMILY;
	if (length == 0 || to->path[0] == '\0')
		return (int64_t)length;
	for (uint64_t i = 0; i < length; i++)
		if (to->path[i] == '\0')
			return (int64_t)i;
	return (int64_t)length;
}

int64_t address_put(const struct address *a, struct grant to)
{
	struct linux_sockaddr_un whole = { .family = AF_UNIX };
	uint32_t length = a->length == 0 ? FAMILY : a->length;

	memcpy(whole.path, a->path, sizeof whole.path);
	/* A path of 108 bytes has its NUL behind the structure: it is counted, not copied. */
	TRY(copy_out(to, 0, &whole, MIN(MIN(to.length, length), sizeof whole)));
	return length;
}

static void address_set(struct address *a, const char *path, uint64_t length)
{
	memcpy(a->path, path, length);
	a->length = (uint32_t)(FAMILY + length + (path[0] == '\0' ? 0 : 1));
}

static struct socket *abstract_find(const char *path, uint64_t length)
{
	LIST_EACH (struct socket, s, &vfs.io->names, named)
		if (s->name.length == FAMILY + length && memcmp(s->name.path, path, length) == 0)
			return s;
	return NULL;
}

/* The path into vfs.path, for a walk. */
static const char *path_for_walk(const char *path, uint64_t length)
{
	memcpy(vfs.path, path, length);
	vfs.path[length] = '\0';
	return vfs.path;
}

int64_t address_find(uint32_t task, struct grant address, struct socket **out)
{
	struct linux_sockaddr_un name;
	int64_t length = address_get(address, &name);
	struct node *n;
	int64_t error;

	if (length <= 0)
		return length == 0 ? -EINVAL : length;
	if (name.path[0] == '\0') {
		struct socket *s = abstract_find(name.path, (uint64_t)length);

		if (s != NULL)
			*out = socket_hold(s);
		return s == NULL ? -ECONNREFUSED : 0;
	}
	TRY(walk(task, AT_FDCWD, path_for_walk(name.path, (uint64_t)length), 0, &n));
	error = permitted(task, n, MAY_WRITE);
	if (error == 0 && (!S_ISSOCK(n->mode) || n->special == NULL))
		error = -ECONNREFUSED;
	if (error == 0)
		*out = socket_hold(n->special);
	node_drop(n);
	return error;
}

void address_release(struct socket *s)
{
	if (s->named.next != NULL)
		list_remove(&s->named);
	if (s->node == NULL)
		return;
	s->node->special = NULL;
	s->node->mount->users--;
	node_drop(s->node);
	s->node = NULL;
}

static int64_t bind_abstract(struct socket *s, const char *path, uint64_t length)
{
	if (abstract_find(path, length) != NULL)
		return -EADDRINUSE;
	address_set(&s->name, path, length);
	list_add(&vfs.io->names, &s->named);
	return 0;
}

/* Linux gives five hexadecimal digits. */
static int64_t bind_automatically(struct socket *s)
{
	for (uint32_t i = 0; i < AUTOBIND_MOST; i++) {
		char name[8] = { '\0' };
		struct text t = { name + 1, 5, 0 };

		text_add(&t, "%05x", i);
		if (bind_abstract(s, name, 6) == 0)
			return 0;
	}
	return -ENOSPC;
}

static int64_t bind_path(uint32_t task, struct socket *s, const char *path, uint64_t length)
{
	uint32_t mode = S_IFSOCK | (0777 & ~vfs.tasks[task].folders->umask);
	int64_t error = make_at(task, AT_FDCWD, path_for_walk(path, length), mode, 0, &s->node);

	if (error != 0)
		return error == -EEXIST ? -EADDRINUSE : error;
	s->node->special = s;
	s->node->mount->users++;
	address_set(&s->name, path, length);
	return 0;
}

/* Linux looks first whether the path is free. */
static int64_t bound_already(uint32_t task, const char *path, uint64_t length)
{
	struct node *n;

	if (path[0] == '\0' || walk(task, AT_FDCWD, path_for_walk(path, length), WALK_NOFOLLOW, &n) != 0)
		return -EINVAL;
	node_drop(n);
	return -EADDRINUSE;
}

verdict vfs_bind(struct request *r, struct socket *s, struct grant address)
{
	struct linux_sockaddr_un name;
	int64_t length;

	length = address_get(address, &name);
	if (length < 0)
		return settle(r, length == -EAFNOSUPPORT ? -EINVAL : length);
	if (s->name.length != 0)
		return settle(r, bound_already(r->task, name.path, (uint64_t)length));
	if (length == 0)
		return settle(r, bind_automatically(s));
	if (name.path[0] == '\0')
		return settle(r, bind_abstract(s, name.path, (uint64_t)length));
	return vfs_settle(r, bind_path(r->task, s, name.path, (uint64_t)length));
}

verdict vfs_listen(struct request *r, struct socket *s, int32_t backlog)
{
	if (s->type == SOCK_DGRAM)
		return refuse(r, EOPNOTSUPP);
	if (s->name.length == 0 || s->state == CONNECTED)
		return refuse(r, EINVAL);
	if (s->state != LISTENING)
		list_start(&s->pending);
	s->state = LISTENING;
	s->backlog = MIN((uint32_t)backlog, (uint32_t)SOMAXCONN);
	s->peer_credentials = credentials_of(r->task);
	unpark(&s->watch.waiters);
	return answer(r, 0);
}

static verdict connect_datagrams(struct request *r, struct socket *s, struct grant address)
{
	struct socket *to = NULL;
	int64_t error = address_find(r->task, address, &to);

	/* AF_UNSPEC: connected to nobody from now on. */
	if (error != 0 && error != -EAFNOSUPPORT)
		return vfs_settle(r, error);
	if (to != NULL && (to->type != s->type || (to->peer != NULL && to->peer != s))) {
		error = to->type != s->type ? -EPROTOTYPE : -EPERM;
		socket_drop(to);
		return settle(r, error);
	}
	if (s->peer != NULL)
		socket_drop(s->peer);
	s->peer = to;
	return answer(r, 0);
}

/* The listener's end of a connection, which waits to be accepted. */
static int64_t connection_make(uint32_t task, struct socket *s, struct socket *listener)
{
	struct socket *end = socket_make(task, s->type);

	if (end == NULL)
		return -ENOMEM;
	end->name = listener->name;
	end->owner = listener->owner;
	end->group = listener->group;
	end->pass_credentials = listener->pass_credentials;
	end->peer_credentials = credentials_of(task);
	s->peer_credentials = listener->peer_credentials;
	socket_join(s, end);
	list_add(&listener->pending, &end->pending);
	listener->pending_count++;
	watch_changed(&listener->watch);
	return 0;
}

verdict vfs_connect(struct request *r, struct socket *s, struct grant address)
{
	struct socket *to;
	int64_t error;
	verdict how = ANSWERED;

	if (s->type == SOCK_DGRAM)
		return connect_datagrams(r, s, address);
	error = address_find(r->task, address, &to);
	if (error != 0)
		return vfs_settle(r, error == -EAFNOSUPPORT ? -EINVAL : error);
	if (to->state != LISTENING || (to->shut & SHUT_RECEIVE))
		error = -ECONNREFUSED;
	if (to->type != s->type)
		error = -EPROTOTYPE;
	if (s->state != FRESH)
		error = s->state == CONNECTED ? -EISCONN : -EINVAL;
	if (error == 0 && to->pending_count > to->backlog)
		how = socket_wait(r, s, to, s->send_time, 0);
	else
		settle(r, error != 0 ? error : connection_make(r->task, s, to));
	socket_drop(to);
	return how;
}

verdict vfs_accept(struct request *r, struct socket *s, struct grant address, uint32_t flags)
{
	struct socket *end;
	int64_t length = 0, placed;

	if (flags & ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return refuse(r, EINVAL);
	if (s->type == SOCK_DGRAM)
		return refuse(r, EOPNOTSUPP);
	if (s->state != LISTENING || (s->shut & SHUT_RECEIVE))
		return refuse(r, EINVAL);
	if (list_is_empty(&s->pending))
		return socket_wait(r, s, s, s->receive_time, 0);
	end = CONTAINER(s->pending.next, struct socket, pending);
	if (address.length != 0)
		length = address_put(&end->peer->name, address);
	if (length < 0)
		return settle(r, length);
	placed = socket_place(r->task, end, flags);
	if (placed < 0)
		return settle(r, placed);

	/* committed */
	list_remove(&end->pending);
	s->pending_count--;
	unpark(&s->watch.waiters);
	r->out[OUT_VFS_ACCEPT_LENGTH] = (uint64_t)length;
	return answer(r, placed);
}

verdict vfs_socket_name(struct request *r, struct socket *s, uint32_t peer, struct grant address)
{
	int64_t length;

	if (peer && s->peer == NULL)
		return refuse(r, ENOTCONN);
	length = address_put(peer ? &s->peer->name : &s->name, address);
	if (length < 0)
		return settle(r, length);
	r->out[OUT_VFS_SOCKET_NAME_LENGTH] = (uint64_t)length;
	return answer(r, 0);
}
