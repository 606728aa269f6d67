/* counted.c: does so many of each operation between two readings of its own counters and of all, and prints what
 * they moved by, but for what the readings themselves do; then the shortest null call in cycles, which by path are
 * instructions. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sched.h>
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

static void work(void)
{
	char *pages = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fds[2], i;
	char byte = 1;
	pid_t child;

	for (i = 0; i < 5; i++)
		pages[4096 * i] = 1;
	munmap(pages, 5 * 4096);
	for (i = 0; i < 100; i++)
		syscall(SYS_getppid);
	if (pipe(fds) != 0)
		exit(1);
	for (i = 0; i < 7; i++)
		if (write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
			exit(1);
	close(fds[0]);
	close(fds[1]);
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

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

int main(void)
{
	take_both(idle);
	take_both(before);
	work();
	take_both(after);
	for (int which = 0; which < 2; which++)
		for (int i = 0; i < after[which].lines; i++) {
			const char *name = after[which].name[i];
			long moved = after[which].value[i] - of(&before[which], name);
			long by_itself = of(&before[which], name) - of(&idle[which], name);

			if (moved != by_itself)
				printf("%s %s %ld\n", which ? "all" : "own", name, moved - by_itself);
		}
	printf("null %ld\n", null_call());
	return 0;
}
