/* counts.c: how many of something a call may name, and the sizes of files, pipes and folders. */
#include "usertests.h"

#include <grp.h>
#include <sys/epoll.h>

TEST(count_vectors, "May a call have up to 1,024 parts, and no more?")
{
	enum { MOST = 1024 };
	static struct iovec out[MOST + 1], in[MOST + 1];
	struct msghdr message = { .msg_iov = out };
	char *text = fill(room(MOST + 1), MOST + 1, 5), *got = room(MOST + 1);
	int ends[2], fd = (int)OK(open("a", O_CREAT | O_RDWR, 0644));

	OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	for (int i = 0; i <= MOST; i++) {
		out[i] = (struct iovec){ text + i, 1 };
		in[i] = (struct iovec){ got + i, 1 };
	}
	for (int n = 1; n <= MOST; n++) {
		IS(writev(ends[0], out, n), n);
		IS(readv(ends[1], in, n), n);
		TRUE(memcmp(got, text, (size_t)n) == 0);
		IS(pwritev(fd, out, n, n), n);
		IS(preadv(fd, in, n, n), n);
	}
	FAILS(writev(ends[0], out, MOST + 1), EINVAL);
	FAILS(readv(ends[1], in, MOST + 1), EINVAL);
	message.msg_iovlen = MOST;
	IS(sendmsg(ends[0], &message, 0), MOST);
	message.msg_iovlen = MOST + 1;
	FAILS(sendmsg(ends[0], &message, 0), EMSGSIZE);
	FAILS(recvmsg(ends[1], &message, 0), EMSGSIZE);
}

TEST(count_polls, "May poll name as many files as the limit says, select and epoll_wait any number?")
{
	struct rlimit files;
	struct epoll_event *events;
	struct pollfd *polls;
	struct timeval at_once = { 0, 0 };
	fd_set set;
	int ends[2], many = (int)OK(epoll_create1(0)), most;

	OK(getrlimit(RLIMIT_NOFILE, &files));
	most = (int)(files.rlim_cur < 4096 ? files.rlim_cur : 4096);
	polls = (struct pollfd *)room((size_t)(most + 1) * sizeof *polls);
	OK(pipe(ends));
	put(ends[1]);
	for (int n = 0; n <= most; n++) {
		polls[n] = (struct pollfd){ ends[0], POLLIN, 0 };
		if (n % 31 < 3 || n == most)
			IS(poll(polls, (nfds_t)n, 0), n);
	}
	if (files.rlim_cur < 100000)
		FAILS(poll(polls, files.rlim_cur + 1, 0), EINVAL);
	FAILS(RAW(SYS_poll, polls, UINT_MAX, 0), EINVAL);
	for (int n = 0; n <= FD_SETSIZE; n++) {
		FD_ZERO(&set);
		FD_SET(ends[0], &set);
		IS(select(n, &set, NULL, NULL, &at_once), n > ends[0]);
	}
	FAILS(select(-1, NULL, NULL, NULL, &at_once), EINVAL);
	IS(select(INT_MAX, NULL, NULL, NULL, &at_once), 0);
	events = (struct epoll_event *)room(300 * sizeof *events);
	for (int n = 1; n <= 300; n++) {
		struct epoll_event event = { EPOLLIN, { .fd = n } };

		OK(epoll_ctl(many, EPOLL_CTL_ADD, (int)OK(dup(ends[0])), &event));
		IS(epoll_wait(many, events, 300, 0), n);
		IS(epoll_wait(many, events, (n + 1) / 2, 0), (n + 1) / 2);
	}
	FAILS(epoll_wait(many, events, 0, 0), EINVAL);
	FAILS(epoll_wait(many, events, INT_MAX, 0), EINVAL);
}

TEST(count_groups, "May a process be in up to 32 groups at least, and not in 65,537?")
{
	gid_t groups[33], told[33];

	only_for_root();
	for (size_t n = 0; n < 33; n++) {
		OK(setgroups(n, groups));
		IS(getgroups(33, told), n);
		TRUE(memcmp(groups, told, n * sizeof *groups) == 0);
		if (n > 1)
			FAILS(getgroups((int)n - 1, told), EINVAL);
		groups[n] = (gid_t)(n + 1);
	}
	FAILS(RAW(SYS_setgroups, 65537, groups), EINVAL);
	FAILS(RAW(SYS_setgroups, -1, groups), EINVAL);
}

TEST(count_pipe, "Does a pipe take as many bytes as it is told to, and keep them when that changes?")
{
	enum { MOST = 1 << 20 };
	char *text = fill(room(MOST), MOST, 6), *got = room(MOST);
	int ends[2];

	OK(pipe2(ends, O_NONBLOCK));
	for (int size = (int)PAGE; size <= MOST; size *= 2) {
		IS(fcntl(ends[0], F_SETPIPE_SZ, size - 1), size);
		IS(fcntl(ends[0], F_SETPIPE_SZ, size / 2 + 1), size);
		IS(write(ends[1], text, MOST), size);
		if (size > PAGE)
			FAILS(fcntl(ends[0], F_SETPIPE_SZ, size / 2), EBUSY);
		if (size < MOST)
			IS(fcntl(ends[0], F_SETPIPE_SZ, 2 * size), 2 * size);
		IS(read(ends[0], got, MOST), size);
		TRUE(memcmp(got, text, (size_t)size) == 0);
	}
	IS(fcntl(ends[0], F_SETPIPE_SZ, 0), PAGE);
	FAILS(fcntl(ends[0], F_SETPIPE_SZ, -1), EINVAL);
}

TEST(count_bytes, "Does a file hold writes of each length, across its pages?")
{
	enum { MOST = 140000 };
	char *text = fill(room(MOST), MOST, 7), *got = room(MOST);
	int fd = (int)OK(open("a", O_CREAT | O_RDWR, 0644));

	for (size_t n = 1; n <= MOST; n += n < 200 ? 1 : n / 50) {
		IS(pwrite(fd, text, n, PAGE - 7), n);
		IS(pread(fd, got, MOST, PAGE - 7), n);
		TRUE(memcmp(got, text, n) == 0);
		OK(ftruncate(fd, 0));
	}
}

TEST(count_offsets, "Does a byte written behind a great hole come back, or say EFBIG?")
{
	int fd = (int)OK(open("a", O_CREAT | O_RDWR, 0644));
	char byte;

	for (int bit = 1; bit < 63; bit++)
		for (long beside = -1; beside <= 1; beside++) {
			off_t at = (off_t)(1UL << bit) + beside;

			if (pwrite(fd, "x", 1, at) < 0) {
				TRUE(bit > 40 && (errno == EFBIG || errno == ENOSPC || errno == EINVAL));
				continue;
			}
			IS(pread(fd, &byte, 1, at), 1);
			IS(byte, 'x');
			OK(ftruncate(fd, 0));
		}
	FAILS(pwrite(fd, "x", 1, -1), EINVAL);
	FAILS(lseek(fd, -1, SEEK_SET), EINVAL);
}

TEST(count_mappings, "Can a process have as many mappings as the limit says, and are more refused?")
{
	enum { PAIRS = 32700, MOST = 66000 };
	char *at = room(MOST * PAGE);
	long n;

	for (n = 0; n < PAIRS; n++)
		OK(mprotect(at + 2 * n * PAGE, PAGE, PROT_READ));
	while (n < MOST / 2 && mprotect(at + 2 * n * PAGE, PAGE, PROT_READ) == 0)
		n++;
	TRUE(n == MOST / 2 || errno == ENOMEM);
	OK(munmap(at, MOST * PAGE));
}

TEST(count_answers, "Do calls that give names cut them, or refuse, where there is little room?")
{
	char folder[PATH_MAX], told[PATH_MAX], *entries = room(PAGE);
	size_t length;
	int fd = (int)OK(open(".", O_RDONLY | O_DIRECTORY));
	long got;

	OK(getcwd(folder, sizeof folder));
	length = strlen(folder) + 1;
	make_file("0123456789012345678901234567890123456789", "");
	for (size_t n = 1; n < 300; n++) {
		if (n < length)
			FAILS(RAW(SYS_getcwd, told, n), ERANGE);
		else
			IS(RAW(SYS_getcwd, told, n), length);
		OK(lseek(fd, 0, SEEK_SET));
		got = RAW(SYS_getdents64, fd, entries, n);
		if (n < 24)
			FAILS(got, EINVAL);
		TRUE(got <= (long)n);
	}
}
