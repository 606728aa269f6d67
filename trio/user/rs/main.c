/* rs: commands for the reincarnation server. `rs` lists Trio's services that are processes. `rs update NAME FILE` has
 * one run another program, an ELF file for the same structure, under any load, and prints how long its calls had to
 * wait. `rs stop NAME` ends one like a fault of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SERVICES "/proc/trio/services"
/* The new program starts at the next moment at which the old one is idle. */
#define LOOKS 1000
#define LOOK_NS 1000000L

struct service {
	char name[65], life[16];
	unsigned starts;
	unsigned long pause, waited;
};

static void fail(const char *what)
{
	fprintf(stderr, "rs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int next_service(FILE *from, struct service *s)
{
	return fscanf(from, "%64s %15s starts %u pause %lu waited %lu", s->name, s->life, &s->starts, &s->pause,
		      &s->waited) == 5;
}

static FILE *services(void)
{
	FILE *from = fopen(SERVICES, "r");

	if (!from)
		fail(SERVICES);
	return from;
}

static struct service service_named(const char *name)
{
	FILE *from = services();
	struct service s;

	while (next_service(from, &s))
		if (strcmp(s.name, name) == 0) {
			fclose(from);
			return s;
		}
	errno = ENOENT;
	fail(name);
	return s;
}

static void list(void)
{
	FILE *from = services();
	struct service s;

	printf("%-12s %-6s %6s %12s %7s\n", "service", "life", "starts", "pause, ns", "waited");
	while (next_service(from, &s))
		printf("%-12s %-6s %6u %12lu %7lu\n", s.name, s.life, s.starts, s.pause, s.waited);
	fclose(from);
}

/* Waits until another process of that name is ready. */
static void tell(const struct service *before)
{
	const struct timespec look = { 0, LOOK_NS };
	struct service now = service_named(before->name);

	for (int i = 0; i < LOOKS && (now.starts == before->starts || strcmp(now.life, "runs") != 0); i++) {
		nanosleep(&look, NULL);
		now = service_named(before->name);
	}
	if (now.starts == before->starts) {
		fprintf(stderr, "rs: %s is still the same\n", before->name);
		exit(1);
	}
	printf("%s: paused %lu ns, %lu calls waited\n", now.name, now.pause, now.waited - before->waited);
}

static void update(const char *name, const char *path)
{
	struct service before = service_named(name);
	int fd = open(path, O_RDONLY);
	struct stat is;
	char *image;

	if (fd < 0 || fstat(fd, &is) != 0)
		fail(path);
	image = malloc((size_t)is.st_size + 1);
	if (!image || read(fd, image, (size_t)is.st_size) != is.st_size)
		fail(path);
	if (syscall(SYS_init_module, image, (unsigned long)is.st_size, name) != 0)
		fail(name);
	tell(&before);
}

static void stop(const char *name)
{
	struct service before = service_named(name);

	if (syscall(SYS_delete_module, name, 0) != 0)
		fail(name);
	tell(&before);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		list();
	else if (argc == 4 && strcmp(argv[1], "update") == 0)
		update(argv[2], argv[3]);
	else if (argc == 3 && strcmp(argv[1], "stop") == 0)
		stop(argv[2]);
	else {
		fprintf(stderr, "usage: rs [update NAME FILE | stop NAME]\n");
		return 2;
	}
	return 0;
}
