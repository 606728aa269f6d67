/* options.c: getsockopt and setsockopt, of SOL_SOCKET alone. */
#include "abi/time.h"
#include "sockets/socket.h"

#define FIXED 0
#define FLAG 1
/* Those that are a member of the socket's. `least`: FIXED, FLAG, or the least that a buffer may have on Linux, which
 * doubles what is asked for. */
static const struct member {
	uint32_t option, least, at, size;
} members[] = {
#define MEMBER(name) offsetof(struct socket, name), sizeof(((struct socket *)NULL)->name)
	{ SO_TYPE, FIXED, MEMBER(type) },
	{ SO_PEERCRED, FIXED, MEMBER(peer_credentials) },
	{ SO_SNDBUF, 4608, MEMBER(send_buffer) },
	{ SO_RCVBUF, 2304, MEMBER(receive_buffer) },
	{ SO_REUSEADDR, FLAG, MEMBER(reuse_address) },
	{ SO_KEEPALIVE, FLAG, MEMBER(keep_alive) },
	{ SO_PASSCRED, FLAG, MEMBER(pass_credentials) },
};

/* NULL: another. */
static const struct member *member_of(uint32_t option)
{
	for (unsigned i = 0; i < COUNT_OF(members); i++)
		if (members[i].option == option)
			return &members[i];
	return NULL;
}

static verdict option_put(struct request *r, struct grant to, const void *value, uint32_t size)
{
	uint32_t n = (uint32_t)MIN(to.length, size);

	r->out[OUT_VFS_SOCKET_OPTION_LENGTH] = n;
	return settle(r, copy_out(to, 0, value, n));
}

static verdict time_put(struct request *r, struct grant to, nanoseconds time)
{
	struct linux_timeval value = { (int64_t)(time / NS_PER_SECOND), (int64_t)(time % NS_PER_SECOND / 1000) };

	return option_put(r, to, &value, sizeof value);
}

verdict vfs_socket_option(struct request *r, struct socket *s, uint32_t level, uint32_t option, struct grant to)
{
	const struct member *member = member_of(option);
	uint32_t value = 0;

	if (level != SOL_SOCKET)
		return refuse(r, EOPNOTSUPP);
	if (member != NULL)
		return option_put(r, to, (const char *)s + member->at, member->size);
	switch (option) {
	case SO_ERROR:
		value = (uint32_t)s->error;
		s->error = 0;
		break;
	case SO_ACCEPTCONN:
		value = s->state == LISTENING;
		break;
	case SO_DOMAIN:
		value = AF_UNIX;
		break;
	case SO_PROTOCOL:
		break;
	case SO_RCVTIMEO:
		return time_put(r, to, s->receive_time);
	case SO_SNDTIMEO:
		return time_put(r, to, s->send_time);
	default:
		return refuse(r, ENOPROTOOPT);
	}
	return option_put(r, to, &value, sizeof value);
}

static int64_t time_get(struct grant from, nanoseconds *to)
{
	struct linux_timeval value;

	if (from.length < sizeof value)
		return -EINVAL;
	TRY(copy_in(&value, from, 0, sizeof value));
	if (value.microseconds < 0 || value.microseconds >= 1000000)
		return -EDOM;
	/* No wait at all where it is negative: the least time there is. */
	*to = value.seconds < 0 ? 1 : (uint64_t)value.seconds * NS_PER_SECOND + (uint64_t)value.microseconds * 1000;
	return 0;
}

verdict vfs_set_socket_option(struct request *r, struct socket *s, uint32_t level, uint32_t option, struct grant from)
{
	const struct member *member = member_of(option);
	uint32_t value;

	if (level != SOL_SOCKET)
		return refuse(r, EOPNOTSUPP);
	if (option == SO_RCVTIMEO || option == SO_SNDTIMEO)
		return settle(r, time_get(from, option == SO_RCVTIMEO ? &s->receive_time : &s->send_time));
	if (from.length < sizeof value)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, copy_in(&value, from, 0, sizeof value));
	if (member == NULL || member->least == FIXED)
		return refuse(r, ENOPROTOOPT);
	value = member->least == FLAG ? value != 0 : MAX(2 * MIN(value, (uint32_t)SOCKET_BUFFER), member->least);
	memcpy((char *)s + member->at, &value, sizeof value);
	return answer(r, 0);
}
