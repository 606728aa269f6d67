/* memory.c: address spaces: mappings, protection, copy-on-write, the break. */
#include "usertests.h"

#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define RW (PROT_READ | PROT_WRITE)

/* Returns what a store (or load) does to a child: 0, or 128 + the signal. */
static int touch(volatile char *at, int store)
{
	pid_t pid;

	START_CHILD (pid) {
		if (store)
			*at = 1;
		else
			(void)*at;
	}
	return reap(pid);
}

TEST(mmap_zero, "Is fresh memory zero, and gone after munmap?")
{
	char *at = room(16 * PAGE);

	IS((long)at % PAGE, 0);
	for (long i = 0; i < 16 * PAGE; i++)
		if (at[i])
			fail("byte %ld of fresh memory is %d", i, at[i]);
	fill(at, 16 * PAGE, 1);
	OK(munmap(at, 16 * PAGE));
	IS(touch(at, 0), 128 + SIGSEGV);
	IS(touch(at + 15 * PAGE, 1), 128 + SIGSEGV);
}

TEST(mmap_errors, "Does mmap refuse what it should?")
{
	int fd, out;

	fd = made_file("a", "text", O_RDONLY);
	out = (int)OK(open("a", O_WRONLY));
	FAILS(mmap(NULL, 0, RW, ANON, -1, 0), EINVAL);
	FAILS(RAW(SYS_mmap, 0, PAGE, RW, MAP_ANONYMOUS, -1, 0), EINVAL);
	FAILS(RAW(SYS_mmap, 0, PAGE, RW, ANON, -1, 100), EINVAL);
	FAILS(RAW(SYS_mmap, 100, PAGE, RW, ANON | MAP_FIXED, -1, 0), EINVAL);
	FAILS(RAW(SYS_mmap, 0, 1L << 50, RW, ANON, -1, 0), ENOMEM);
	FAILS(RAW(SYS_mmap, 0, -1, RW, ANON, -1, 0), ENOMEM);
	FAILS(RAW(SYS_mmap, 0x7ffffffff000, PAGE, RW, ANON | MAP_FIXED, -1, 0), ENOMEM);
	FAILS(RAW(SYS_mmap, 0xffff800000000000, PAGE, RW, ANON | MAP_FIXED, -1, 0), ENOMEM);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0), EBADF);
	FAILS(mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0), EACCES);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, out, 0), EACCES);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, (int)OK(open(".", O_RDONLY)), 0), ENODEV);
	OK(mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, 0));
}

TEST(mmap_fixed, "Does MAP_FIXED replace what was there, and MAP_FIXED_NOREPLACE not?")
{
	char *at = room(4 * PAGE);

	memset(at, 1, 4 * PAGE);
	IS(mmap(at + PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0), at + PAGE);
	IS(at[0], 1);
	IS(at[PAGE], 0);
	IS(at[2 * PAGE], 1);
	FAILS(mmap(at + PAGE, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
}

TEST(munmap, "Does munmap cut a hole, and refuse what it should?")
{
	char *at = room(5 * PAGE);

	memset(at, 1, 5 * PAGE);
	OK(munmap(at + 2 * PAGE, PAGE));
	IS(touch(at + 2 * PAGE, 0), 128 + SIGSEGV);
	IS(at[PAGE] + at[3 * PAGE], 2);
	OK(munmap(at + 2 * PAGE, PAGE));
	OK(munmap(at, 5 * PAGE));
	FAILS(munmap(at + 1, PAGE), EINVAL);
	FAILS(munmap(at, 0), EINVAL);
	FAILS(RAW(SYS_munmap, 0xffff800000000000, PAGE), EINVAL);
	OK(munmap(room(PAGE), 1));
}

TEST(mprotect, "Does mprotect take rights away and give them back, page by page?")
{
	char *at = room(3 * PAGE);

	memset(at, 7, 3 * PAGE);
	OK(mprotect(at + PAGE, PAGE, PROT_READ));
	IS(touch(at, 1), 0);
	IS(touch(at + PAGE, 0), 0);
	IS(touch(at + PAGE, 1), 128 + SIGSEGV);
	IS(touch(at + 2 * PAGE, 1), 0);
	OK(mprotect(at, 3 * PAGE, PROT_NONE));
	IS(touch(at, 0), 128 + SIGSEGV);
	OK(mprotect(at, 3 * PAGE, RW));
	IS(at[PAGE], 7);
	at[PAGE] = 8;
	FAILS(RAW(SYS_mprotect, at + 1, PAGE, RW), EINVAL);
	FAILS(RAW(SYS_mprotect, at, PAGE, 0x100), EINVAL);
	OK(munmap(at + PAGE, PAGE));
	FAILS(mprotect(at, 3 * PAGE, RW), ENOMEM);
	OK(mprotect(at, 0, RW));
}

TEST(no_execute, "Can memory be executed with PROT_EXEC alone?")
{
	/* mov $42, %eax; ret */
	static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
	unsigned char *at = (unsigned char *)room(PAGE);

	memcpy(at, code, sizeof code);
	IN_CHILD (128 + SIGSEGV)
		_exit(((int (*)(void))(uintptr_t)at)());
	OK(mprotect(at, PAGE, PROT_READ | PROT_EXEC));
	IS(((int (*)(void))(uintptr_t)at)(), 42);
}

TEST(copy_on_write, "Do parent and child each keep what they write after fork?")
{
	static int data = 1;
	char *at = room(8 * PAGE);
	int ends[2], stack = 1;
	pid_t pid;

	OK(pipe(ends));
	memset(at, 'p', 8 * PAGE);
	START_CHILD (pid) {
		memset(at, 'c', 4 * PAGE);
		data = stack = 2;
		get(ends[0]);
		for (int i = 0; i < 8; i++)
			IS(at[i * PAGE], i < 4 ? 'c' : 'p');
		IS(data + stack, 4);
	}
	for (int i = 2; i < 6; i++)
		at[i * PAGE] = 'n';
	put(ends[1]);
	IS(reap(pid), 0);
	for (int i = 0; i < 8; i++)
		IS(at[i * PAGE], i >= 2 && i < 6 ? 'n' : 'p');
	IS(data + stack, 2);
}

TEST(copy_on_write_kernel, "Is a page copied too when the kernel writes to it?")
{
	char *at = room(PAGE);
	int ends[2];

	OK(pipe(ends));
	strcpy(at, "parent");
	IN_CHILD (0) {
		IS(write(ends[1], "child", 6), 6);
		IS(read(ends[0], at, 6), 6);
		TRUE(strcmp(at, "child") == 0);
	}
	TRUE(strcmp(at, "parent") == 0);
}

TEST(copy_on_write_generations, "Does copy-on-write hold over three generations?")
{
	char *at = room(2 * PAGE);

	at[0] = 1;
	IN_CHILD (2) {
		at[0] = 2;
		IN_CHILD (3) {
			IS(at[0], 2);
			at[0] = 3;
			_exit(at[0]);
		}
		_exit(at[0]);
	}
	IS(at[0], 1);
}

TEST(shared_memory, "Does a shared mapping show each process what the other writes?")
{
	volatile int *at = shared_room(2 * PAGE);

	IN_CHILD (0) {
		at[0] = 5;
		at[PAGE / 4] = 6;
	}
	IS(at[0], 5);
	IS(at[PAGE / 4], 6);
}

TEST(mmap_file, "Does a private file mapping show the file and keep writes to itself?")
{
	char *at, text[8];
	int fd;

	fd = made_file("a", "0123456789", O_RDWR);
	at = mapped(PAGE, RW, MAP_PRIVATE, fd);
	TRUE(memcmp(at, "0123456789", 10) == 0);
	IS(at[10] + at[PAGE - 1], 0);
	at[0] = 'x';
	IS(pread(fd, text, 1, 0), 1);
	IS(text[0], '0');
	OK(close(fd));
	OK(unlink("a"));
	IS(at[9], '9');
	OK(munmap(at, PAGE));
}

TEST(mmap_file_offset, "Does a file mapping start at its offset?")
{
	int fd = (int)OK(open("a", O_RDWR | O_CREAT, 0644));
	char text[PAGE], *at;

	for (int i = 0; i < 4; i++) {
		memset(text, 'a' + i, PAGE);
		IS(write(fd, text, PAGE), PAGE);
	}
	at = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 2 * PAGE);
	OK(at);
	IS(at[0], 'c');
	IS(at[2 * PAGE - 1], 'd');
	IS(touch(at, 1), 128 + SIGSEGV);
}

TEST(mmap_file_shared, "Does a shared file mapping write the file?")
{
	char *at, *other;
	int fd;

	fd = made_file("a", "0123456789", O_RDWR);
	at = mapped(PAGE, RW, MAP_SHARED, fd);
	other = mapped(PAGE, RW, MAP_SHARED, fd);
	at[0] = 'x';
	IS(other[0], 'x');
	OK(msync(at, PAGE, MS_SYNC));
	TRUE(file_is("a", "x123456789"));
	IS(pwrite(fd, "y", 1, 1), 1);
	IS(at[1], 'y');
	IN_CHILD (0) {
		at[2] = 'z';
	}
	IS(other[2], 'z');
	OK(munmap(at, PAGE));
	OK(munmap(other, PAGE));
	TRUE(file_is("a", "xyz3456789"));
}

TEST(mmap_beyond_end, "Does a page wholly beyond a file's end give SIGBUS?")
{
	char *at;
	int fd;

	fd = made_file("a", "text", O_RDWR);
	at = mapped(3 * PAGE, RW, MAP_PRIVATE, fd);
	IS(touch(at + PAGE - 1, 0), 0);
	IS(touch(at + PAGE, 0), 128 + SIGBUS);
	FAILS(write(fd, at + PAGE, 1), EFAULT);
}

TEST(brk, "Does brk grow with zeros, shrink, and stay where it cannot go?")
{
	long start = RAW(SYS_brk, 0), next = (start + PAGE - 1) / PAGE * PAGE;

	IS(RAW(SYS_brk, next + 3 * PAGE), next + 3 * PAGE);
	for (char *at = (char *)next; at < (char *)next + 3 * PAGE; at++)
		if (*at)
			fail("fresh memory below the break is not zero");
	memset((char *)next, 1, 3 * PAGE);
	IS(RAW(SYS_brk, next + PAGE), next + PAGE);
	IS(touch((char *)next + PAGE, 0), 128 + SIGSEGV);
	IS(RAW(SYS_brk, next + 2 * PAGE), next + 2 * PAGE);
	IS(*(char *)(next + PAGE), 0);
	IS(*(char *)next, 1);
	IS(RAW(SYS_brk, 16), next + 2 * PAGE);
	IS(RAW(SYS_brk, -PAGE), next + 2 * PAGE);
	IS(RAW(SYS_brk, start), start);
}

TEST(mremap, "Does mremap grow, shrink and move with the content?")
{
	char *at = room(4 * PAGE), *to;

	fill(at, 4 * PAGE, 5);
	OK(munmap(at + 2 * PAGE, 2 * PAGE));
	to = mremap(at, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	OK(to);
	TRUE(filled(to, 2 * PAGE, 5));
	IS(to[63 * PAGE], 0);
	IS(mremap(to, 64 * PAGE, PAGE, 0), to);
	TRUE(filled(to, PAGE, 5));
	IS(touch(to + PAGE, 0), 128 + SIGSEGV);
	at = room(3 * PAGE);
	IS(RAW(SYS_mremap, to, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + PAGE), at + PAGE);
	TRUE(filled(at + PAGE, PAGE, 5));
	IS(touch(to, 0), 128 + SIGSEGV);
	FAILS(mremap(at + PAGE, PAGE, 1 << 30, 0), ENOMEM);
	FAILS(mremap(to + 1, PAGE, PAGE, MREMAP_MAYMOVE), EINVAL);
	FAILS(RAW(SYS_mremap, at, PAGE, 0, 0, 0), EINVAL);
	FAILS(RAW(SYS_mremap, at, PAGE, PAGE, 77, 0), EINVAL);
	FAILS(mremap(to, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EFAULT);
}

TEST(madvise, "Does MADV_DONTNEED give back zeros, and does madvise refuse what it should?")
{
	char *at = room(3 * PAGE);

	memset(at, 1, 3 * PAGE);
	OK(madvise(at + PAGE, PAGE, MADV_DONTNEED));
	IS(at[0], 1);
	IS(at[PAGE], 0);
	IS(at[2 * PAGE], 1);
	FAILS(madvise(at + 1, PAGE, MADV_DONTNEED), EINVAL);
	FAILS(madvise(at, PAGE, 9999), EINVAL);
	OK(munmap(at + PAGE, PAGE));
	FAILS(madvise(at, 3 * PAGE, MADV_DONTNEED), ENOMEM);
	OK(madvise(at, 0, MADV_DONTNEED));
}

TEST(beyond, "Is nothing mapped above a program's addresses, whatever is asked of a range there?")
{
	static const int advice[] = { MADV_DONTNEED, MADV_FREE, MADV_WILLNEED, MADV_DONTFORK, MADV_DOFORK };
	char *top = (char *)(1UL << 63), *at = room(2 * PAGE);
	size_t to_the_end = (size_t)-PAGE - (size_t)at;

	FAILS(mremap(top + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EFAULT);
	for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
		FAILS(madvise(top - PAGE, 2 * PAGE, advice[i]), ENOMEM);
		FAILS(madvise(top + PAGE, PAGE, advice[i]), ENOMEM);
	}
	FAILS(madvise(at, to_the_end, MADV_NORMAL), ENOMEM);
	FAILS(msync(at, to_the_end, MS_ASYNC), ENOMEM);
	FAILS(msync(top + PAGE, PAGE, MS_ASYNC), ENOMEM);
	fill(at, 2 * PAGE, 5);
	OK(munmap(at, 2 * PAGE));
}

TEST(too_long, "Is a fixed mapping whose length, in pages, is beyond 64 bits refused, and nothing changed?")
{
	static const int kinds[] = { MAP_PRIVATE, MAP_SHARED };
	size_t pages = 4096;
	char *at = room(pages * PAGE);

	memset(at, 5, pages * PAGE);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		/* The C library's mmap() refuses this length itself. */
		for (size_t length = SIZE_MAX; length >= SIZE_MAX - PAGE; length -= PAGE)
			FAILS(syscall(SYS_mmap, at + PAGE, length, RW, kinds[i] | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			      ENOMEM);
	}
	OK(mprotect(at, 2 * PAGE, PROT_READ));
	IS(at[PAGE], 5);
	IS(at[2 * PAGE], 5);
	OK(munmap(at, pages * PAGE));
}

TEST(msync_errors, "Does msync refuse what it should?")
{
	char *at = room(2 * PAGE);

	OK(msync(at, 2 * PAGE, MS_SYNC));
	OK(msync(at, 2 * PAGE, MS_ASYNC));
	FAILS(msync(at + 1, PAGE, MS_SYNC), EINVAL);
	FAILS(msync(at, PAGE, MS_SYNC | MS_ASYNC), EINVAL);
	FAILS(msync(at, PAGE, 0x100), EINVAL);
	OK(munmap(at, 2 * PAGE));
	FAILS(msync(at, PAGE, MS_SYNC), ENOMEM);
}

TEST(stack_grows, "Does the stack grow to a megabyte by being used?")
{
	volatile char room[1 << 20];

	for (long i = sizeof room - 1; i >= 0; i -= PAGE)
		room[i] = 1;
	IS(room[sizeof room - 1], 1);
}

TEST(read_into_fresh, "Does a read into memory never touched find its pages?")
{
	char *at = room(16 * PAGE);
	int zero = (int)OK(open("/dev/zero", O_RDONLY)), ends[2];

	IS(read(zero, at + 100, 10 * PAGE), 10 * PAGE);
	OK(pipe(ends));
	IS(write(ends[1], at + 11 * PAGE, PAGE), PAGE);
	IS(read(ends[0], at + 13 * PAGE + 50, PAGE), PAGE);
	IS(at[14 * PAGE], 0);
}

TEST(address_space_limit, "Does RLIMIT_AS refuse memory with ENOMEM?")
{
	struct rlimit most = { 64 << 20, 64 << 20 };
	long before = RAW(SYS_brk, 0);

	OK(setrlimit(RLIMIT_AS, &most));
	FAILS(mmap(NULL, 128 << 20, RW, ANON, -1, 0), ENOMEM);
	IS(RAW(SYS_brk, before + (128 << 20)), before);
	OK(munmap(room(1024 * PAGE), 1024 * PAGE));
}

TEST(many_mappings, "Can a process have a thousand mappings, and give them back in any order?")
{
	enum { COUNT = 1000 };
	char *at = mapped(2 * COUNT * PAGE, PROT_NONE, ANON, -1);

	for (int i = 0; i < COUNT; i++)
		OK(mprotect(at + 2 * i * PAGE, PAGE, RW));
	for (int i = 0; i < COUNT; i++)
		at[2 * i * PAGE] = (char)i;
	for (int i = 0; i < COUNT; i++)
		IS(at[2 * i * PAGE], (char)i);
	for (int i = 1; i < COUNT; i += 2)
		OK(munmap(at + 2 * i * PAGE, PAGE));
	for (int i = 0; i < COUNT; i += 2)
		IS(at[2 * i * PAGE], (char)i);
	OK(munmap(at, 2 * COUNT * PAGE));
}

TEST(low_page_file, "May an ordinary user not map a file at the lowest page?")
{
	int fd;

	become_ordinary();
	fd = (int)OK(open("/proc/self/exe", O_RDONLY));
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), EPERM);
}
