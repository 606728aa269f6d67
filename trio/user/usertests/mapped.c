/* mapped.c: pages of a file that come when they are touched: by the program, by the kernel's copies for it, while the
 * file is written, truncated or unlinked, and while waiters are stopped. On a disk the pages must be waited for. */
#include "usertests.h"

#include <setjmp.h>

#define PAGES 40
#define BYTES (PAGES * PAGE)

/* Makes a file of known bytes. */
static void make_pages(const char *name, unsigned seed)
{
	char *bytes = fill(room(BYTES), BYTES, seed);
	int fd = (int)OK(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644));

	IS(write(fd, bytes, BYTES), BYTES);
	OK(close(fd));
	OK(munmap(bytes, BYTES));
}

static char *map_pages(const char *name, int protection, int flags)
{
	int fd = (int)OK(open(name, O_RDWR));
	char *at = mapped(BYTES, protection, flags, fd);

	OK(close(fd));
	return at;
}

TEST(mapped_copied_in, "Does one write of untouched pages write them all, at its place and at another?")
{
	char *at;
	int fd;

	make_pages("f", 1);
	fd = (int)OK(open("g", O_RDWR | O_CREAT, 0644));
	at = map_pages("f", PROT_READ, MAP_PRIVATE);
	IS(write(fd, at, BYTES), BYTES);
	OK(munmap(at, BYTES));
	at = map_pages("g", PROT_READ, MAP_SHARED);
	TRUE(filled(at, BYTES, 1));
	OK(munmap(at, BYTES));
	at = map_pages("f", PROT_READ, MAP_PRIVATE);
	IS(pwrite(fd, at, BYTES, BYTES - 100), BYTES);
	IS(file_size("g"), 2 * BYTES - 100);
	OK(ftruncate(fd, 0));
	IS(pwrite(fd, at, BYTES, 0), BYTES);
	at = map_pages("g", PROT_READ, MAP_SHARED);
	TRUE(filled(at, BYTES, 1));
}

TEST(mapped_copied_out, "Does one read into untouched pages read all that there is?")
{
	int fd;
	char *at;

	make_pages("f", 1);
	make_pages("g", 2);
	fd = (int)OK(open("g", O_RDONLY));
	at = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	IS(read(fd, at + 10, BYTES - 10), BYTES - 10);
	TRUE(filled(at + 10, BYTES - 10, 2));
	at = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	IS(pread(fd, at, BYTES, 0), BYTES);
	TRUE(filled(at, BYTES, 2));
	at = map_pages("f", PROT_READ, MAP_PRIVATE);
	TRUE(filled(at, BYTES, 1));
}

TEST(mapped_pipe, "Is what goes through a pipe from and to untouched pages whole?")
{
	char *from, *to;
	pid_t pid;
	int ends[2];

	make_pages("f", 3);
	make_pages("g", 4);
	OK(pipe(ends));
	START_CHILD (pid) {
		from = map_pages("f", PROT_READ, MAP_PRIVATE);
		_exit(write(ends[1], from, BYTES) != BYTES);
	}
	OK(close(ends[1]));
	to = map_pages("g", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	IS(read_all(ends[0], to, BYTES), BYTES);
	IS(reap(pid), 0);
	TRUE(filled(to, BYTES, 3));
}

TEST(mapped_names, "Are names, vectors and structures in untouched pages found?")
{
	struct iovec *vectors;
	char *at;
	int fd;

	make_file("f", "");
	OK(truncate("f", BYTES));
	fd = (int)OK(open("f", O_RDWR));
	IS(pwrite(fd, "a name", 7, 2 * PAGE), 7);
	IS(pwrite(fd, "f", 2, 3 * PAGE - 1), 2);
	at = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	OK(close((int)OK(open(at + 3 * PAGE - 1, O_RDONLY))));
	OK(mkdir(at + 2 * PAGE, 0755));
	OK(access("a name", F_OK));
	OK(fstat(fd, (struct stat *)(at + 18 * PAGE - 8)));
	IS(((struct stat *)(at + 18 * PAGE - 8))->st_size, BYTES);
	vectors = (struct iovec *)(at + 20 * PAGE - 16);
	vectors[0] = (struct iovec){ at + 22 * PAGE, 2 };
	vectors[1] = (struct iovec){ at + 2 * PAGE, 6 };
	IS(pwritev(fd, vectors, 2, 0), 8);
	TRUE(memcmp(at, "\0\0a name", 8) == 0);
}

TEST(mapped_asked, "Are mincore's vector and a futex's word found in untouched pages?")
{
	char *at, *other;

	make_pages("f", 13);
	at = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	other = map_pages("f", PROT_READ, MAP_PRIVATE);
	FAILS(RAW(SYS_futex, at + 20 * PAGE, 0 /* FUTEX_WAIT */, 1), EAGAIN);
	FAILS(RAW(SYS_futex, at + 39 * PAGE, 4 /* FUTEX_CMP_REQUEUE */, 1, 1, at, 1), EAGAIN);
	/* The vector has a byte at the end of one page and one at the beginning of the next. */
	OK(mincore(other, 2 * PAGE, (unsigned char *)at + 3 * PAGE - 1));
	TRUE((at[3 * PAGE - 1] | at[3 * PAGE] | 1) == 1);
	TRUE(filled(at + 2 * PAGE, PAGE - 1, 13 + 2 * PAGE));
	TRUE(filled(at + 3 * PAGE + 1, PAGE - 1, 13 + 3 * PAGE + 1));
	TRUE(filled(other, BYTES, 13));
	FAILS(mincore(at, PAGE, (unsigned char *)other + 30 * PAGE), EFAULT);
	OK(ftruncate((int)OK(open("f", O_RDWR)), 10 * PAGE));
	FAILS(mincore(at, PAGE, (unsigned char *)at + 11 * PAGE), EFAULT);
	FAILS(RAW(SYS_futex, at + 11 * PAGE, 0 /* FUTEX_WAIT */, 1), EFAULT);
}

TEST(mapped_written, "Does a mapping show what is written to the file, and a private page that was written not?")
{
	char *shared, *private;
	int fd;

	make_pages("f", 5);
	shared = map_pages("f", PROT_READ, MAP_SHARED);
	private = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	IS(shared[0], private[0]);
	private[PAGE] = 'p';
	fd = (int)OK(open("f", O_RDWR));
	IS(pwrite(fd, "012345", 6, PAGE - 3), 6);
	TRUE(memcmp(shared + PAGE - 3, "012345", 6) == 0);
	TRUE(memcmp(private + PAGE - 3, "012", 3) == 0);
	IS(private[PAGE], 'p');
	/* Pages that nobody has touched yet, and pages beyond the end. */
	IS(pwrite(fd, "abcdef", 6, 30 * PAGE - 3), 6);
	TRUE(memcmp(shared + 30 * PAGE - 3, "abcdef", 6) == 0);
	TRUE(memcmp(private + 30 * PAGE - 3, "abcdef", 6) == 0);
	OK(ftruncate(fd, BYTES - 2 * PAGE - 5));
	IS(shared[BYTES - 2 * PAGE - 5], 0);
	IS(pwrite(fd, "end", 3, BYTES - 3), 3);
	TRUE(memcmp(shared + BYTES - 3, "end", 3) == 0);
	IS(shared[BYTES - PAGE - 5], 0);
}

static sigjmp_buf before_touch;

static void jump_back(int signal)
{
	siglongjmp(before_touch, signal);
}

/* Returns the signal that a read at `at` causes, or 0. */
static int touch_gives(const char *at)
{
	int signal = sigsetjmp(before_touch, 1);

	if (signal == 0)
		(void)*(const volatile char *)at;
	return signal;
}

TEST(mapped_cut, "Does a page that is cut off give SIGBUS and EFAULT, and zeros when the file grows again?")
{
	char *at;
	int fd;

	handle(SIGBUS, jump_back, 0);
	make_pages("f", 6);
	at = map_pages("f", PROT_READ, MAP_PRIVATE);
	IS(touch_gives(at + 3 * PAGE), 0);
	OK(truncate("f", 3 * PAGE + 1));
	IS(touch_gives(at + 4 * PAGE), SIGBUS);
	IS(touch_gives(at + 30 * PAGE), SIGBUS);
	IS(touch_gives(at + 3 * PAGE), 0);
	fd = (int)OK(open("g", O_WRONLY | O_CREAT, 0644));
	FAILS(write(fd, at + 4 * PAGE, 1), EFAULT);
	OK(truncate("f", BYTES));
	IS(touch_gives(at + 30 * PAGE), 0);
	IS(at[30 * PAGE] | at[3 * PAGE + 1] | at[4 * PAGE], 0);
	IS(write(fd, at + 36 * PAGE, 1), 1);
}

TEST(mapped_unlinked, "Does the mapping of a file that is closed and unlinked keep its pages?")
{
	char *at;

	make_pages("f", 7);
	at = map_pages("f", PROT_READ, MAP_SHARED);
	OK(unlink("f"));
	make_pages("f", 8);
	TRUE(filled(at, BYTES, 7));
	OK(munmap(at, BYTES));
	OK(unlink("f"));
}

TEST(mapped_fork, "Do parent and child bring the same pages, and each write its own?")
{
	char *at;
	pid_t pid;

	make_pages("f", 9);
	at = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	pid = fork_checked();
	fill(at + (pid == 0 ? 0 : 20) * PAGE, 20 * PAGE, 1);
	if (pid == 0)
		_exit(!filled(at, 20 * PAGE, 1));
	IS(reap(pid), 0);
	TRUE(filled(at + 20 * PAGE, 20 * PAGE, 1));
	at = mremap(at, BYTES, 10 * PAGE, 0);
	OK(at);
	TRUE(filled(at, 10 * PAGE, 9));
}

TEST(mapped_populated, "Are pages there at once with MAP_POPULATE and after mlock, and soon with MADV_WILLNEED?")
{
	char *at;

	make_pages("f", 10);
	at = map_pages("f", PROT_READ, MAP_PRIVATE | MAP_POPULATE);
	IS(pages_there(at, PAGES), PAGES);
	OK(munmap(at, BYTES));
	make_pages("g", 11);
	at = map_pages("g", PROT_READ, MAP_PRIVATE);
	OK(mlock(at, 3 * PAGE));
	TRUE(pages_there(at, PAGES) >= 3);
	TRUE(filled(at, BYTES, 11));
	make_pages("h", 12);
	at = map_pages("h", PROT_READ, MAP_SHARED);
	OK(madvise(at, BYTES, MADV_WILLNEED));
	for (int tries = 0; pages_there(at, PAGES) < PAGES; tries++) {
		TRUE(tries < 500);
		sleep_ms(10);
	}
	TRUE(filled(at, BYTES, 12));
}

TEST(mapped_interrupted, "Do pages come whole, and calls end whole, while signals arrive?")
{
	int fd;

	tick(1, catch, 0);
	fd = (int)OK(open("g", O_RDWR | O_CREAT, 0644));
	for (unsigned round = 0; round < 10; round++) {
		char *at;

		make_pages("f", round);
		at = map_pages("f", PROT_READ, MAP_PRIVATE);
		TRUE(filled(at, BYTES, round));
		OK(munmap(at, BYTES));
		at = map_pages("f", PROT_READ, MAP_PRIVATE);
		IS(pwrite(fd, at, BYTES, 0), BYTES);
		OK(munmap(at, BYTES));
		at = map_pages("f", PROT_READ | PROT_WRITE, MAP_PRIVATE);
		OK(mincore(at, BYTES, (unsigned char *)at + 20 * PAGE - PAGES / 2));
		OK(munmap(at, BYTES));
		OK(unlink("f"));
	}
	tick(0, NULL, 0);
}

static void *read_pages(void *at)
{
	for (long i = 0; i < BYTES; i += PAGE)
		(void)*(volatile char *)((char *)at + i);
	return NULL;
}

TEST(mapped_threads, "Do threads that touch the same pages all get them, whoever unmaps or kills?")
{
	for (int round = 0; round < 8; round++) {
		pthread_t threads[4];
		char *at;
		pid_t pid;

		make_pages("f", (unsigned)round);
		at = map_pages("f", PROT_READ, MAP_SHARED);
		pid = fork_checked();
		if (pid == 0)
			for (;;) {
				read_pages(at);
				OK(madvise(at, BYTES, MADV_DONTNEED));
			}
		for (int i = 0; i < 4; i++)
			threads[i] = start_thread(read_pages, at);
		for (int i = 0; i < 4; i++)
			IS(pthread_join(threads[i], NULL), 0);
		TRUE(filled(at, BYTES, (unsigned)round));
		kill_and_reap(pid);
		OK(munmap(at, BYTES));
		OK(unlink("f"));
	}
}
