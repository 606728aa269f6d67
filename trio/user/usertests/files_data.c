/* files_data.c: contents of files: reading, writing, seeking, truncating, appending; devices that support these. */
#include "usertests.h"

TEST(read_to_the_end, "Does read give what is there, then 0?")
{
	char text[16];
	int fd;

	fd = made_file("a", "hello", O_RDONLY);
	IS(read(fd, text, 2), 2);
	IS(read(fd, text, 16), 3);
	TRUE(memcmp(text, "llo", 3) == 0);
	IS(read(fd, text, 16), 0);
	IS(read(fd, text, 0), 0);
	OK(lseek(fd, 1000, SEEK_SET));
	IS(read(fd, text, 16), 0);
}

TEST(read_errors, "Does read refuse bad descriptors, folders and wild buffers?")
{
	char byte;
	int fd;

	FAILS(read(-1, &byte, 1), EBADF);
	FAILS(read(99, &byte, 1), EBADF);
	FAILS(read(1 << 30, &byte, 1), EBADF);
	fd = (int)OK(open(".", O_RDONLY));
	FAILS(read(fd, &byte, 1), EISDIR);
	fd = made_file("a", "text", O_RDONLY);
	FAULTS(RAW(SYS_read, fd, wild, 4));
	IS(lseek(fd, 0, SEEK_CUR), 0);
}

TEST(write_errors, "Does write refuse bad descriptors and wild buffers, and leave the file as it is?")
{
	int fd;

	FAILS(write(-1, "x", 1), EBADF);
	FAILS(write(99, "x", 1), EBADF);
	fd = (int)OK(open(".", O_RDONLY));
	FAILS(write(fd, "x", 1), EBADF);
	fd = made_file("a", "text", O_RDWR);
	FAULTS(RAW(SYS_write, fd, wild, 4));
	TRUE(file_is("a", "text"));
	IS(write(fd, "", 0), 0);
}

TEST(write_large, "Does a file of megabytes hold what was written, at odd places too?")
{
	enum { SIZE = 3 << 20 };
	char *text = fill(malloc(SIZE), SIZE, 7), *back = malloc(SIZE);
	static const long places[] = { 0, 1, 4095, 4097, 7167, 65535, 1048575, 2000003, SIZE - 5000 };
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));

	for (size_t done = 0, step = 1; done < SIZE; done += step, step = step * 3 % 70001 + 1) {
		if (step > SIZE - done)
			step = SIZE - done;
		IS(write(fd, text + done, step), step);
	}
	IS(pread(fd, back, SIZE, 0), SIZE);
	TRUE(filled(back, SIZE, 7));
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		IS(pread(fd, back, 5000, places[i]), 5000);
		TRUE(filled(back, 5000, 7 + (unsigned)places[i]));
	}
}

TEST(write_holes, "Are bytes that nobody wrote zero?")
{
	enum { LENGTH = 200000 };
	char *text = room(LENGTH);
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));

	IS(pwrite(fd, "x", 1, 150000), 1);
	IS(file_size("a"), 150001);
	memset(text, 1, LENGTH);
	IS(read(fd, text, LENGTH), 150001);
	for (int i = 0; i < 150000; i++)
		if (text[i])
			fail("byte %d of a hole is %d", i, text[i]);
	IS(text[150000], 'x');
	OK(ftruncate(fd, 10));
	OK(ftruncate(fd, 100));
	IS(pread(fd, text, 200, 0), 100);
	IS(text[99], 0);
}

TEST(truncate_errors, "Does truncate say why it fails?")
{
	int pipe_ends[2];

	make_file("a", "text");
	OK(mkdir("d", 0755));
	OK(truncate("a", 2));
	TRUE(file_is("a", "te"));
	FAILS(truncate("a", -1), EINVAL);
	FAILS(truncate("d", 0), EISDIR);
	FAILS(truncate("none", 0), ENOENT);
	FAILS(truncate("a/b", 0), ENOTDIR);
	OK(pipe(pipe_ends));
	FAILS(ftruncate(pipe_ends[1], 0), EINVAL);
	FAILS(ftruncate(99, 0), EBADF);
	FAILS(ftruncate((int)OK(open("a", O_RDWR)), -1), EINVAL);
}

TEST(seek, "Where does lseek go, and where not?")
{
	int fd, pipe_ends[2];

	fd = made_file("a", "0123456789", O_RDWR);
	IS(lseek(fd, 3, SEEK_SET), 3);
	IS(lseek(fd, 4, SEEK_CUR), 7);
	IS(lseek(fd, -2, SEEK_CUR), 5);
	IS(lseek(fd, -1, SEEK_END), 9);
	IS(lseek(fd, 5, SEEK_END), 15);
	FAILS(lseek(fd, -1, SEEK_SET), EINVAL);
	FAILS(lseek(fd, -16, SEEK_CUR), EINVAL);
	FAILS(lseek(fd, 0, 77), EINVAL);
	IS(lseek(fd, 0, SEEK_CUR), 15);
	FAILS(lseek(99, 0, SEEK_SET), EBADF);
	OK(pipe(pipe_ends));
	FAILS(lseek(pipe_ends[0], 0, SEEK_CUR), ESPIPE);
}

TEST(pread_pwrite, "Do pread and pwrite leave the offset alone?")
{
	char text[8] = "";
	int fd, pipe_ends[2];

	fd = made_file("a", "0123456789", O_RDWR);
	OK(lseek(fd, 2, SEEK_SET));
	IS(pread(fd, text, 3, 5), 3);
	TRUE(memcmp(text, "567", 3) == 0);
	IS(pwrite(fd, "ab", 2, 8), 2);
	IS(lseek(fd, 0, SEEK_CUR), 2);
	TRUE(file_is("a", "01234567ab"));
	IS(pread(fd, text, 3, 100), 0);
	FAILS(RAW(SYS_pread64, fd, text, 1, -1), EINVAL);
	FAILS(RAW(SYS_pwrite64, fd, text, 1, -1), EINVAL);
	FAILS(pread(99, text, 1, 0), EBADF);
	FAULTS(RAW(SYS_pread64, fd, wild, 1, 0));
	OK(pipe(pipe_ends));
	FAILS(pread(pipe_ends[0], text, 1, 0), ESPIPE);
	FAILS(pwrite(pipe_ends[1], text, 1, 0), ESPIPE);
}

TEST(vectors, "Do readv and writev take their parts in order?")
{
	char a[3], b[4], c[8];
	struct iovec out[3] = { { "one", 3 }, { "", 0 }, { "two3", 4 } }, in[3] = { { a, 3 }, { b, 4 }, { c, 8 } };
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));

	IS(writev(fd, out, 3), 7);
	TRUE(file_is("a", "onetwo3"));
	OK(lseek(fd, 0, SEEK_SET));
	IS(readv(fd, in, 3), 7);
	TRUE(memcmp(a, "one", 3) == 0 && memcmp(b, "two3", 4) == 0);
	IS(readv(fd, in, 3), 0);
	IS(preadv(fd, in, 2, 2), 5);
	TRUE(memcmp(a, "etw", 3) == 0 && memcmp(b, "o3", 2) == 0);
	IS(pwritev(fd, out, 3, 1), 7);
	TRUE(file_is("a", "oonetwo3"));
	IS(lseek(fd, 0, SEEK_CUR), 7);
}

TEST(vectors_errors, "Do readv and writev refuse bad vectors?")
{
	static struct iovec many[1025];
	char byte;
	struct iovec negative = { &byte, (size_t)-1 };
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));

	IS(writev(fd, many, 0), 0);
	IS(writev(fd, many, 1024), 0);
	FAILS(writev(fd, many, 1025), EINVAL);
	FAILS(RAW(SYS_readv, fd, many, -1), EINVAL);
	FAILS(readv(fd, &negative, 1), EINVAL);
	FAILS(readv(99, many, 1), EBADF);
	FAULTS(RAW(SYS_readv, fd, wild, 2));
	FAULTS(RAW(SYS_writev, fd, wild, 2));
}

TEST(vectors_wild, "Does writev write what comes before a wild part, and nothing else?")
{
	struct iovec parts[2] = { { "good", 4 }, { wild_pointer(0), 4 } }, first[2] = { parts[1], parts[0] };
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));

	IS(writev(fd, parts, 2), 4);
	TRUE(file_is("a", "good"));
	FAILS(writev(fd, first, 2), EFAULT);
	TRUE(file_is("a", "good"));
}

TEST(append, "Does each write with O_APPEND go to the end, whoever wrote last?")
{
	int first, second;

	first = made_file("a", "0", O_WRONLY | O_APPEND);
	second = (int)OK(open("a", O_WRONLY | O_APPEND));
	IS(write(first, "1", 1), 1);
	IS(write(second, "2", 1), 1);
	OK(lseek(first, 0, SEEK_SET));
	IS(write(first, "3", 1), 1);
	IS(lseek(first, 0, SEEK_CUR), 4);
	TRUE(file_is("a", "0123"));
	OK(fcntl(second, F_SETFL, 0));
	OK(lseek(second, 0, SEEK_SET));
	IS(write(second, "x", 1), 1);
	TRUE(file_is("a", "x123"));
}

TEST(append_pwrite, "Does pwrite to an O_APPEND file append, as Linux has it?")
{
	int fd;

	fd = made_file("a", "abc", O_WRONLY | O_APPEND);
	IS(pwrite(fd, "x", 1, 0), 1);
	TRUE(file_is("a", "abcx"));
}

TEST(unlink_open, "Does a file live on without a name while it is open?")
{
	char text[8];
	struct stat st;
	int fd;

	fd = made_file("a", "alive", O_RDWR);
	OK(unlink("a"));
	FAILS(open("a", O_RDONLY), ENOENT);
	OK(fstat(fd, &st));
	IS(st.st_nlink, 0);
	IS(read(fd, text, 8), 5);
	IS(write(fd, "more", 4), 4);
	IS(pread(fd, text, 8, 5), 4);
	make_file("a", "new");
	IS(pread(fd, text, 8, 0), 8);
}

TEST(devices, "Do /dev/null and /dev/zero read and write as they should?")
{
	char text[64];
	struct stat st;
	int null = (int)OK(open("/dev/null", O_RDWR)), zero = (int)OK(open("/dev/zero", O_RDWR));

	IS(write(null, text, 64), 64);
	IS(read(null, text, 64), 0);
	memset(text, 1, sizeof text);
	IS(read(zero, text, 64), 64);
	for (int i = 0; i < 64; i++)
		IS(text[i], 0);
	IS(write(zero, text, 64), 64);
	FAULTS(RAW(SYS_read, zero, wild, 1));
	OK(fstat(null, &st));
	IS(st.st_mode & S_IFMT, S_IFCHR);
	IS(st.st_rdev, 0x103);
	IS(stat("/dev/zero", &st), 0);
	IS(st.st_rdev, 0x105);
	FAILS(ioctl(null, TIOCGWINSZ, text), ENOTTY);
}

TEST(write_full, "Does /dev/full say that there is no room?")
{
	int fd = open("/dev/full", O_RDWR);
	char byte = 1;

	if (fd < 0 && errno == ENOENT)
		skip("no such device here");
	OK(fd);
	FAILS(write(fd, "x", 1), ENOSPC);
	IS(read(fd, &byte, 1), 1);
	IS(byte, 0);
}

TEST(write_concurrent, "Do processes that append at the same time lose no record?")
{
	enum { WRITERS = 4, RECORDS = 100 };
	struct {
		int writer, number;
	} record;
	int fd, next[WRITERS] = { 0 };
	pid_t pid[WRITERS];

	make_file("a", "");
	for (int i = 0; i < WRITERS; i++) {
		START_CHILD (pid[i]) {
			fd = (int)OK(open("a", O_WRONLY | O_APPEND));
			for (int k = 0; k < RECORDS; k++) {
				record.writer = i;
				record.number = k;
				IS(write(fd, &record, sizeof record), sizeof record);
				if (k % 10 == 0)
					sched_yield();
			}
		}
	}
	for (int i = 0; i < WRITERS; i++)
		IS(reap(pid[i]), 0);
	fd = (int)OK(open("a", O_RDONLY));
	for (int k = 0; k < WRITERS * RECORDS; k++) {
		IS(read(fd, &record, sizeof record), sizeof record);
		TRUE(record.writer >= 0 && record.writer < WRITERS);
		IS(record.number, next[record.writer]++);
	}
	IS(read(fd, &record, sizeof record), 0);
}

TEST(truncated_pages, "Is what was cut off zeros where a file grows again, page by page, read and mapped?")
{
	int fd = (int)OK(open("file", O_RDWR | O_CREAT, 0600));
	char text[4 * PAGE], *map;

	memset(text, 'x', sizeof text);
	IS(write(fd, text, sizeof text), (long)sizeof text);
	OK(ftruncate(fd, 10));
	IS(pwrite(fd, "y", 1, 2 * PAGE), 1);
	OK(ftruncate(fd, 4 * PAGE));
	map = mapped(4 * PAGE, PROT_READ, MAP_SHARED, fd);
	IS(pread(fd, text, sizeof text, 0), (long)sizeof text);
	for (long at = 0; at < 4 * PAGE; at++) {
		const char wanted = at < 10 ? 'x' : at == 2 * PAGE ? 'y' : '\0';

		IS(text[at], wanted);
		IS(map[at], wanted);
	}
}
