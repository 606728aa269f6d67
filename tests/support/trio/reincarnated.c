/* reincarnated.c: `reincarnated NAME UPDATES STOPS PROGRAM…`: while a child writes, syncs and reads back a file in the
 * present directory, service NAME is replaced UPDATES times by the PROGRAMs in turn, and stopped STOPS times. Prints
 * how often the child came round, its errors, wrong bytes, and what /proc/trio/services says. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES 40000
#define PAUSE_NS 3000000L
#define LOOKS 2000

static volatile struct {
	int rounds, errors, wrong, ends;
} *seen;

static void load(void)
{
	static unsigned char now[BYTES], back[BYTES];

	while (!seen->ends) {
		int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), is_synced;

		memset(now, 1 + seen->rounds % 255, sizeof now);
		is_synced = fd >= 0 && write(fd, now, sizeof now) == sizeof now && fsync(fd) == 0;
		if (!is_synced || pread(fd, back, sizeof back, 0) != sizeof back)
			seen->errors++;
		else
			seen->wrong += memcmp(now, back, sizeof now) != 0;
		close(fd);
		seen->rounds++;
	}
}

static void *file(const char *path, unsigned long *size)
{
	int fd = open(path, O_RDONLY);
	struct stat is;
	void *text;

	if (fd < 0 || fstat(fd, &is) != 0 || !(text = malloc((size_t)is.st_size)) ||
	    read(fd, text, (size_t)is.st_size) != is.st_size) {
		printf("no %s\n", path);
		exit(1);
	}
	close(fd);
	*size = (unsigned long)is.st_size;
	return text;
}

static unsigned starts(const char *name)
{
	FILE *from = fopen("/proc/trio/services", "r");
	char line[200], found[64], life[16];
	unsigned n = 0, so_far;

	while (from && fgets(line, sizeof line, from))
		if (sscanf(line, "%63s %15s starts %u", found, life, &so_far) == 3 && strcmp(found, name) == 0)
			n = so_far;
	if (from)
		fclose(from);
	return n;
}

static void await(const char *name, unsigned before)
{
	const struct timespec look = { 0, PAUSE_NS };

	for (int i = 0; i < LOOKS && starts(name) == before; i++)
		nanosleep(&look, NULL);
	nanosleep(&look, NULL);
}

int main(int argc, char **argv)
{
	const struct timespec look = { 0, PAUSE_NS };
	int updates, stops, rounds;
	char **program;
	pid_t child;

	if (argc < 4)
		return 2;
	program = argv + 4;
	updates = *program ? atoi(argv[2]) : 0;
	stops = atoi(argv[3]);
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (child == 0) {
		load();
		_exit(0);
	}
	for (int i = 0; i < updates; i++) {
		unsigned long size;
		void *text = file(*program, &size);
		unsigned before = starts(argv[1]);

		if (syscall(SYS_init_module, text, size, argv[1]) != 0)
			printf("update: errno %d\n", errno);
		await(argv[1], before);
		free(text);
		program = program[1] ? program + 1 : argv + 4;
	}
	for (int i = 0; i < stops; i++) {
		unsigned before = starts(argv[1]);

		if (syscall(SYS_delete_module, argv[1], 0) != 0)
			printf("stop: errno %d\n", errno);
		await(argv[1], before);
	}
	/* a whole round after the last stop, whose fsync answers for the file */
	rounds = seen->rounds;
	for (int i = 0; i < LOOKS && seen->rounds < rounds + 2; i++)
		nanosleep(&look, NULL);
	seen->ends = 1;
	waitpid(child, NULL, 0);
	printf("starts %u errors %d wrong %d\n", starts(argv[1]), seen->errors, seen->wrong);
	printf("rounds %d\n", seen->rounds);
	return 0;
}
