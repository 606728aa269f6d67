/* options.c: getsockopt and setsockopt of SOL_SOCKET and IPPROTO_TCP. */
#include "abi/time.h"
#include "net.h"
#include "sockets/socket.h"

enum { FIXED, FLAG, TIME, LINGER };
/* Marks options of TCP. */
#define OF_TCP (IPPROTO_TCP << 16)
/* Each option is a member of struct socket. `least` is its kind, or the least size of a buffer on Linux, which doubles
 * the size that is asked for. The size of net's buffers is fixed. */
static const struct option {
	uint32_t number, least, at, size;
} options[] = {
#define MEMBER(name) offsetof(struct socket, name), sizeof(((struct socket *)NULL)->name)
	{ SO_DOMAIN, FIXED, MEMBER(family) },
	{ SO_PROTOCOL, FIXED, MEMBER(protocol) },
	{ SO_TYPE, FIXED, MEMBER(type) },
	{ SO_SNDBUF, 4608, MEMBER(send_buffer) },
	{ SO_RCVBUF, 2304, MEMBER(receive_buffer) },
	{ SO_REUSEADDR, FLAG, MEMBER(reuse_address) },
	{ SO_KEEPALIVE, FLAG, MEMBER(keep_alive) },
	{ SO_BROADCAST, FLAG, MEMBER(broadcast) },
	{ SO_LINGER, LINGER, MEMBER(linger) },
	{ OF_TCP | TCP_NODELAY, FLAG, MEMBER(no_delay) },
	{ SO_ERROR, FIXED, MEMBER(error) },
	{ SO_ACCEPTCONN, FIXED, MEMBER(listens) },
	{ SO_RCVTIMEO, TIME, MEMBER(receive_time) },
	{ SO_SNDTIMEO, TIME, MEMBER(send_time) },
};

/* Returns 0, -EOPNOTSUPP for another level, or -ENOPROTOOPT. */
static int64_t option_of(const struct socket *s, uint32_t level, uint32_t number, const struct option **out)
{
	if (level != SOL_SOCKET && s->net == 0)
		return -EOPNOTSUPP;
	if (number >= OF_TCP || (level != SOL_SOCKET && level != s->protocol))
		return -ENOPROTOOPT;
	if (level != SOL_SOCKET)
		number |= level << 16;
	for (*out = options; *out < options + COUNT_OF(options); ++*out)
		if ((*out)->number == number)
			return 0;
	return -ENOPROTOOPT;
}

verdict vfs_socket_option(struct request *r, struct socket *s, uint32_t level, uint32_t number, struct grant to)
{
	const struct option *option;
	struct linux_timeval time;
	const void *value;
	uint32_t size;

	TRY_OR_WAIT(r, option_of(s, level, number, &option));
	size = option->size;
	value = (const char *)s + option->at;
	if (option->number == SO_ERROR && s->net != 0)
		s->error = (int32_t)net_error(s->net);
	if (option->least == TIME) {
		nanoseconds whole = *(const nanoseconds *)value;

		time = (struct linux_timeval){ (int64_t)(whole / NS_PER_SECOND),
					       (int64_t)(whole % NS_PER_SECOND / 1000) };
		value = &time;
		size = sizeof time;
	}
	r->out[OUT_VFS_SOCKET_OPTION_LENGTH] = MIN(to.length, size);
	r->result = copy_out(to, 0, value, MIN(to.length, size));
	/* An error is reported once. */
	if (option->number == SO_ERROR)
		s->error = 0;
	return ANSWERED;
}

static int64_t time_get(struct grant from, nanoseconds *to)
{
	struct linux_timeval value;

	if (from.length < sizeof value)
		return -EINVAL;
	TRY(copy_in(&value, from, 0, sizeof value));
	if (value.microseconds < 0 || value.microseconds >= 1000000)
		return -EDOM;
	/* A negative time means not to wait: it becomes the shortest time. */
	*to = value.seconds < 0 ? 1 : (uint64_t)value.seconds * NS_PER_SECOND + (uint64_t)value.microseconds * 1000;
	return 0;
}

verdict vfs_set_socket_option(struct request *r, struct socket *s, uint32_t level, uint32_t number, struct grant from)
{
	const struct option *option;
	uint32_t value;

	TRY_OR_WAIT(r, option_of(s, level, number, &option));
	if (option->least == TIME)
		return answer(r, time_get(from, (nanoseconds *)((char *)s + option->at)));
	if (from.length < (option->least == LINGER ? sizeof s->linger : sizeof value))
		return refuse(r, EINVAL);
	if (option->least == LINGER)
		return answer(r, copy_in(&s->linger, from, 0, sizeof s->linger));
	TRY_OR_WAIT(r, copy_in(&value, from, 0, sizeof value));
	if (option->least == FIXED)
		return refuse(r, ENOPROTOOPT);
	value = option->least == FLAG ? value != 0 : MAX(2 * MIN(value, (uint32_t)SOCKET_BUFFER), option->least);
	memcpy((char *)s + option->at, &value, sizeof value);
	if (option->number == SO_REUSEADDR && s->net != 0)
		return answer(r, net_reuse(s->net, value));
	return answer(r, 0);
}
