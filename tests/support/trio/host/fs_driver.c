/* fs_driver.c: drives the disk file system by lines from stdin; each is answered by a line: the result, and what
 * belongs to it. A call that says -EWAIT is made again after the disk has gone on, as vfs does.
 *
 *     fs_driver IMAGE        the image is read at the start, and written back by `save` */
#include <stdio.h>
#include <stdlib.h>
#include "seam.h"
#include "abi/files.h"
#include "endpoints.h"
#include "fs.h"
#include "fs_serve.h"
#include "vfs.h"

extern const struct fs_service fs_service;

#define SECTOR 512
#define DATA_MOST (4UL << 20)
/* A call that has not ended by then never does. */
#define TRIES_MOST 2000000

static uint8_t data[DATA_MOST];
static uint32_t mount;

static void deliver(void)
{
	uint64_t bits;

	while ((bits = host_notified(ENDPOINT_FS)) != 0)
		fs_service.notified(bits);
}

/* Until what the call waits for has come: whoever is not woken then waits for good. */
static void wait_for_disk(void)
{
	static long tries;
	uint64_t came = 0;
	uint32_t on, room, starts;

	(void)fs_service.waited(&on);
	/* A driver that has begun anew within the call has said so already. */
	deliver();
	(void)fs_service.came(&came, &room, &starts);
	while (!(came >> on & 1)) {
		if (++tries > TRIES_MOST || !disk_goes_on()) {
			fprintf(stderr, "the call waits for %u, and nothing is under way\n", on);
			exit(3);
		}
		deliver();
		(void)fs_service.came(&came, &room, &starts);
	}
}

#define CALL(result, name, ...)                                           \
	do {                                                              \
		while ((result = fs_service.name(__VA_ARGS__)) == -EWAIT) \
			wait_for_disk();                                  \
		deliver();                                                \
	} while (0)

static void *memory_of_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	long end = !f || fseek(f, 0, SEEK_END) != 0 ? -1 : ftell(f);
	void *bytes;

	if (end < 0 || fseek(f, 0, SEEK_SET) != 0)
		exit(2);
	*size = (size_t)end;
	bytes = malloc(*size);
	if (!bytes || fread(bytes, 1, *size, f) != *size)
		exit(2);
	fclose(f);
	return bytes;
}

static void save(const char *path)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(host_disk.bytes, SECTOR, host_disk.sectors, f) != host_disk.sectors || fclose(f) != 0)
		exit(2);
}

/* What a file written with `seed` has at an offset: no two near ones are alike. */
static uint8_t byte_at(unsigned seed, uint64_t offset)
{
	uint64_t x = (offset >> 2) * 2654435761U + seed * 40503U + (offset & 3) * 97;

	return (uint8_t)(x >> 29 ^ x >> 13 ^ x);
}

static struct grant text(const char *s)
{
	return grant_read(s, strlen(s));
}

static bool do_data(const char *command, const char *line)
{
	unsigned inode, seed;
	unsigned long long offset, length;
	int64_t result;

	if (sscanf(line, "%*s %u %llu %llu %u", &inode, &offset, &length, &seed) < 3 || length > DATA_MOST)
		return false;
	if (strcmp(command, "write") == 0) {
		uint64_t done = 0;

		for (uint64_t at = 0; at < length; at++)
			data[at] = byte_at(seed, offset + at);
		do {
			CALL(result, write, mount, inode, offset + done, grant_read(data + done, length - done));
			done += result > 0 ? (uint64_t)result : 0;
		} while (result > 0 && done < length);
		printf("%lld\n", done > 0 ? (long long)done : (long long)result);
	} else if (strcmp(command, "badwrite") == 0) {
		/* The second half of the grant is not there. */
		CALL(result, write, mount, inode, offset, ((struct grant){ 0, length }));
		printf("%lld\n", (long long)result);
	} else if (strcmp(command, "read") == 0) {
		uint64_t done = 0;

		do {
			CALL(result, read, mount, inode, offset + done, grant_write(data + done, length - done));
			done += result > 0 ? (uint64_t)result : 0;
		} while (result > 0 && done < length);
		printf("%lld ", done > 0 ? (long long)done : (long long)result);
		for (uint64_t at = 0; at < done; at++)
			printf("%02x", data[at]);
		printf("\n");
	} else {
		return false;
	}
	return true;
}

static bool do_names(const char *command, const char *line)
{
	static char a[8192], b[8192];
	unsigned directory, x, inode = 0;
	int64_t result;

	if (sscanf(line, "lookup %u %8191s", &directory, a) == 2)
		CALL(result, lookup, mount, directory, text(a), &inode);
	else if (sscanf(line, "create %u %o %8191s", &directory, &x, a) == 3)
		CALL(result, create, mount, directory, x, 7, 8, S_ISCHR(x) ? DEVICE(4, 64) : 0, text(a), &inode);
	else if (sscanf(line, "symlink %u %8191s %8191s", &directory, a, b) == 3)
		CALL(result, symlink, mount, directory, 7, 8, text(a), text(b));
	else if (sscanf(line, "link %u %u %8191s", &directory, &x, a) == 3)
		CALL(result, link, mount, directory, x, text(a));
	else if (sscanf(line, "unlink %u %u %8191s", &directory, &x, a) == 3)
		CALL(result, unlink, mount, directory, x, text(a));
	else if (sscanf(line, "rename %u %8191s %u %8191s", &directory, a, &x, b) == 4)
		CALL(result, rename, mount, directory, text(a), x, text(b));
	else
		return false;
	printf("%lld %u\n", (long long)result, inode);
	(void)command;
	return true;
}

static void entries(unsigned directory, unsigned room)
{
	uint64_t position = 0, next = 0;
	int64_t result;

	for (;;) {
		CALL(result, entries, mount, directory, position, grant_write(data, room), &next);
		if (result <= 0 || next <= position)
			break;
		for (int64_t at = 0; at < result;) {
			const struct linux_dirent64 *e = (const struct linux_dirent64 *)(data + at);

			printf("%llu:%s ", (unsigned long long)e->inode, e->name);
			at += e->length;
		}
		position = next;
	}
	printf("%lld\n", (long long)result);
}

static void attributes(unsigned inode)
{
	struct file_attributes a = { 0 };
	int64_t result;

	CALL(result, attributes, mount, inode, grant_write(&a, sizeof(a)));
	printf("%lld %o %u %llu %u %u %llu %u %lld\n", (long long)result, a.mode, a.links, (unsigned long long)a.size,
	       a.owner, a.group, (unsigned long long)a.blocks, a.device, (long long)(a.modified / 1000000000));
}

static bool do_inode(const char *command, const char *line)
{
	unsigned inode = 0;
	unsigned long long x = 0;
	struct file_attributes a = { 0 };
	int64_t result = 0;
	uint32_t starts;

	if (sscanf(line, "%*s %u %llu", &inode, &x) < 1)
		return false;
	if (strcmp(command, "attributes") == 0) {
		attributes(inode);
		return true;
	}
	if (strcmp(command, "entries") == 0) {
		entries(inode, x ? (unsigned)x : 4096);
		return true;
	}
	if (strcmp(command, "release") == 0)
		CALL(result, release, mount, inode);
	else if (strcmp(command, "truncate") == 0)
		CALL(result, truncate, mount, inode, x);
	else if (strcmp(command, "chmod") == 0) {
		a.mode = (uint32_t)x;
		CALL(result, set_attributes, mount, inode, SET_MODE, grant_read(&a, sizeof(a)));
	} else if (strcmp(command, "sync") == 0)
		CALL(result, sync, mount, inode, &starts);
	else if (strcmp(command, "readlink") == 0) {
		CALL(result, readlink, mount, inode, grant_write(data, 4096));
		printf("%lld %.*s\n", (long long)result, result > 0 ? (int)result : 0, (char *)data);
		return true;
	} else {
		return false;
	}
	printf("%lld\n", (long long)result);
	return true;
}

static void numbers(void)
{
	struct linux_statfs n = { 0 };
	int64_t result;

	CALL(result, numbers, mount, grant_write(&n, sizeof(n)));
	printf("%lld %llu %llu %llu %llu\n", (long long)result, (unsigned long long)n.blocks,
	       (unsigned long long)n.blocks_free, (unsigned long long)n.files, (unsigned long long)n.files_free);
}

/* Time passes until the alarm, and what that starts ends. */
static void tick(void)
{
	if (host_alarm != NEVER) {
		host_now = host_alarm;
		host_alarm = NEVER;
		notify(ENDPOINT_FS, NOTIFY_ALARM);
		deliver();
	}
	while (disk_goes_on())
		deliver();
	printf("0\n");
}

static bool do_machine(const char *command, const char *line)
{
	char path[4096];
	unsigned long long x = 0;
	int64_t result;
	bool has = sscanf(line, "%*s %llu", &x) == 1;

	if (strcmp(command, "mount") == 0) {
		CALL(result, mount, ENDPOINT_RAM_BLOCK, (uint32_t)x);
		if (result >= 0)
			mount = (uint32_t)result;
		printf("%lld\n", (long long)result);
	} else if (strcmp(command, "unmount") == 0) {
		CALL(result, unmount, mount);
		printf("%lld %zu\n", (long long)result, pages_held);
	} else if (strcmp(command, "numbers") == 0) {
		numbers();
	} else if (strcmp(command, "tick") == 0) {
		tick();
	} else if (strcmp(command, "waits") == 0) {
		host_disk.waits = x;
		printf("0\n");
	} else if (strcmp(command, "memory") == 0 && has) {
		pages_most = x;
		printf("0\n");
	} else if (strcmp(command, "writes") == 0) {
		printf("%ld %ld\n", host_disk.writes, host_disk.flushes);
	} else if (strcmp(command, "power") == 0 && has) {
		host_disk.writes_left = (long)x;
		printf("0\n");
	} else if (strcmp(command, "stuck") == 0) {
		printf("%ld\n", host_disk.reported);
		host_disk.is_stuck = x > 0;
		host_disk.begins_anew = x == 2;
	} else if (strcmp(command, "bad") == 0 && has) {
		host_disk.bad_sector = x;
		printf("0\n");
	} else if (strcmp(command, "cut") == 0) {
		disk_cut((unsigned)x);
		printf("0\n");
	} else if (sscanf(line, "save %4095s", path) == 1) {
		save(path);
		printf("0\n");
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static char line[20000];
	char command[32];
	size_t size;

	if (argc != 2)
		return 2;
	host_disk.bytes = memory_of_file(argv[1], &size);
	host_disk.sectors = size / SECTOR;
	fs_service.start();
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%31s", command) != 1)
			continue;
		if (!do_machine(command, line) && !do_names(command, line) && !do_data(command, line) &&
		    !do_inode(command, line)) {
			fprintf(stderr, "not a command: %s", line);
			return 2;
		}
		fflush(stdout);
	}
	free(host_disk.bytes);
	return 0;
}
