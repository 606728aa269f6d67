/* pipes.c: pipes and FIFOs. */
#include "usertests.h"

static int tick_fd;

static void write_at_third_tick(int signal)
{
	if (++caught[signal] == 3 && write(tick_fd, "x", 1) != 1)
		_exit(FAILED);
}

TEST(pipe, "Does what is written to a pipe come out, in order?")
{
	int ends[2];
	char text[16];

	OK(pipe(ends));
	IS(ends[1], ends[0] + 1);
	IS(write(ends[1], "abc", 3), 3);
	IS(write(ends[1], "def", 3), 3);
	IS(read(ends[0], text, 4), 4);
	IS(read(ends[0], text + 4, 16), 2);
	TRUE(memcmp(text, "abcdef", 6) == 0);
	FAILS(write(ends[0], "x", 1), EBADF);
	FAILS(read(ends[1], text, 1), EBADF);
	FAULTS(RAW(SYS_pipe, wild));
	FAULTS(RAW(SYS_pipe2, wild, 0));
	IS(dup(0), ends[1] + 1);
}

TEST(pipe2, "Does pipe2 set O_CLOEXEC and O_NONBLOCK, and refuse other flags?")
{
	int ends[2];
	char byte;

	OK(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
	IS(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
	IS(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
	FAILS(read(ends[0], &byte, 1), EAGAIN);
	IS(fcntl(ends[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	FAILS(RAW(SYS_pipe2, ends, O_APPEND), EINVAL);
	FAILS(RAW(SYS_pipe2, ends, 1), EINVAL);
}

TEST(pipe_eof, "Does a reader see the end when the last writer has gone, after the bytes?")
{
	int ends[2];
	char text[8];
	pid_t pid;

	OK(pipe(ends));
	START_CHILD (pid) {
		OK(close(ends[0]));
		IS(write(ends[1], "last", 4), 4);
		sleep_ms(20);
	}
	OK(close(ends[1]));
	IS(read(ends[0], text, 8), 4);
	IS(read(ends[0], text, 8), 0);
	IS(read(ends[0], text, 8), 0);
	IS(reap(pid), 0);
}

TEST(pipe_sigpipe, "Does a write without readers give SIGPIPE, or EPIPE where that is ignored?")
{
	int ends[2];

	OK(pipe(ends));
	OK(close(ends[0]));
	IN_CHILD (128 + SIGPIPE) {
		write(ends[1], "x", 1);
	}
	handle(SIGPIPE, SIG_IGN, 0);
	FAILS(write(ends[1], "x", 1), EPIPE);
}

static volatile long broken_thread;

static void note_broken(int signal, siginfo_t *about, void *context)
{
	catch_info(signal, about, context);
	broken_thread = RAW(SYS_gettid);
}

static void *write_blocked(void *ends)
{
	int fd = ((int *)ends)[1];

	block(SIGPIPE);
	FAILS(write(fd, "x", 1), EPIPE);
	IS(caught[SIGPIPE], 0);
	IS(is_pending(SIGPIPE), 1);
	unblock(SIGPIPE);
	IS(caught[SIGPIPE], 1);
	IS(broken_thread, RAW(SYS_gettid));
	block(SIGPIPE);
	FAILS(write(fd, "x", 1), EPIPE);
	return NULL;
}

TEST(pipe_sigpipe_comes, "Does SIGPIPE come once, before the call returns, to the thread that called?")
{
	struct iovec parts[2] = { { "one", 3 }, { "two", 3 } };
	int ends[2], sockets[2];

	handle_info(SIGPIPE, note_broken, SA_RESTART);
	OK(pipe(ends));
	OK(close(ends[0]));
	IS(pthread_join(start_thread(write_blocked, ends), NULL), 0);
	IS(caught[SIGPIPE], 1);
	IS(is_pending(SIGPIPE), 0);
	FAILS(write(ends[1], "x", 1), EPIPE);
	IS(caught[SIGPIPE], 2);
	IS(last_info.si_code, SI_USER);
	IS(last_info.si_pid, getpid());
	IS(broken_thread, RAW(SYS_gettid));
	FAILS(writev(ends[1], parts, 2), EPIPE);
	IS(caught[SIGPIPE], 3);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	OK(close(sockets[0]));
	FAILS(send(sockets[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	IS(caught[SIGPIPE], 3);
	FAILS(send(sockets[1], "x", 1, 0), EPIPE);
	IS(caught[SIGPIPE], 4);
}

TEST(pipe_waits, "Does read wait for a writer, and write for room?")
{
	enum { LENGTH = 100000 };
	char *text = room(LENGTH);
	int ends[2];
	size_t got = 0;
	pid_t pid;

	OK(pipe(ends));
	START_CHILD (pid) {
		sleep_ms(20);
		fill(text, LENGTH, 3);
		IS(write(ends[1], text, LENGTH), LENGTH);
	}
	OK(close(ends[1]));
	for (long n = 1; n > 0; got += (size_t)n)
		n = OK(read(ends[0], text + got, 777 < LENGTH - got ? 777 : LENGTH - got));
	IS(got, LENGTH);
	TRUE(filled(text, LENGTH, 3));
	IS(reap(pid), 0);
}

TEST(pipe_full, "Does a full pipe say EAGAIN, and take again what was read?")
{
	static char text[PAGE];
	int ends[2];
	long size = 0, n;

	OK(pipe2(ends, O_NONBLOCK));
	while ((n = write(ends[1], text, PAGE)) > 0)
		size += n;
	FAILS(n, EAGAIN);
	TRUE(size >= PIPE_BUF);
	FAILS(write(ends[1], "x", 1), EAGAIN);
	IS(read(ends[0], text, PAGE), PAGE);
	IS(write(ends[1], text, PAGE), PAGE);
	FAILS(write(ends[1], text, 1), EAGAIN);
}

TEST(pipe_partial, "Is a small write to a nearly full pipe made whole or not at all?")
{
	enum { LENGTH = 1 << 20 };
	char *text = room(LENGTH);
	int ends[2];
	long size;

	OK(pipe2(ends, O_NONBLOCK));
	size = OK(write(ends[1], text, LENGTH));
	TRUE(size >= PIPE_BUF && size < LENGTH);
	IS(read(ends[0], text, 100), 100);
	FAILS(write(ends[1], text, PIPE_BUF), EAGAIN);
}

TEST(pipe_atomic, "Are writes of PIPE_BUF bytes by several processes never mixed?")
{
	enum { WRITERS = 4, WRITES = 40 };
	char text[PIPE_BUF];
	int ends[2], count[WRITERS] = { 0 };
	pid_t pid[WRITERS];

	OK(pipe(ends));
	for (int i = 0; i < WRITERS; i++) {
		START_CHILD (pid[i]) {
			memset(text, 'a' + i, sizeof text);
			for (int k = 0; k < WRITES; k++)
				IS(write(ends[1], text, sizeof text), PIPE_BUF);
		}
	}
	OK(close(ends[1]));
	for (int k = 0; k < WRITERS * WRITES; k++) {
		IS(read_all(ends[0], text, PIPE_BUF), PIPE_BUF);
		for (int i = 1; i < PIPE_BUF; i++)
			IS(text[i], text[0]);
		count[text[0] - 'a']++;
	}
	for (int i = 0; i < WRITERS; i++) {
		IS(reap(pid[i]), 0);
		IS(count[i], WRITES);
	}
}

TEST(pipe_interrupted, "Does a handler's signal end a waiting read with EINTR?")
{
	int ends[2];
	char byte;

	OK(pipe(ends));
	tick(5, catch, 0);
	FAILS(read(ends[0], &byte, 1), EINTR);
	TRUE(caught[SIGALRM] > 0);
}

TEST(pipe_restarted, "Does SA_RESTART make a waiting read go on?")
{
	int ends[2];
	char byte;

	OK(pipe(ends));
	tick_fd = ends[1];
	tick(5, write_at_third_tick, SA_RESTART);
	IS(read(ends[0], &byte, 1), 1);
	IS(caught[SIGALRM] >= 3, 1);
}

TEST(pipe_write_interrupted, "Does an interrupted write tell how much it wrote?")
{
	enum { LENGTH = 1 << 20 };
	char *text = room(LENGTH);
	int ends[2];
	long n;

	OK(pipe(ends));
	tick(10, catch, 0);
	n = OK(write(ends[1], text, LENGTH));
	TRUE(n >= PIPE_BUF && n < LENGTH);
	FAILS(write(ends[1], text, LENGTH), EINTR);
}

TEST(pipe_wild, "Is nothing lost of a pipe whose read fails with EFAULT?")
{
	int ends[2];
	char text[8];

	OK(pipe(ends));
	IS(write(ends[1], "keep", 4), 4);
	FAULTS(RAW(SYS_read, ends[0], wild, 4));
	IS(read(ends[0], text, 8), 4);
	TRUE(memcmp(text, "keep", 4) == 0);
	FAULTS(RAW(SYS_write, ends[1], wild, 4));
	OK(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	FAILS(read(ends[0], text, 8), EAGAIN);
}

TEST(fifo, "Does a FIFO join two processes that open it by name?")
{
	char text[8];
	int fd;
	pid_t pid;

	OK(mkfifo("p", 0644));
	START_CHILD (pid) {
		fd = (int)OK(open("p", O_WRONLY));
		IS(write(fd, "hello", 5), 5);
	}
	fd = (int)OK(open("p", O_RDONLY));
	IS(read(fd, text, 8), 5);
	IS(read(fd, text, 8), 0);
	IS(reap(pid), 0);
}

TEST(fifo_nonblock, "Does a FIFO without the other side open as O_NONBLOCK says?")
{
	int fd, out;
	char byte;

	OK(mkfifo("p", 0644));
	FAILS(open("p", O_WRONLY | O_NONBLOCK), ENXIO);
	fd = (int)OK(open("p", O_RDONLY | O_NONBLOCK));
	IS(read(fd, &byte, 1), 0);
	out = (int)OK(open("p", O_WRONLY | O_NONBLOCK));
	FAILS(read(fd, &byte, 1), EAGAIN);
	IS(write(out, "x", 1), 1);
	get(fd);
	OK(open("p", O_RDWR));
}

/* The other side of FIFO `f` waits to open it, is met, and is killed before it can continue. */
static void kill_met(int others_flags, int flags, int *fd)
{
	pid_t pid = fork_checked();

	if (pid == 0) {
		OK(open("f", others_flags));
		for (;;)
			pause(); /* on another processor it may have continued */
	}
	sleep_ms(50);
	*fd = (int)OK(open("f", flags));
	kill_and_reap(pid);
}

TEST(fifo_killed, "Does a FIFO's reader or writer not wait for one who was killed as soon as he was met?")
{
	char byte;
	int fd;

	OK(mkfifo("f", 0600));
	kill_met(O_WRONLY, O_RDONLY, &fd);
	IS(read(fd, &byte, 1), 0);
	OK(close(fd));
	handle(SIGPIPE, SIG_IGN, 0);
	kill_met(O_RDONLY, O_WRONLY, &fd);
	FAILS(write(fd, "x", 1), EPIPE);
	OK(close(fd));
}

TEST(fifo_open_interrupted, "Does a signal end the wait for a FIFO's other side?")
{
	OK(mkfifo("p", 0644));
	tick(5, catch, 0);
	FAILS(open("p", O_RDONLY), EINTR);
}

TEST(pipe_many_readers, "Does each byte of a pipe reach one of its readers?")
{
	enum { READERS = 5, BYTES = 200 };
	int ends[2], back[2], total = 0;
	pid_t pid[READERS];
	char byte;

	OK(pipe(ends));
	OK(pipe(back));
	for (int i = 0; i < READERS; i++) {
		START_CHILD (pid[i]) {
			OK(close(ends[1]));
			while (OK(read(ends[0], &byte, 1)) == 1)
				put(back[1]);
		}
	}
	OK(close(back[1]));
	for (int i = 0; i < BYTES; i++)
		put(ends[1]);
	OK(close(ends[1]));
	while (OK(read(back[0], &byte, 1)) == 1)
		total++;
	IS(total, BYTES);
	for (int i = 0; i < READERS; i++)
		IS(reap(pid[i]), 0);
}
