/* nests.c: what a program can put into one another, deeper than any stack. */
#include "usertests.h"

#include <sys/epoll.h>

#define EPOLLS 5    /* as many nest on Linux */
#define SOCKETS 400 /* each with two descriptors in flight, as many as an ordinary user may have */

static int add(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

TEST(nests_epolls_outward, "Is an epoll refused that holds too many in one another?")
{
	int ends[2], inner;

	OK(pipe(ends));
	inner = ends[0];
	for (int i = 0; i < EPOLLS; i++) {
		int outer = (int)OK(epoll_create1(0));

		OK(add(outer, inner));
		inner = outer;
	}
	TRUE(add((int)OK(epoll_create1(0)), inner) < 0 && (errno == ELOOP || errno == EINVAL));
	IS(events_of(inner, POLLIN), 0);
	put(ends[1]);
	IS(events_of(inner, POLLIN), POLLIN);
}

TEST(nests_epolls_inward, "Is one refused that is put into the innermost of too many?")
{
	int outer = (int)OK(epoll_create1(0)), outermost = outer, held = 1;

	for (; held < 1000; held++) {
		int inner = (int)OK(epoll_create1(0));

		if (add(outer, inner) != 0)
			break;
		outer = inner;
	}
	TRUE(errno == ELOOP || errno == EINVAL);
	IS(held, EPOLLS);
	IS(events_of(outermost, POLLIN), 0);
}

TEST(nests_epolls_ring, "Is an epoll refused that would come to stand in itself?")
{
	int a = (int)OK(epoll_create1(0)), b = (int)OK(epoll_create1(0));

	OK(add(a, b));
	FAILS(add(b, a), ELOOP);
	FAILS(add(a, a), EINVAL);
}

TEST(nests_sockets, "Do sockets end that lie in sockets, each in the next one's packets?")
{
	int pair[2], next[2];

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (int i = 0; i < SOCKETS; i++) {
		OK(socketpair(AF_UNIX, SOCK_STREAM, 0, next));
		send_fd(next[0], pair[0]);
		send_fd(next[0], pair[1]);
		OK(close(pair[0]));
		OK(close(pair[1]));
		memcpy(pair, next, sizeof pair);
	}
	OK(close(pair[0]));
	OK(close(pair[1]));
}
