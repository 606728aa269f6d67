/* options.c: getsockopt and setsockopt, of SOL_SOCKET alone. */
#include "abi/time.h"
#include "sockets/socket.h"

enum { CONSTANT, FIXED, FLAG, TIME };
/* Each is a member of the socket's, or a constant. `least`: what it is, or the least that a buffer may have on Linux,
 * which doubles what is asked for. */
static const struct option {
	uint32_t number, least, at, size;
} options[] = {
#define MEMBER(name) offsetof(struct socket, name), sizeof(((struct socket *)NULL)->name)
	{ SO_DOMAIN, CONSTANT, AF_UNIX, sizeof(uint32_t) },
	{ SO_PROTOCOL, CONSTANT, 0, sizeof(uint32_t) },
	{ SO_TYPE, FIXED, MEMBER(type) },
	{ SO_SNDBUF, 4608, MEMBER(send_buffer) },
	{ SO_RCVBUF, 2304, MEMBER(receive_buffer) },
	{ SO_REUSEADDR, FLAG, MEMBER(reuse_address) },
	{ SO_KEEPALIVE, FLAG, MEMBER(keep_alive) },
	{ SO_ERROR, FIXED, MEMBER(error) },
	{ SO_ACCEPTCONN, FIXED, MEMBER(listens) },
	{ SO_RCVTIMEO, TIME, MEMBER(receive_time) },
	{ SO_SNDTIMEO, TIME, MEMBER(send_time) },
};

/* -EOPNOTSUPP: of another level; -ENOPROTOOPT: none of these. */
static int64_t option_of(uint32_t level, uint32_t number, const struct option **out)
{
	if (level != SOL_SOCKET)
		return -EOPNOTSUPP;
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

	TRY_ANSWER(r, option_of(level, number, &option));
	size = option->size;
	value = option->least == CONSTANT ? (const char *)&option->at : (const char *)s + option->at;
	if (option->least == TIME) {
		nanoseconds whole = *(const nanoseconds *)value;

		time = (struct linux_timeval){ (int64_t)(whole / NS_PER_SECOND),
					       (int64_t)(whole % NS_PER_SECOND / 1000) };
		value = &time;
		size = sizeof time;
	}
	r->out[OUT_VFS_SOCKET_OPTION_LENGTH] = MIN(to.length, size);
	r->result = copy_out(to, 0, value, MIN(to.length, size));
	/* Told once. */
	if (number == SO_ERROR)
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
	/* No wait at all where it is negative: the least time there is. */
	*to = value.seconds < 0 ? 1 : (uint64_t)value.seconds * NS_PER_SECOND + (uint64_t)value.microseconds * 1000;
	return 0;
}

verdict vfs_set_socket_option(struct request *r, struct socket *s, uint32_t level, uint32_t number, struct grant from)
{
	const struct option *option;
	uint32_t value;

	TRY_ANSWER(r, option_of(level, number, &option));
	if (option->least == TIME)
		return settle(r, time_get(from, (nanoseconds *)((char *)s + option->at)));
	if (from.length < sizeof value)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, copy_in(&value, from, 0, sizeof value));
	if (option->least <= FIXED)
		return refuse(r, ENOPROTOOPT);
	value = option->least == FLAG ? value != 0 : MAX(2 * MIN(value, (uint32_t)SOCKET_BUFFER), option->least);
	memcpy((char *)s + option->at, &value, sizeof value);
	return answer(r, 0);
}
