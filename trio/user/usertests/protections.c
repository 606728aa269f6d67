/* protections.c: who may touch a page: every protection, of memory of every origin, mapped with it or changed to it, by
 * the program's own instructions and by the kernel's copies for it. */
#include "usertests.h"

#include <setjmp.h>

enum touch { READS, WRITES, EXECUTES, COPIED_IN, COPIED_OUT, TOUCHES };
static const char *const touches[TOUCHES] = { "read", "write", "execute", "copy in", "copy out" };

/* By protection, then by access. s: SIGSEGV; e: EFAULT; -: it works. Pages that may only be written or executed can be
 * read. r and k: execute-only pages cannot be read if the processor has protection keys (SIGSEGV, EFAULT). */
static const char wanted[8][TOUCHES + 1] = {
	[PROT_NONE] = "sssee",
	[PROT_READ] = "-ss-e",
	[PROT_WRITE] = "--s--",
	[PROT_READ | PROT_WRITE] = "--s--",
	[PROT_EXEC] = "rs-ke",
	[PROT_READ | PROT_EXEC] = "-s--e",
	[PROT_WRITE | PROT_EXEC] = "-----",
	[PROT_READ | PROT_WRITE | PROT_EXEC] = "-----",
};

static sigjmp_buf before_touch;
static char *volatile fault_at;

static void note_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	fault_at = info->si_addr;
	siglongjmp(before_touch, 1);
}

/* A page of zeros is instructions that add to what rax points to; an unmapped page follows it. */
static void run_at(char *page)
{
	static char scratch[16];
	char *rax = scratch;

	__asm__ volatile("subq $128, %%rsp; call *%1; addq $128, %%rsp" : "+a"(rax) : "r"(page) : "memory", "cc");
}

static char touch_itself(char *page, enum touch how)
{
	fault_at = NULL;
	if (sigsetjmp(before_touch, 1) == 0) {
		if (how == READS)
			(void)*(volatile char *)page;
		else if (how == WRITES)
			*(volatile char *)page = 'w';
		else
			run_at(page);
	}
	/* If only the following page was refused, the instructions ran. */
	return fault_at == page ? 's' : '-';
}

static char touch_by_kernel(char *page, enum touch how)
{
	int ends[2];
	ssize_t n;

	OK(pipe(ends));
	if (how == COPIED_OUT)
		IS(write(ends[1], "hello", 5), 5);
	n = how == COPIED_OUT ? read(ends[0], page, 5) : write(ends[1], page, 5);
	if (n != 5 && (n != -1 || errno != EFAULT))
		fail("%s gave %ld", touches[how], (long)n);
	OK(close(ends[0]));
	OK(close(ends[1]));
	return n == 5 ? '-' : 'e';
}

static char touch(char *page, enum touch how)
{
	return how < COPIED_IN ? touch_itself(page, how) : touch_by_kernel(page, how);
}

/* A page and an inaccessible one behind it, with room for a stack below. */
#define ROOM (600 * PAGE)

struct origin {
	const char *file; /* NULL: anonymous */
	int flags;
	long touched; /* how many pages below the mapped one */
};

static char *map_one(const struct origin *from, int protection, int flags)
{
	int fd = from->file ? (int)OK(open(from->file, O_RDWR)) : -1;
	char *space = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;

	OK(space);
	OK(munmap(space, ROOM - PAGE));
	at = mmap(space + ROOM - 2 * PAGE, PAGE, protection, MAP_FIXED | from->flags | flags, fd, 0);
	if (at == MAP_FAILED)
		OK(munmap(space + ROOM - PAGE, PAGE));
	if (fd >= 0)
		OK(close(fd));
	return at;
}

static void unmap_one(char *at)
{
	char *lowest = at - 3 * PAGE;

	OK(munmap(lowest, 5 * PAGE));
}

/* Whether execute-only pages can be read: not with protection keys. */
static int executable_is_readable(void)
{
	static const struct origin anonymous = { NULL, MAP_ANONYMOUS, 0 };
	char *at = map_one(&anonymous, PROT_EXEC, MAP_PRIVATE);
	char how = touch(at, READS);

	unmap_one(at);
	return how == '-';
}

static void check_one(const struct origin *from, int sharing, int protection, int changed, enum touch how)
{
	int first = changed ? PROT_READ | PROT_WRITE : protection;
	char *at = map_one(from, first, sharing), got, want = wanted[protection][how];

	/* Trio cannot map files of a disk shared and writable. */
	if (at == MAP_FAILED && errno == ENODEV && sharing == MAP_SHARED && first & PROT_WRITE)
		return;
	OK(at);
	if (changed) {
		*(volatile char *)at = (char)0xc3;
		OK(mprotect(at, PAGE, protection));
	}
	got = touch(at - from->touched * PAGE, how);
	if (want == 'r' || want == 'k')
		want = executable_is_readable() ? '-' : want == 'r' ? 's' : 'e';
	if (got != want)
		fail("%s: %s, %s, protection %d: %s gives %c and not %c", from->file ? from->file : "anonymous",
		     sharing == MAP_SHARED ? "shared" : "private", changed ? "changed" : "fresh", protection,
		     touches[how], got, want);
	unmap_one(at);
}

static void check_all(const struct origin *from, int sharing)
{
	handle_info(SIGSEGV, note_fault, 0);
	for (int protection = 0; protection < 8; protection++)
		for (int changed = 0; changed < 2; changed++)
			for (int how = 0; how < TOUCHES; how++)
				check_one(from, sharing, protection, changed, how);
}

TEST(protection_anonymous, "Who may touch anonymous memory of each protection?")
{
	static const struct origin anonymous = { NULL, MAP_ANONYMOUS, 0 };

	check_all(&anonymous, MAP_PRIVATE);
	check_all(&anonymous, MAP_SHARED);
}

TEST(protection_file, "Who may touch a page of a file that is mapped with each protection?")
{
	static const struct origin mapped = { "f", 0, 0 };
	char page[PAGE];
	int fd;

	memset(page, 0xc3, sizeof page);
	fd = (int)OK(open("f", O_RDWR | O_CREAT, 0644));
	IS(write(fd, page, sizeof page), PAGE);
	OK(close(fd));
	check_all(&mapped, MAP_PRIVATE);
	check_all(&mapped, MAP_SHARED);
}

TEST(protection_hole, "Who may touch a page of a file that was never written?")
{
	static const struct origin mapped = { "f", 0, 0 };

	make_file("f", "");
	OK(truncate("f", PAGE));
	check_all(&mapped, MAP_PRIVATE);
	check_all(&mapped, MAP_SHARED);
}

TEST(protection_device, "Who may touch a page of /dev/zero that is mapped with each protection?")
{
	static const struct origin mapped = { "/dev/zero", 0, 0 };

	check_all(&mapped, MAP_PRIVATE);
	check_all(&mapped, MAP_SHARED);
}

TEST(protection_stack, "Who makes memory that grows down grow, by its protection?")
{
	static const struct origin grows = { NULL, MAP_ANONYMOUS | MAP_GROWSDOWN, 1 };

	check_all(&grows, MAP_PRIVATE);
}

TEST(protection_no_write, "Is a file that is open for reading mapped shared, but never to be written?")
{
	char *at;
	int fd;

	fd = made_file("f", "read me", O_RDONLY);
	for (int protection = 0; protection < 8; protection++) {
		at = mmap(NULL, PAGE, protection, MAP_SHARED, fd, 0);
		if (protection & PROT_WRITE) {
			TRUE(at == MAP_FAILED && errno == EACCES);
			continue;
		}
		OK(at);
		FAILS(mprotect(at, PAGE, protection | PROT_WRITE), EACCES);
		OK(munmap(at, PAGE));
	}
}
