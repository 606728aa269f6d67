/* counted.c WHAT: does so many of one operation, or some of each, between two readings of its own counters and of all,
 * and prints what they moved by, but for what the readings themselves do; then the shortest null call in cycles, which
 * by path are instructions. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES 400
#define TRIES 100

struct reading {
	int lines;
	char name[LINES][48];
	long value[LINES];
};

static struct reading before[2], after[2], idle[2];
static char text[65536];
static const char *const files[] = { "/proc/self/trio_counters", "/proc/trio/counters" };

static void take(const char *file, struct reading *r)
{
	int fd = open(file, O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	r->lines = 0;
	for (char *line = strtok(text, "\n"); line && r->lines < LINES; line = strtok(NULL, "\n"))
		if (sscanf(line, "%47s %ld", r->name[r->lines], &r->value[r->lines]) == 2)
			r->lines++;
}

static void take_both(struct reading *r)
{
	take(files[0], &r[0]);
	take(files[1], &r[1]);
}

static long of(const struct reading *r, const char *name)
{
	for (int i = 0; i < r->lines; i++)
		if (strcmp(r->name[i], name) == 0)
			return r->value[i];
	return 0;
}

static void touch(void)
{
	char *pages = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 5; i++)
		pages[4096 * i] = 1;
	munmap(pages, 5 * 4096);
}

static void call(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
}

static void transfer(void)
{
	static char bytes[1000];
	int fds[2];

	if (pipe(fds) != 0)
		exit(1);
	for (int i = 0; i < 7; i++)
		if (write(fds[1], bytes, sizeof bytes) != sizeof bytes ||
		    read(fds[0], bytes, sizeof bytes) != sizeof bytes)
			exit(1);
	close(fds[0]);
	close(fds[1]);
}

static void all(void)
{
	pid_t child;

	touch();
	call();
	transfer();
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static sigjmp_buf goes_on;

static void go_on(int signal)
{
	siglongjmp(goes_on, signal);
}

/* Pages that there are not: of the program's part of the address space, and of the kernel's. */
static void err(void)
{
	static volatile char *const nowhere[] = { (char *)8, (char *)8, (char *)-4096L };

	signal(SIGSEGV, go_on);
	for (volatile int i = 0; i < 3; i++)
		if (sigsetjmp(goes_on, 1) == 0)
			*nowhere[i] = 1;
}

/* A page of a file on a disk, which has to be read. */
static void map(void)
{
	int fd = open("/disk/minix/file", O_RDONLY);
	volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd < 0 || page[0] != 'x')
		exit(1);
}

static void map_prepare(void)
{
	int fd = open("/disk/minix/file", O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		exit(1);
	close(fd);
}

static const struct work {
	const char *name;
	void (*does)(void), (*prepares)(void);
} works[] = {
	{ "all", all, NULL },           { "touch", touch, NULL }, { "call", call, NULL },
	{ "transfer", transfer, NULL }, { "err", err, NULL },     { "map", map, map_prepare },
};

static uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* User to user: from SYSCALL to the instruction after it, less what two readings of the counter are apart. */
static long null_call(void)
{
	uint64_t best = UINT64_MAX, empty = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t begin = cycles(), end = cycles();
		long number = SYS_getppid;

		if (end - begin < empty)
			empty = end - begin;
		begin = cycles();
		__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
		end = cycles();
		if (end - begin < best)
			best = end - begin;
	}
	return (long)(best - empty);
}

static void moved(const char *whose, const struct reading *idle_of, const struct reading *before_of,
		  const struct reading *after_of)
{
	for (int i = 0; i < after_of->lines; i++) {
		const char *name = after_of->name[i];
		long by_all = after_of->value[i] - of(before_of, name);
		long by_reading = of(before_of, name) - of(idle_of, name);

		if (by_all != by_reading)
			printf("%s %s %ld\n", whose, name, by_all - by_reading);
	}
}

int main(int count, char **words)
{
	const struct work *w = works;

	while (count > 1 && strcmp(w->name, words[1]) != 0)
		w++;
	if (w->prepares)
		w->prepares();
	/* So that no reading touches a page for the first time. */
	memset(text, 1, sizeof text);
	memset(before, 1, sizeof before);
	memset(after, 1, sizeof after);
	take_both(idle);
	take_both(idle);
	take_both(before);
	w->does();
	take_both(after);
	moved("own", &idle[0], &before[0], &after[0]);
	moved("all", &idle[1], &before[1], &after[1]);
	printf("null %ld\n", null_call());
	return 0;
}
