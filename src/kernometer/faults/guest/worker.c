/* worker.c: a program that changes files without pause; its events tell what must be on the disk after a crash.
 *
 *     worker --seed N --operations N [--pace MS] [--files N] [--mark N] [--acknowledge] DIR...
 *
 * A seeded random sequence of operations on files in each DIR, which must not contain DIR/w<seed> yet; --pace sleeps
 * MS milliseconds after each, --operations 0 goes on until killed. The files' names are DIR/w<seed>/a/s0 ... and
 * DIR/w<seed>/b/s8 ...; --files N (16, at most 256) is how many there are in each DIR. Exit status: 0, 1 when it could
 * not begin, 2 when data was wrong. An error is an event, after which it goes on.
 *
 * Content is a function of (seed, file, version). A file has a number that no other file gets; it begins empty, as
 * version 0, and change V of it makes version V of version V-1. With h(a, b) = splitmix64's finaliser of
 * (a ^ (b + 1) * 0x9e3779b97f4a7c15), all modulo 2^64: s = h(h(h(0, seed), file), V); kind = h(s, 0) % 8,
 * where = h(s, 1), count = 1 + h(s, 2) % 6000. kind 0: the length becomes where % 65537 (zeros are added). 1 to 3:
 * count bytes at the end; 4 to 7: at offset where % (length + 3000). If they end beyond 65536: the length becomes
 * where % (length + 1) instead. The byte at offset x is byte x % 8, the lowest first, of h(s, 16 + x / 8).
 *
 * Events are JSON, a line and a write each, on standard output:
 *     {"event":"start","format":1,"seed":N,"operations":N,"files":N,"directories":["DIR",...]}
 *     {"event":"changes","operation":N,"what":OPERATION,"file":N,"version":N,"path":"P"[,"to":"P"]}
 *         It is about to change this file: its content (write; `version` is the one that it has), or its name (create,
 *         rename, replace by the next rename, unlink). It tells all of these, but of writes only the first after a
 *         "kept". A "kept" of the file, and a "gone" of the names `path` and `to`, no longer bind.
 *     {"event":"kept","operation":N,"file":N,"version":N,"length":N,"path":"P"}
 *         fsync of the file, and of the directory that it is in, have returned 0.
 *     {"event":"gone","operation":N,"path":"P"}
 *         Nothing is at P, and fsync of its directory has returned 0.
 *     {"event":"error","operation":N,"what":OPERATION,"file":N,"path":"P","errno":N}
 *         It goes on. It removes a file whose content or name it no longer knows (what: unlink).
 *     {"event":"wrong","operation":N,"what":OPERATION,"file":N,"version":N,"path":"P","offset":N}
 *         The first byte that is not as written (offset = the length: the file has another length); of file 0: bytes
 *         that came through a pipe (what: pipe), or memory (what: memory).
 *     {"event":"progress","operation":N,"errors":N,"wrong":N,"slowest":OPERATION,"slowest_operation":N,"slowest_ns":N}
 *         Every 100 operations; the longest operation since the start.
 *     {"event":"end", and the members of "progress"}
 * With --acknowledge it reads one byte from standard input after each "changes", "kept", "gone", so that a listener
 * knows that no change of the disk came before its event.
 *
 * After a crash, of the events before it: *lost* is each "kept" that binds and whose path does not have exactly that
 * content, and each "gone" that binds and whose path exists. A file that has changed since may be old, new or anything
 * between (each byte is one of the versions since the last "kept", or zero where a version is shorter; at most 16
 * changes are without a "kept"), at the old name, the new one, both, or none. *Wrong* is each file that exists with
 * bytes that no version of a file of that name had. */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct worker w = { .names = 16, .slowest = "none" };

uint64_t h(uint64_t a, uint64_t b)
{
	uint64_t x = a ^ (b + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* A number below `most`, the next of the sequence of operations. */
static unsigned draw(unsigned most)
{
	uint64_t drawn = h(w.seed, ++w.drawn << 20);

	return most > 1 ? (unsigned)(drawn % most) : 0;
}

static void op_mkdir(struct tree *t)
{
	if ((t->has_more ? rmdir(t->more) : mkdir(t->more, 0700)) == 0)
		t->has_more = !t->has_more;
	else
		say_error(t->has_more ? "rmdir" : "mkdir", NULL, t->more);
}

static void fill(unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)h(w.operation, i);
}

static int is_filled(const char *what, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != (unsigned char)h(w.operation, i)) {
			say_wrong(what, NULL, "", i);
			return 0;
		}
	return 1;
}

static void op_memory(void)
{
	unsigned char *bytes = calloc(1, 4 * (size_t)LARGEST);

	if (!bytes) {
		say_error("memory", NULL, "");
		return;
	}
	for (size_t i = 0; i < 4 * (size_t)LARGEST; i += BLOCK)
		if (bytes[i] != 0) {
			say_wrong("memory", NULL, "", i);
			break;
		}
	fill(bytes, LARGEST);
	is_filled("memory", bytes, LARGEST);
	free(bytes);
}

static int transfer(ssize_t (*call)(int, void *, size_t), int fd, unsigned char *bytes)
{
	for (size_t done = 0; done < BLOCK;) {
		ssize_t k = call(fd, bytes + done, BLOCK - done);

		if (k <= 0)
			return -1;
		done += (size_t)k;
	}
	return 0;
}

static ssize_t put(int fd, void *bytes, size_t count)
{
	return write(fd, bytes, count);
}

/* A block to a child and back, through two pipes; BLOCK bytes fit into each. */
static void op_pipe(void)
{
	unsigned char bytes[BLOCK];
	int there[2], back[2], status = 0;
	pid_t child;

	errno = 0;
	if (pipe(there) != 0) {
		say_error("pipe", NULL, "");
		return;
	}
	if (pipe(back) != 0) {
		say_error("pipe", NULL, "");
		close(there[0]);
		close(there[1]);
		return;
	}
	child = fork();
	if (child == 0)
		_exit(transfer(read, there[0], bytes) || transfer(put, back[1], bytes));
	close(there[0]);
	close(back[1]);
	fill(bytes, sizeof bytes);
	if (child < 0 || transfer(put, there[1], bytes) != 0)
		say_error(child < 0 ? "fork" : "pipe", NULL, "");
	else if (transfer(read, back[0], memset(bytes, 0, sizeof bytes)) != 0)
		say_error("pipe", NULL, "");
	else
		is_filled("pipe", bytes, sizeof bytes);
	close(there[1]);
	close(back[0]);
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		say_error("wait", NULL, "");
}

/* The sequence ----------------------------------------------------------------------------------------------------- */

/* Returns the operation's name. */
static const char *operate(void)
{
	struct tree *t = &w.trees[draw(w.directories)];
	struct name *n = &t->names[draw(w.names)], *to = &t->names[draw(w.names)];
	unsigned kind = draw(100);

	if (kind < 4)
		return op_sync(t), "sync";
	if (kind < 6)
		return op_mkdir(t), "mkdir";
	if (kind < 8)
		return op_pipe(), "pipe";
	if (kind < 10)
		return op_memory(), "memory";
	if (!n->file)
		return op_create(n), "create";
	if (n->file->is_unknown || kind < 14)
		return op_unlink(n), "unlink";
	if (kind < 22 && !(to->file && to->file->is_unknown))
		return op_rename(n, to), "rename";
	if (kind < 40)
		return op_read(n), "read";
	if (kind < 52 || n->file->loose >= MOST_LOOSE)
		return op_fsync(t, n), "fsync";
	return op_write(n), "write";
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A debugger waits here for the operation of --mark. */
static __attribute__((noinline)) void mark(void)
{
	__asm__ volatile("");
}

static void work(void)
{
	struct timespec pace = { w.pace_ms / 1000, (long)(w.pace_ms % 1000) * 1000000 };

	while (w.operations == 0 || w.operation < w.operations) {
		uint64_t begin = now_ns(), taken;
		const char *what;

		if (++w.operation == w.marked)
			mark();
		what = operate();
		taken = now_ns() - begin;
		if (taken > w.slowest_ns) {
			w.slowest_ns = taken;
			w.slowest = what;
			w.slowest_operation = w.operation;
		}
		if (w.operation % PROGRESS == 0)
			say_progress("progress");
		if (w.pace_ms)
			nanosleep(&pace, NULL);
	}
}

/* Makes its directories, and has the disk keep them. Returns 0, or -1 with errno. */
static int prepare(struct tree *t, const char *directory)
{
	snprintf(t->folder, sizeof t->folder, "%s/w%" PRIu64, directory, w.seed);
	snprintf(t->more, sizeof t->more, "%s/w%" PRIu64 "/more", directory, w.seed);
	if (mkdir(t->folder, 0700) != 0)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(t->halves[i], sizeof t->halves[i], "%s/w%" PRIu64 "/%c", directory, w.seed, 'a' + i);
		if (mkdir(t->halves[i], 0700) != 0)
			return -1;
	}
	for (unsigned i = 0; i < w.names; i++)
		snprintf(t->names[i].path, PATH_BYTES, "%s/w%" PRIu64 "/%c/s%u", directory, w.seed,
			 i < w.names / 2 ? 'a' : 'b', i);
	sync();
	return sync_path(directory) == 0 && sync_path(t->folder) == 0 ? 0 : -1;
}

static const char usage[] =
	"usage: worker --seed N --operations N [--pace MS] [--files N] [--mark N] [--acknowledge] DIR...\n";

/* Returns the index of the first directory in argv; 0: the words are not those of the usage. */
static int take_options(int argc, char **argv)
{
	int at = 1;

	for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
		char *end = NULL;
		uint64_t value;

		if (strcmp(argv[at], "--acknowledge") == 0) {
			w.acknowledge = 1;
			continue;
		}
		if (++at == argc)
			return 0;
		value = strtoull(argv[at], &end, 10);
		if (*end || end == argv[at])
			return 0;
		if (strcmp(argv[at - 1], "--seed") == 0)
			w.seed = value;
		else if (strcmp(argv[at - 1], "--operations") == 0)
			w.operations = value;
		else if (strcmp(argv[at - 1], "--mark") == 0)
			w.marked = value;
		else if (strcmp(argv[at - 1], "--pace") == 0 && value < 1000000)
			w.pace_ms = (unsigned)value;
		else if (strcmp(argv[at - 1], "--files") == 0 && value >= 2 && value <= MOST_NAMES)
			w.names = (unsigned)value;
		else
			return 0;
	}
	for (int i = at; i < argc; i++)
		if (strlen(argv[i]) > PATH_BYTES / 2 || strpbrk(argv[i], "\"\\\n"))
			return 0;
	return at < argc && argc - at <= MOST_DIRECTORIES ? at : 0;
}

int main(int argc, char **argv)
{
	char list[MOST_DIRECTORIES * (PATH_BYTES / 2 + 4)] = "";
	int at = take_options(argc, argv);

	if (at == 0) {
		fputs(usage, stderr);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	for (; at < argc; at++) {
		size_t length = strlen(list);

		snprintf(list + length, sizeof list - length, "%s\"%s\"", length ? "," : "", argv[at]);
		if (prepare(&w.trees[w.directories++], argv[at]) != 0) {
			fprintf(stderr, "worker: %s: %s\n", argv[at], strerror(errno));
			return 1;
		}
	}
	say("{\"event\":\"start\",\"format\":1,\"seed\":%" PRIu64 ",\"operations\":%" PRIu64
	    ",\"files\":%u,\"directories\":[%s]",
	    w.seed, w.operations, w.names, list);
	work();
	say_progress("end");
	return w.wrong ? 2 : 0;
}
