/* socket_options.c: getsockopt and setsockopt, of SOL_SOCKET alone. */
#include "abi/time.h"
#include "socket.h"

/* Linux's least SO_SNDBUF and SO_RCVBUF; it doubles what is asked for. */
#define LEAST_SEND 4608
#define LEAST_RECEIVE 2304

static void option_put(struct request *r, struct grant to, const void *value, uint32_t size)
{
	uint32_t n = (uint32_t)MIN(to.length, size);

	r->out[OUT_VFS_SOCKET_OPTION_LENGTH] = n;
	r->result = copy_out(to, 0, value, n);
}

static void time_put(struct request *r, struct grant to, nanoseconds time)
{
	struct linux_timeval value = { (int64_t)(time / NS_PER_SECOND), (int64_t)(time % NS_PER_SECOND / 1000) };

	option_put(r, to, &value, sizeof value);
}

static int32_t error_taken(struct socket *s)
{
	int32_t error = s->error;

	s->error = 0;
	return error;
}

verdict vfs_socket_option(struct request *r, int32_t fd, uint32_t level, uint32_t option, struct grant to)
{
	struct file *f;
	struct socket *s = socket_of(r, fd, &f);
	uint32_t value;

	if (s == NULL)
		return ANSWERED;
	if (level != SOL_SOCKET)
		return refuse(r, EOPNOTSUPP);
	switch (option) {
	case SO_TYPE:
		value = s->type;
		break;
	case SO_ERROR:
		value = (uint32_t)error_taken(s);
		break;
	case SO_SNDBUF:
		value = s->send_buffer;
		break;
	case SO_RCVBUF:
		value = s->receive_buffer;
		break;
	case SO_REUSEADDR:
		value = s->reuse_address;
		break;
	case SO_KEEPALIVE:
		value = s->keep_alive;
		break;
	case SO_PASSCRED:
		value = s->pass_credentials;
		break;
	case SO_ACCEPTCONN:
		value = s->state == LISTENING;
		break;
	case SO_DOMAIN:
		value = AF_UNIX;
		break;
	case SO_PROTOCOL:
		value = 0;
		break;
	case SO_PEERCRED:
		option_put(r, to, &s->peer_credentials, sizeof s->peer_credentials);
		return ANSWERED;
	case SO_RCVTIMEO:
		time_put(r, to, s->receive_time);
		return ANSWERED;
	case SO_SNDTIMEO:
		time_put(r, to, s->send_time);
		return ANSWERED;
	default:
		return refuse(r, ENOPROTOOPT);
	}
	option_put(r, to, &value, sizeof value);
	return ANSWERED;
}

static int64_t time_get(struct grant from, nanoseconds *to)
{
	struct linux_timeval value;

	if (from.length < sizeof value)
		return -EINVAL;
	if (copy_in(&value, from, 0, sizeof value) != 0)
		return -EFAULT;
	if (value.microseconds < 0 || value.microseconds >= 1000000)
		return -EDOM;
	/* No wait at all where it is negative: the least time there is. */
	*to = value.seconds < 0 ? 1 : (uint64_t)value.seconds * NS_PER_SECOND + (uint64_t)value.microseconds * 1000;
	return 0;
}

verdict vfs_set_socket_option(struct request *r, int32_t fd, uint32_t level, uint32_t option, struct grant from)
{
	struct file *f;
	struct socket *s = socket_of(r, fd, &f);
	uint32_t value;

	if (s == NULL)
		return ANSWERED;
	if (level != SOL_SOCKET)
		return refuse(r, EOPNOTSUPP);
	if (option == SO_RCVTIMEO || option == SO_SNDTIMEO)
		return settle(r, time_get(from, option == SO_RCVTIMEO ? &s->receive_time : &s->send_time));
	if (from.length < sizeof value)
		return refuse(r, EINVAL);
	if (copy_in(&value, from, 0, sizeof value) != 0)
		return refuse(r, EFAULT);
	switch (option) {
	case SO_REUSEADDR:
		s->reuse_address = value != 0;
		break;
	case SO_KEEPALIVE:
		s->keep_alive = value != 0;
		break;
	case SO_PASSCRED:
		s->pass_credentials = value != 0;
		break;
	case SO_SNDBUF:
		s->send_buffer = MAX(2 * MIN(value, (uint32_t)SOCKET_BUFFER), (uint32_t)LEAST_SEND);
		break;
	case SO_RCVBUF:
		s->receive_buffer = MAX(2 * MIN(value, (uint32_t)SOCKET_BUFFER), (uint32_t)LEAST_RECEIVE);
		break;
	default:
		return refuse(r, ENOPROTOOPT);
	}
	return answer(r, 0);
}
