/* poll.c: waiting for several descriptors: poll, select, eventfd, epoll. */
#include "usertests.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

TEST(poll_ready, "Does poll tell readable, writable, hung up and wrong descriptors?")
{
	int ends[2];

	OK(pipe(ends));
	IS(events_of(ends[0], POLLIN), 0);
	IS(events_of(ends[1], POLLOUT), POLLOUT);
	put(ends[1]);
	IS(events_of(ends[0], POLLIN), POLLIN);
	OK(close(ends[1]));
	IS(events_of(ends[0], POLLIN), POLLIN | POLLHUP);
	get(ends[0]);
	IS(events_of(ends[0], POLLIN), POLLHUP);
	IS(events_of(99, POLLIN), POLLNVAL);
	IS(events_of(-1, POLLIN), 0);
	make_file("a", "");
	IS(events_of((int)OK(open("a", O_RDWR)), POLLIN | POLLOUT), POLLIN | POLLOUT);
}

TEST(poll_broken, "Does poll tell POLLERR of a pipe without readers?")
{
	int ends[2];

	OK(pipe(ends));
	OK(close(ends[0]));
	IS(events_of(ends[1], POLLOUT), POLLOUT | POLLERR);
}

TEST(poll_waits, "Does poll wait until one of many is ready?")
{
	int ends[8][2];
	struct pollfd p[8];
	pid_t pid;

	for (int i = 0; i < 8; i++) {
		OK(pipe(ends[i]));
		p[i].fd = ends[i][0];
		p[i].events = POLLIN;
	}
	START_CHILD (pid) {
		sleep_ms(20);
		put(ends[5][1]);
	}
	IS(poll(p, 8, -1), 1);
	IS(p[5].revents, POLLIN);
	IS(p[4].revents, 0);
	IS(reap(pid), 0);
}

TEST(poll_timeout, "Does poll wait as long as it is told, and no shorter?")
{
	struct pollfd p = { -1, POLLIN, 0 };
	long before = now_ms();

	IS(poll(&p, 1, 30), 0);
	TRUE(now_ms() - before >= 29);
	IS(poll(NULL, 0, 10), 0);
	IS(poll(NULL, 0, 0), 0);
}

TEST(poll_errors, "Does poll end with EINTR, and refuse what it should?")
{
	struct rlimit most;
	struct timespec bad = { 0, 1000000000 };
	int ends[2];
	struct pollfd p = { 0, POLLIN, 0 };

	OK(pipe(ends));
	p.fd = ends[0];
	OK(getrlimit(RLIMIT_NOFILE, &most));
	FAULTS(RAW(SYS_poll, wild, 1, 0));
	FAILS(RAW(SYS_poll, &p, most.rlim_cur + 1, 0), EINVAL);
	FAILS(RAW(SYS_ppoll, &p, 1, &bad, 0, 8), EINVAL);
	FAULTS(RAW(SYS_ppoll, &p, 1, wild, 0, 8));
	tick(5, catch, SA_RESTART);
	FAILS(poll(&p, 1, -1), EINTR);
}

TEST(ppoll_mask, "Does ppoll wait with its own mask, and give the old one back?")
{
	struct timespec limit = { 5, 0 };
	sigset_t old = set_of(0);

	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(kill(getpid(), SIGUSR1));
	IS(caught[SIGUSR1], 0);
	FAILS(ppoll(NULL, 0, &limit, &old), EINTR);
	IS(caught[SIGUSR1], 1);
	OK(sigprocmask(SIG_BLOCK, NULL, &old));
	IS(sigismember(&old, SIGUSR1), 1);
}

TEST(select_ready, "Does select leave the descriptors that are ready, and count them?")
{
	int ends[2];
	fd_set in, out;
	struct timeval none = { 0, 0 };

	OK(pipe(ends));
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(ends[0], &in);
	FD_SET(ends[1], &out);
	IS(select(ends[1] + 1, &in, &out, NULL, &none), 1);
	TRUE(!FD_ISSET(ends[0], &in) && FD_ISSET(ends[1], &out));
	put(ends[1]);
	FD_SET(ends[0], &in);
	IS(select(ends[1] + 1, &in, &out, NULL, NULL), 2);
	TRUE(FD_ISSET(ends[0], &in));
	OK(close(ends[1]));
	get(ends[0]);
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	IS(select(ends[0] + 1, &in, NULL, NULL, NULL), 1);
}

TEST(select_timeout, "Does select wait as long as it is told, and write back what is left?")
{
	struct timeval limit = { 0, 30000 };
	int ends[2];
	fd_set in;
	long before = now_ms();

	OK(pipe(ends));
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	IS(RAW(SYS_select, ends[0] + 1, &in, 0, 0, &limit), 0);
	TRUE(now_ms() - before >= 29);
	TRUE(!FD_ISSET(ends[0], &in));
	IS(limit.tv_sec, 0);
	IS(limit.tv_usec, 0);
	limit.tv_sec = 5;
	put(ends[1]);
	FD_SET(ends[0], &in);
	IS(RAW(SYS_select, ends[0] + 1, &in, 0, 0, &limit), 1);
	IS(limit.tv_sec, 4);
}

TEST(select_errors, "Does select refuse bad descriptors, counts and pointers?")
{
	struct timeval bad = { -1, 0 };
	int ends[2];
	fd_set in;

	FD_ZERO(&in);
	FD_SET(20, &in);
	FAILS(RAW(SYS_select, 21, &in, 0, 0, 0), EBADF);
	FAILS(RAW(SYS_select, -1, 0, 0, 0, 0), EINVAL);
	FAILS(RAW(SYS_select, 0, 0, 0, 0, &bad), EINVAL);
	FAULTS(RAW(SYS_select, 8, wild, 0, 0, 0));
	FAULTS(RAW(SYS_select, 0, 0, 0, 0, wild));
	OK(pipe(ends));
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	tick(5, catch, SA_RESTART);
	FAILS(RAW(SYS_select, ends[0] + 1, &in, 0, 0, 0), EINTR);
}

TEST(pselect, "Does pselect6 wait with its own mask?")
{
	sigset_t none = set_of(0);
	struct timespec limit = { 5, 0 };

	handle(SIGUSR1, catch, 0);
	block(SIGUSR1);
	OK(kill(getpid(), SIGUSR1));
	FAILS(pselect(0, NULL, NULL, NULL, &limit, &none), EINTR);
	IS(caught[SIGUSR1], 1);
}

TEST(eventfd, "Does an eventfd add what is written, and give the sum once?")
{
	int fd = (int)OK(eventfd(3, EFD_NONBLOCK));
	uint64_t value = 4;

	IS(write(fd, &value, 8), 8);
	IS(events_of(fd, POLLIN | POLLOUT), POLLIN | POLLOUT);
	IS(read(fd, &value, 8), 8);
	IS(value, 7);
	FAILS(read(fd, &value, 8), EAGAIN);
	FAILS(read(fd, &value, 4), EINVAL);
	FAILS(write(fd, &value, 4), EINVAL);
	value = UINT64_MAX;
	FAILS(write(fd, &value, 8), EINVAL);
	value = UINT64_MAX - 1;
	IS(write(fd, &value, 8), 8);
	value = 1;
	FAILS(write(fd, &value, 8), EAGAIN);
	FAILS(RAW(SYS_eventfd2, 0, 0x40), EINVAL);
}

TEST(eventfd_semaphore, "Does EFD_SEMAPHORE give one at a time?")
{
	int fd = (int)OK(eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK));
	uint64_t value;

	IS(read(fd, &value, 8), 8);
	IS(value, 1);
	IS(read(fd, &value, 8), 8);
	FAILS(read(fd, &value, 8), EAGAIN);
}

TEST(eventfd_waits, "Does a read of an eventfd wait for a write by another process?")
{
	int fd = (int)OK(eventfd(0, 0));
	uint64_t value = 9;
	pid_t pid;

	START_CHILD (pid) {
		sleep_ms(20);
		IS(write(fd, &value, 8), 8);
	}
	IS(read(fd, &value, 8), 8);
	IS(value, 9);
	IS(reap(pid), 0);
}

TEST(epoll, "Does epoll tell of ready descriptors?")
{
	struct epoll_event event = { EPOLLIN, { .u64 = 77 } };
	int ends[2], fd = (int)OK(epoll_create1(0));

	OK(pipe(ends));
	OK(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event));
	FAILS(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event), EEXIST);
	IS(epoll_wait(fd, &event, 1, 0), 0);
	put(ends[1]);
	IS(epoll_wait(fd, &event, 1, -1), 1);
	IS(event.data.u64, 77);
	IS(event.events, EPOLLIN);
	OK(epoll_ctl(fd, EPOLL_CTL_DEL, ends[0], NULL));
	FAILS(epoll_ctl(fd, EPOLL_CTL_DEL, ends[0], NULL), ENOENT);
	IS(epoll_wait(fd, &event, 1, 0), 0);
}

static int told_of(int epoll)
{
	struct epoll_event event;

	return (int)OK(epoll_wait(epoll, &event, 1, 0));
}

/* The edges of one end of a socket or of a FIFO come from both sides. */
static void edges(int fd, int other)
{
	int epoll = (int)OK(epoll_create1(0));
	struct epoll_event event = { EPOLLIN | EPOLLOUT | EPOLLET, { .fd = fd } };

	OK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	IS(told_of(epoll), 1);
	IS(told_of(epoll), 0);
	IS(write(other, "x", 1), 1);
	IS(told_of(epoll), 1);
	IS(told_of(epoll), 0);
	IS(write(other, "y", 1), 1);
	IS(told_of(epoll), 1);
	OK(close(epoll));
}

TEST(epoll_edges, "Is one who wants edges told of each, and of nothing twice?")
{
	int ends[2], fd;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	edges(ends[0], ends[1]);
	OK(mkfifo("both", 0600));
	fd = (int)OK(open("both", O_RDWR));
	edges(fd, fd);
}
