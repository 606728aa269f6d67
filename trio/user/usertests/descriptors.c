/* descriptors.c: dup, fcntl, locks, what processes share of an open file, and calls that copy between files. */
#include "usertests.h"

#include <sys/sendfile.h>

TEST(dup, "Does dup give a second name for the same open file?")
{
	int a, b;

	a = made_file("a", "0123", O_RDONLY);
	b = (int)OK(dup(a));
	OK(lseek(a, 2, SEEK_SET));
	IS(lseek(b, 0, SEEK_CUR), 2);
	OK(close(a));
	get(b);
	FAILS(dup(a), EBADF);
	FAILS(dup(-1), EBADF);
}

TEST(dup2, "Does dup2 take the number that it is given, and close what was there?")
{
	int ends[2], file;
	char byte;

	make_file("a", "0123");
	OK(pipe(ends));
	file = (int)OK(open("a", O_RDONLY));
	IS(dup2(file, ends[1]), ends[1]);
	IS(read(ends[0], &byte, 1), 0);
	IS(dup2(file, 50), 50);
	IS(lseek(50, 0, SEEK_CUR), 0);
	IS(RAW(SYS_dup2, file, file), file);
	FAILS(RAW(SYS_dup2, 99, 99), EBADF);
	FAILS(dup2(99, 99), EBADF);
	FAILS(dup2(99, 50), EBADF);
	IS(lseek(50, 0, SEEK_CUR), 0);
	FAILS(RAW(SYS_dup2, file, -1), EBADF);
	FAILS(RAW(SYS_dup2, file, 1 << 30), EBADF);
}

TEST(dup3, "Does dup3 set close-on-exec, and refuse equal numbers and other flags?")
{
	int fd = (int)OK(open(".", O_RDONLY));

	IS(RAW(SYS_dup3, fd, 50, O_CLOEXEC), 50);
	IS(fcntl(50, F_GETFD), FD_CLOEXEC);
	IS(RAW(SYS_dup3, fd, 50, 0), 50);
	IS(fcntl(50, F_GETFD), 0);
	FAILS(RAW(SYS_dup3, fd, fd, 0), EINVAL);
	FAILS(RAW(SYS_dup3, fd, 51, O_APPEND), EINVAL);
	FAILS(RAW(SYS_dup3, 99, 99, 0), EINVAL);
	FAILS(RAW(SYS_dup3, 99, 98, -1), EINVAL);
	FAILS(RAW(SYS_dup3, 99, 51, 0), EBADF);
}

TEST(fcntl_dupfd, "Does F_DUPFD give the lowest number from its argument on?")
{
	struct rlimit most;
	int fd = (int)OK(open(".", O_RDONLY));

	OK(getrlimit(RLIMIT_NOFILE, &most));
	IS(fcntl(fd, F_DUPFD, 40), 40);
	IS(fcntl(fd, F_DUPFD, 40), 41);
	IS(fcntl(fd, F_DUPFD_CLOEXEC, 40), 42);
	IS(fcntl(41, F_GETFD), 0);
	IS(fcntl(42, F_GETFD), FD_CLOEXEC);
	FAILS(fcntl(fd, F_DUPFD, -1), EINVAL);
	FAILS(RAW(SYS_fcntl, fd, F_DUPFD, most.rlim_cur), EINVAL);
	FAILS(fcntl(99, F_DUPFD, 0), EBADF);
}

TEST(fcntl_flags, "Do F_GETFD, F_SETFD, F_GETFL and F_SETFL tell and change flags?")
{
	int fd, other;

	fd = made_file("a", "", O_RDWR | O_APPEND | O_CLOEXEC);
	IS(fcntl(fd, F_GETFD), FD_CLOEXEC);
	OK(fcntl(fd, F_SETFD, 0));
	IS(fcntl(fd, F_GETFD), 0);
	IS(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK), O_RDWR | O_APPEND);
	other = (int)OK(dup(fd));
	OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	IS(fcntl(other, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK), O_RDWR | O_NONBLOCK);
	OK(fcntl(fd, F_SETFL, O_WRONLY | O_CREAT | O_TRUNC));
	IS(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_CREAT), O_RDWR);
	FAILS(RAW(SYS_fcntl, fd, 12345, 0), EINVAL);
	FAILS(fcntl(99, F_GETFD), EBADF);
	FAILS(fcntl(99, F_GETFL), EBADF);
}

TEST(offset_shared, "Do parent and child share a file's offset, and two opens not?")
{
	int fd, other;

	fd = made_file("a", "0123456789", O_RDONLY);
	other = (int)OK(open("a", O_RDONLY));
	IN_CHILD (0) {
		get(fd);
		get(fd);
	}
	IS(lseek(fd, 0, SEEK_CUR), 2);
	IS(lseek(other, 0, SEEK_CUR), 0);
}

TEST(close_in_child, "Does a file stay open here that the child has closed?")
{
	int fd;

	fd = made_file("a", "0123", O_RDONLY);
	IN_CHILD (0)
		_exit(close(fd) != 0);
	get(fd);
}

TEST(flock, "Do whole-file locks shut others out, by open file?")
{
	int a, b, c;

	a = made_file("a", "", O_RDONLY);
	b = (int)OK(open("a", O_RDONLY));
	c = (int)OK(dup(a));
	OK(flock(a, LOCK_SH));
	OK(flock(b, LOCK_SH | LOCK_NB));
	FAILS(flock(a, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	OK(flock(b, LOCK_UN));
	OK(flock(a, LOCK_EX | LOCK_NB));
	FAILS(flock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	OK(flock(c, LOCK_EX | LOCK_NB));
	OK(close(a));
	FAILS(flock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	OK(close(c));
	OK(flock(b, LOCK_EX | LOCK_NB));
	FAILS(flock(b, 77), EINVAL);
	FAILS(flock(99, LOCK_SH), EBADF);
}

TEST(flock_waits, "Does flock wait until the other lets go?")
{
	int ends[2], fd;
	pid_t pid;

	make_file("a", "");
	OK(pipe(ends));
	START_CHILD (pid) {
		fd = (int)OK(open("a", O_RDONLY));
		OK(flock(fd, LOCK_EX));
		put(ends[1]);
		sleep_ms(50);
		put(ends[1]);
	}
	get(ends[0]);
	fd = (int)OK(open("a", O_RDONLY));
	OK(flock(fd, LOCK_EX));
	OK(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	get(ends[0]);
	IS(reap(pid), 0);
}

TEST(flock_crowd, "Do several wait for one whole-file lock, and get it one after the other?")
{
	pid_t pids[4];
	int ends[2], fd;

	make_file("a", "");
	OK(pipe(ends));
	fd = (int)OK(open("a", O_RDONLY));
	OK(flock(fd, LOCK_EX));
	for (int i = 0; i < 4; i++) {
		START_CHILD (pids[i]) {
			fd = (int)OK(open("a", O_RDONLY));
			put(ends[1]);
			OK(flock(fd, i % 2 ? LOCK_SH : LOCK_EX));
			OK(flock(fd, LOCK_EX));
		}
	}
	for (int i = 0; i < 4; i++)
		get(ends[0]);
	sleep_ms(50);
	IS(waitpid(-1, NULL, WNOHANG), 0);
	OK(flock(fd, LOCK_UN));
	for (int i = 0; i < 4; i++)
		IS(reap(pids[i]), 0);
}

static struct flock region(int type, long start, long length)
{
	struct flock lock;

	memset(&lock, 0, sizeof lock);
	lock.l_type = (short)type;
	lock.l_whence = SEEK_SET;
	lock.l_start = start;
	lock.l_len = length;
	return lock;
}

static int set_lock(int fd, int type, long start, long length)
{
	struct flock lock = region(type, start, length);

	return fcntl(fd, F_SETLK, &lock);
}

TEST(record_locks, "Do record locks shut out other processes, region by region?")
{
	int fd, parent = getpid();

	fd = made_file("a", "0123456789", O_RDWR);
	OK(set_lock(fd, F_WRLCK, 2, 4));
	OK(set_lock(fd, F_RDLCK, 8, 0));
	IN_CHILD (0) {
		struct flock lock = region(F_WRLCK, 0, 0);

		OK(set_lock(fd, F_WRLCK, 0, 2));
		FAILS(set_lock(fd, F_RDLCK, 5, 1), EAGAIN);
		FAILS(set_lock(fd, F_WRLCK, 1, 2), EAGAIN);
		OK(set_lock(fd, F_RDLCK, 9, 1));
		FAILS(set_lock(fd, F_WRLCK, 9, 1), EAGAIN);
		OK(set_lock(fd, F_WRLCK, 6, 2));
		OK(fcntl(fd, F_GETLK, &lock));
		IS(lock.l_type, F_WRLCK);
		IS(lock.l_pid, parent);
		IS(lock.l_start, 2);
		IS(lock.l_len, 4);
	}
}

TEST(record_locks_end, "Does a record lock end with unlocking a part, a close, or its process?")
{
	struct flock lock = region(F_WRLCK, 0, 0);
	int fd, other;

	fd = made_file("a", "0123456789", O_RDWR);
	IN_CHILD (0)
		_exit(set_lock(fd, F_WRLCK, 0, 0) != 0);
	OK(fcntl(fd, F_GETLK, &lock));
	IS(lock.l_type, F_UNLCK);
	OK(set_lock(fd, F_WRLCK, 0, 10));
	OK(set_lock(fd, F_UNLCK, 4, 2));
	IN_CHILD (0) {
		OK(set_lock(fd, F_WRLCK, 4, 2));
		FAILS(set_lock(fd, F_WRLCK, 3, 1), EAGAIN);
		FAILS(set_lock(fd, F_WRLCK, 6, 1), EAGAIN);
	}
	other = (int)OK(open("a", O_RDONLY));
	OK(close(other));
	IN_CHILD (0)
		_exit(set_lock(fd, F_WRLCK, 0, 0) != 0);
}

TEST(record_locks_errors, "Do record locks refuse what they should?")
{
	struct flock lock = region(F_RDLCK, 0, 0);
	int fd;

	fd = made_file("a", "", O_RDONLY);
	OK(set_lock(fd, F_RDLCK, 0, 0));
	FAILS(set_lock(fd, F_WRLCK, 0, 0), EBADF);
	FAILS(set_lock(fd, 77, 0, 0), EINVAL);
	FAILS(set_lock(fd, F_RDLCK, -5, 1), EINVAL);
	lock.l_whence = 9;
	FAILS(fcntl(fd, F_SETLK, &lock), EINVAL);
	FAILS(set_lock(99, F_RDLCK, 0, 0), EBADF);
	FAULTS(RAW(SYS_fcntl, fd, F_SETLK, wild));
	FAULTS(RAW(SYS_fcntl, fd, F_GETLK, wild));
}

TEST(record_locks_wait, "Does F_SETLKW wait for the lock, and find a circle?")
{
	struct flock lock = region(F_WRLCK, 0, 1), second = region(F_WRLCK, 1, 1);
	int fd, ends[2], got;
	pid_t pid;

	make_file("a", "0123");
	OK(pipe(ends));
	fd = (int)OK(open("a", O_RDWR));
	START_CHILD (pid) {
		OK(fcntl(fd, F_SETLKW, &lock));
		put(ends[1]);
		sleep_ms(30);
		got = fcntl(fd, F_SETLKW, &second);
		TRUE(got == 0 || errno == EDEADLK);
		_exit(got == 0 ? 0 : 1);
	}
	OK(fcntl(fd, F_SETLK, &second));
	get(ends[0]);
	got = fcntl(fd, F_SETLKW, &lock);
	TRUE(got == 0 || errno == EDEADLK);
	OK(set_lock(fd, F_UNLCK, 0, 0));
	/* One of the two was refused, and the other one was then served. */
	IS(reap(pid), got == 0 ? 1 : 0);
}

TEST(ioctl_not_tty, "Does a file or a pipe say ENOTTY to a terminal's requests?")
{
	char room[128];
	int fd, ends[2];

	fd = made_file("a", "text", O_RDONLY);
	OK(pipe(ends));
	FAILS(ioctl(fd, TCGETS, room), ENOTTY);
	FAILS(ioctl(fd, TIOCGWINSZ, room), ENOTTY);
	FAILS(ioctl(ends[0], TCGETS, room), ENOTTY);
	FAILS(ioctl(ends[0], 0x12345678, room), ENOTTY);
	FAILS(ioctl(99, TCGETS, room), EBADF);
}

TEST(ioctl_fionread, "Does FIONREAD tell what can be read of a pipe?")
{
	int ends[2], n = -1;

	OK(pipe(ends));
	OK(ioctl(ends[0], FIONREAD, &n));
	IS(n, 0);
	IS(write(ends[1], "hello", 5), 5);
	OK(ioctl(ends[0], FIONREAD, &n));
	IS(n, 5);
	FAULTS(RAW(SYS_ioctl, ends[0], FIONREAD, wild));
}

TEST(sync_calls, "Do the sync calls work on files and refuse what has nothing on a disk?")
{
	int fd, ends[2];

	fd = made_file("a", "text", O_RDWR);
	OK(fsync(fd));
	OK(fdatasync(fd));
	OK(syncfs(fd));
	sync();
	OK(fsync((int)OK(open(".", O_RDONLY))));
	FAILS(fsync(99), EBADF);
	FAILS(fdatasync(99), EBADF);
	FAILS(syncfs(99), EBADF);
	OK(pipe(ends));
	FAILS(fsync(ends[0]), EINVAL);
	FAILS(fsync(ends[1]), EINVAL);
	OK(mkfifo("fifo", 0644));
	fd = (int)OK(open("fifo", O_RDWR));
	FAILS(fsync(fd), EINVAL);
	FAILS(fdatasync(fd), EINVAL);
	FAILS(fsync((int)OK(open("/dev/null", O_WRONLY))), EINVAL);
}

TEST(sendfile, "Does sendfile copy a file to a pipe and to a file, and move the right offset?")
{
	char text[16];
	off_t from = 2;
	int in, out, ends[2];

	in = made_file("a", "0123456789", O_RDONLY);
	out = (int)OK(open("b", O_RDWR | O_CREAT, 0644));
	OK(pipe(ends));
	IS(sendfile(ends[1], in, &from, 5), 5);
	IS(from, 7);
	IS(lseek(in, 0, SEEK_CUR), 0);
	IS(read(ends[0], text, 16), 5);
	TRUE(memcmp(text, "23456", 5) == 0);
	IS(sendfile(out, in, NULL, 100), 10);
	IS(lseek(in, 0, SEEK_CUR), 10);
	IS(sendfile(out, in, NULL, 100), 0);
	TRUE(file_is("b", "0123456789"));
	FAILS(sendfile(in, in, NULL, 1), EBADF);
	FAILS(sendfile(out, 99, NULL, 1), EBADF);
	FAULTS(RAW(SYS_sendfile, out, in, wild, 1));
}

TEST(copy_file_range, "Does copy_file_range copy between files?")
{
	off_t from = 3;
	int in, out;
	long got;

	in = made_file("a", "0123456789", O_RDONLY);
	out = (int)OK(open("b", O_RDWR | O_CREAT, 0644));
	got = RAW(SYS_copy_file_range, in, &from, out, 0, 4, 0);
	if (got < 0 && errno == ENOSYS)
		skip("no such call here");
	IS(got, 4);
	IS(from, 7);
	TRUE(file_is("b", "3456"));
	FAILS(RAW(SYS_copy_file_range, in, 0, out, 0, 4, 1), EINVAL);
	FAILS(RAW(SYS_copy_file_range, in, 0, 99, 0, 4, 0), EBADF);
}

TEST(fallocate, "Does fallocate make room, with and without the file's growing?")
{
	struct stat st;
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644)), ends[2];

	if (fallocate(fd, 0, 0, 10000) < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
		skip("this file system does not");
	IS(file_size("a"), 10000);
	OK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 20000));
	IS(file_size("a"), 10000);
	OK(fstat(fd, &st));
	TRUE(st.st_blocks >= 40);
	FAILS(fallocate(fd, 0, 0, 0), EINVAL);
	FAILS(fallocate(fd, 0, -1, 5), EINVAL);
	FAILS(fallocate(99, 0, 0, 5), EBADF);
	FAILS(fallocate((int)OK(open("a", O_RDONLY)), 0, 0, 5), EBADF);
	OK(pipe(ends));
	FAILS(fallocate(ends[1], 0, 0, 5), ESPIPE);
}

TEST(file_size_limit, "Does RLIMIT_FSIZE stop a file's growth with SIGXFSZ and EFBIG?")
{
	struct rlimit most = { 1000, 1000 };
	static char text[2000];
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));

	IN_CHILD (128 + SIGXFSZ) {
		OK(setrlimit(RLIMIT_FSIZE, &most));
		handle(SIGXFSZ, SIG_IGN, 0);
		IS(write(fd, text, 2000), 1000);
		FAILS(write(fd, text, 1), EFBIG);
		FAILS(ftruncate(fd, 1001), EFBIG);
		handle(SIGXFSZ, catch, 0);
		FAILS(pwrite(fd, text, 1, 1000), EFBIG);
		IS(caught[SIGXFSZ], 1);
		FAILS(truncate("a", 1001), EFBIG);
		IS(caught[SIGXFSZ], 2);
		handle(SIGXFSZ, SIG_DFL, 0);
		write(fd, text, 1);
	}
}
