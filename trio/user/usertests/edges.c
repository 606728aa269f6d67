/* edges.c: memory that ends in the middle of what a call needs, or that is read-only. */
#include "usertests.h"

/* The last `n` bytes of a page before an inaccessible one. */
static char *before_the_end(size_t n)
{
	char *at = room(2 * PAGE);

	OK(mprotect(at + PAGE, PAGE, PROT_NONE));
	return at + PAGE - n;
}

/* The address of a function's code. */
static void *code_of(pid_t (*function)(void))
{
	return (void *)(uintptr_t)function;
}

TEST(edge_path, "Is a path read up to its NUL, and no byte further?")
{
	char *path = before_the_end(5);

	make_file("file", "");
	strcpy(path, "file");
	OK(close((int)OK(open(path, O_RDONLY))));
	path[4] = 's';
	FAILS(open(path, O_RDONLY), EFAULT);
	FAILS(mkdir(path, 0755), EFAULT);
}

TEST(edge_structures, "Does a structure that ends at the page's end fit, and one byte less not?")
{
	struct stat *st = (struct stat *)(void *)before_the_end(sizeof *st);
	struct timespec *t = (struct timespec *)(void *)before_the_end(sizeof *t);
	int *ends = (int *)(void *)before_the_end(sizeof(int[2])), last;

	make_file("file", "");
	OK(RAW(SYS_stat, "file", st));
	FAILS(RAW(SYS_stat, "file", (char *)st + 1), EFAULT);
	OK(RAW(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, t));
	FAILS(RAW(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (char *)t + 1), EFAULT);
	OK(RAW(SYS_pipe, ends));
	last = ends[1];
	FAILS(RAW(SYS_pipe, (char *)ends + 1), EFAULT);
	/* The pipe whose descriptors could not be written is closed. */
	IS(dup(0), last + 1);
}

TEST(edge_file, "Does a file's read or write go as far as the memory does?")
{
	char *at = before_the_end(10);
	int fd;

	fd = made_file("file", "0123456789abcdefghij", O_RDWR);
	IS(RAW(SYS_read, fd, at, 20), 10);
	TRUE(memcmp(at, "0123456789", 10) == 0);
	IS(RAW(SYS_pwrite64, fd, at, 20, 5), 10);
	TRUE(file_is("file", "012340123456789fghij"));
}

TEST(edge_pipe, "Does a pipe keep what a read had no memory for?")
{
	char *at = before_the_end(10), text[32];
	int ends[2];

	OK(pipe(ends));
	IS(write(ends[1], "0123456789abcdefghij", 20), 20);
	FAILS(RAW(SYS_read, ends[0], at, 20), EFAULT);
	IS(read(ends[0], text, sizeof text), 20);
	TRUE(memcmp(text, "0123456789abcdefghij", 20) == 0);
}

TEST(edge_read_only, "Does no call write where the program may not?")
{
	static const char constant[4096] = "constant";
	char *at = mapped(PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int zero = (int)OK(open("/dev/zero", O_RDONLY)), fd;

	fd = made_file("file", "text", O_RDONLY);
	FAILS(RAW(SYS_read, fd, at, 4), EFAULT);
	FAILS(RAW(SYS_read, zero, at, 4), EFAULT);
	FAILS(RAW(SYS_read, zero, constant, 4), EFAULT);
	FAILS(RAW(SYS_read, zero, code_of(fork_checked), 4), EFAULT);
	FAILS(RAW(SYS_stat, "file", at), EFAULT);
	FAILS(RAW(SYS_getcwd, at, PAGE), EFAULT);
	FAILS(RAW(SYS_pipe, at), EFAULT);
	FAILS(RAW(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, at), EFAULT);
	TRUE(strcmp(constant, "constant") == 0);
	IS(at[0], 0);
	/* Reading is allowed. */
	OK(RAW(SYS_write, OK(open("/dev/null", O_WRONLY)), at, PAGE));
}

TEST(edge_fork, "Does a call write to the child's page alone that parent and child share?")
{
	char *at = before_the_end(PAGE);
	int zero = (int)OK(open("/dev/zero", O_RDONLY));

	memset(at, 'x', PAGE);
	IN_CHILD (0) {
		IS(read(zero, at, PAGE), PAGE);
		_exit(at[0] + at[PAGE - 1]);
	}
	IS(at[0], 'x');
	IS(at[PAGE - 1], 'x');
}

TEST(edge_cow_protection, "Is a page private after mprotect to and fro around a fork?")
{
	char *at = before_the_end(PAGE);

	at[0] = 1;
	OK(mprotect(at, PAGE, PROT_READ));
	IN_CHILD (2) {
		OK(mprotect(at, PAGE, PROT_READ | PROT_WRITE));
		at[0] = 2;
		_exit(at[0]);
	}
	IS(at[0], 1);
	OK(mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	at[0] = 3;
	IS(at[0], 3);
}

TEST(edge_file_shrinks, "Does a mapped file that shrinks give SIGBUS, and show what it grows by?")
{
	volatile char *at;
	int fd = (int)OK(open("file", O_RDWR | O_CREAT, 0644));

	OK(ftruncate(fd, 2 * PAGE));
	at = mapped(4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	at[PAGE] = 'x';
	OK(ftruncate(fd, PAGE));
	IN_CHILD (128 + SIGBUS)
		_exit(at[PAGE]);
	OK(ftruncate(fd, 4 * PAGE));
	IS(at[PAGE], 0);
	at[3 * PAGE] = 'y';
	IS(file_size("file"), 4 * PAGE);
	IS(pread(fd, (char *)at, 1, 3 * PAGE), 1);
	IS(at[0], 'y');
}
