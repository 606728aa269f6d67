/* address.c: addresses of AF_UNIX, which are names of files or abstract names, and the calls that use them: bind,
 * listen, connect, accept. */
#include "names/names.h"
#include "polling/poll.h"
#include "sockets/socket.h"
#include "text.h"

/* The bytes of the family before the path. */
#define FAMILY 2
#define AUTOBIND_MOST 0x100000

/* The path of a call's address, where address_get() puts it for a walk. */
static char *const path = vfs.path + FAMILY;

/* Reads an address. Returns the length of the path (without NUL; of an abstract name with its NUL), 0 if none is given,
 * or -errno. */
static int64_t address_get(struct grant from)
{
	uint16_t family;

	if (from.length < FAMILY || from.length > sizeof(struct linux_sockaddr_un))
		return -EINVAL;
	TRY(copy_in(vfs.path, from, 0, from.length));
	vfs.path[from.length] = '\0';
	memcpy(&family, vfs.path, sizeof family);
	if (family != AF_UNIX)
		return family == AF_UNSPEC ? -EAFNOSUPPORT : -EINVAL;
	return path[0] == '\0' ? (int64_t)from.length - FAMILY : (int64_t)strlen(path);
}

int64_t address_put(struct request *r, const struct address *a, struct grant to)
{
	struct linux_sockaddr_un whole = { .family = AF_UNIX };
	uint32_t length = a->length == 0 ? FAMILY : a->length;

	memcpy(whole.path, a->path, sizeof whole.path);
	/* The NUL of a path of 108 bytes lies behind the structure: it is counted and not copied. */
	r->out[ADDRESS_LENGTH] = length;
	return copy_out(to, 0, &whole, MIN(MIN(to.length, length), sizeof whole));
}

static void address_set(struct address *a, uint64_t length)
{
	memcpy(a->path, path, length);
	a->length = (uint32_t)(FAMILY + length + (path[0] == '\0' ? 0 : 1));
}

static struct socket *abstract_find(uint64_t length)
{
	LIST_EACH (struct socket, s, &io.names, named)
		if (s->name.length == FAMILY + length && memcmp(s->name.path, path, length) == 0)
			return s;
	return NULL;
}

int64_t address_find(uint32_t task, struct grant address, struct socket **out)
{
	int64_t length = address_get(address);
	HELD struct node *n = NULL;
	struct socket *s;

	if (length <= 0)
		return length == 0 ? -EINVAL : length;
	if (path[0] == '\0') {
		s = abstract_find((uint64_t)length);
	} else {
		TRY(walk(task, AT_FDCWD, path, 0, &n));
		TRY(permitted(task, n, MAY_WRITE));
		s = S_ISSOCK(n->mode) ? n->special : NULL;
	}
	if (s == NULL)
		return -ECONNREFUSED;
	*out = socket_hold(s);
	return 0;
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

static int64_t bind_abstract(struct socket *s, uint64_t length)
{
	if (abstract_find(length) != NULL)
		return -EADDRINUSE;
	address_set(&s->name, length);
	list_add(&io.names, &s->named);
	return 0;
}

/* Linux chooses five hexadecimal digits. */
static int64_t bind_automatically(struct socket *s)
{
	for (uint32_t i = 0; i < AUTOBIND_MOST; i++) {
		struct text t = { path + 1, 5, 0 };

		text_add(&t, "%05x", i);
		if (bind_abstract(s, 6) == 0)
			return 0;
	}
	return -ENOSPC;
}

static int64_t bind_path(uint32_t task, struct socket *s, uint64_t length)
{
	uint32_t mode = S_IFSOCK | (0777 & ~vfs.tasks[task].directories->umask);
	int64_t error = make_at(task, AT_FDCWD, path, mode, 0, &s->node);

	if (error != 0)
		return error == -EEXIST ? -EADDRINUSE : error;
	s->node->special = s;
	s->node->mount->users++;
	address_set(&s->name, length);
	return 0;
}

verdict vfs_bind(struct request *r, struct socket *s, struct grant address)
{
	int64_t length;

	if (s->net != 0)
		return answer(r, inet_bind(s, address));
	length = address_get(address);
	if (length < 0)
		return answer(r, length == -EAFNOSUPPORT ? -EINVAL : length);
	if (s->name.length != 0)
		return refuse(r, EINVAL);
	if (length == 0)
		return answer(r, bind_automatically(s));
	if (path[0] == '\0')
		return answer(r, bind_abstract(s, (uint64_t)length));
	return answer_or_wait(r, bind_path(r->task, s, (uint64_t)length));
}

verdict vfs_listen(struct request *r, struct socket *s, int32_t backlog)
{
	if (s->net != 0)
		return answer(r, inet_listen(s, backlog));
	if (s->type == SOCK_DGRAM)
		return refuse(r, EOPNOTSUPP);
	if (s->name.length == 0 || s->peer != NULL)
		return refuse(r, EINVAL);
	if (!s->listens)
		list_start(&s->pending);
	s->listens = true;
	s->backlog = MIN((uint32_t)backlog, (uint32_t)SOMAXCONN);
	unpark(&s->watch.waiters);
	return answer(r, 0);
}

/* Sets the peer; NULL: none. */
static int64_t connect_datagrams(struct socket *s, struct socket *to)
{
	if (to != NULL && to->type != s->type)
		return -EPROTOTYPE;
	if (to != NULL && to->peer != NULL && to->peer != s)
		return -EPERM;
	if (s->peer != NULL)
		socket_drop(s->peer);
	s->peer = to == NULL ? NULL : socket_hold(to);
	return 0;
}

/* Makes the listener's end of a connection, which waits to be accepted. */
static int64_t connection_make(uint32_t task, struct socket *s, struct socket *listener)
{
	struct socket *end = socket_make(task, s->type);

	if (end == NULL)
		return -ENOMEM;
	if (listener->closed) {
		socket_drop(end);
		return -ECONNREFUSED;
	}
	end->name = listener->name;
	end->is.owner = listener->is.owner;
	end->is.group = listener->is.group;
	socket_join(s, end);
	list_add(&listener->pending, &end->pending);
	listener->pending_count++;
	watch_changed(&listener->watch);
	return 0;
}

verdict vfs_connect(struct request *r, struct socket *s, struct grant address)
{
	SOCKET_HELD struct socket *to = NULL;
	int64_t error;

	if (s->net != 0)
		return inet_connect(r, s, address);
	error = address_find(r->task, address, &to);
	/* AF_UNSPEC dissolves a connection of datagrams. */
	if (s->type == SOCK_DGRAM && (error == 0 || error == -EAFNOSUPPORT))
		return answer(r, connect_datagrams(s, to));
	if (error != 0)
		return answer_or_wait(r, error == -EAFNOSUPPORT ? -EINVAL : error);
	if (s->peer != NULL || s->listens)
		return refuse(r, s->peer != NULL ? EISCONN : EINVAL);
	if (to->type != s->type)
		return refuse(r, EPROTOTYPE);
	if (!to->listens || (to->shut & SHUT_RECEIVE))
		return refuse(r, ECONNREFUSED);
	if (to->pending_count > to->backlog)
		return socket_wait(r, s, to, s->send_time, 0);
	return answer(r, connection_make(r->task, s, to));
}

verdict vfs_accept(struct request *r, struct socket *s, struct grant address, uint32_t flags)
{
	struct socket *end;
	int64_t placed;

	if (flags & ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return refuse(r, EINVAL);
	if (s->net != 0)
		return inet_accept(r, s, address, flags);
	if (s->type == SOCK_DGRAM)
		return refuse(r, EOPNOTSUPP);
	if (!s->listens || (s->shut & SHUT_RECEIVE))
		return refuse(r, EINVAL);
	if (list_is_empty(&s->pending))
		return socket_wait(r, s, s, s->receive_time, 0);
	end = CONTAINER(s->pending.next, struct socket, pending);
	if (address.length != 0)
		TRY_OR_WAIT(r, address_put(r, &end->peer->name, address));
	placed = socket_place(r->task, end, flags);
	if (placed < 0)
		return answer(r, placed);

	/* committed */
	list_remove(&end->pending);
	s->pending_count--;
	unpark(&s->watch.waiters);
	return answer(r, placed);
}

verdict vfs_socket_name(struct request *r, struct socket *s, uint32_t peer, struct grant address)
{
	if (s->net != 0)
		return inet_name(r, s, peer, address);
	if (peer && s->peer == NULL)
		return refuse(r, ENOTCONN);
	return answer(r, address_put(r, peer ? &s->peer->name : &s->name, address));
}
