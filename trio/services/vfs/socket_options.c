/* socket_options.c: getsockopt and setsockopt, of SOL_SOCKET alone. */
#include "abi/time.h"
#include "socket.h"

/* Linux's least SO_SNDBUF and SO_RCVBUF; it doubles what is asked for. */
#define LEAST_SEND 4608
#define LEAST_RECEIVE 2304

/* Those that are a word of the socket's; NULL: another. */
static uint32_t *word_of(struct socket *s, uint32_t option)
{
	switch (option) {
	case SO_TYPE:
		return &s->type;
	case SO_SNDBUF:
		return &s->send_buffer;
	case SO_RCVBUF:
		return &s->receive_buffer;
	case SO_REUSEADDR:
		return &s->reuse_address;
	case SO_KEEPALIVE:
		return &s->keep_alive;
	case SO_PASSCRED:
		return &s->pass_credentials;
	}
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
	const uint32_t *word;
	uint32_t value = 0;

	if (level != SOL_SOCKET)
		return refuse(r, EOPNOTSUPP);
	word = word_of(s, option);
	if (word != NULL)
		return option_put(r, to, word, sizeof *word);
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
	case SO_PEERCRED:
		return option_put(r, to, &s->peer_credentials, sizeof s->peer_credentials);
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
	uint32_t value, least;

	if (level != SOL_SOCKET)
		return refuse(r, EOPNOTSUPP);
	if (option == SO_RCVTIMEO || option == SO_SNDTIMEO)
		return settle(r, time_get(from, option == SO_RCVTIMEO ? &s->receive_time : &s->send_time));
	if (from.length < sizeof value)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, copy_in(&value, from, 0, sizeof value));
	switch (option) {
	case SO_REUSEADDR:
	case SO_KEEPALIVE:
	case SO_PASSCRED:
		*word_of(s, option) = value != 0;
		return answer(r, 0);
	case SO_SNDBUF:
	case SO_RCVBUF:
		least = option == SO_SNDBUF ? LEAST_SEND : LEAST_RECEIVE;
		*word_of(s, option) = MAX(2 * MIN(value, (uint32_t)SOCKET_BUFFER), least);
		return answer(r, 0);
	}
	return refuse(r, ENOPROTOOPT);
}
