/* fs/iotest, fs/iotest-latency: `procs` processes make requests of varying sizes at random places of a file: reads
 * alone, then reads and writes in turn, as IOtest exercises a disk. Every block of 512 bytes contains its place, the
 * number of its last write and a checksum; each read of it checks all three.
 *
 * Each process has its own part of the file and its own descriptor: no kernel guarantees that a read sees a whole write
 * of another process, and a wrong checksum would mean nothing. The file is in the cache; IOtest's figures are those of
 * a disk's seeks, as are those of fs/iotest-disk, which bypasses the cache. */
#include "../km.h"

#define FS_IOTEST_BLOCK 512
#define FS_IOTEST_WORDS (FS_IOTEST_BLOCK / 8)
#define FS_IOTEST_LARGEST (64UL << 10)
#define FS_IOTEST_PROCS 32
#define FS_IOTEST_PART (1UL << 20)        /* of the file, a process */
#define FS_IOTEST_PART_PATH (256UL << 10) /* the same by path */
#define FS_IOTEST_DISK (64UL << 20)       /* the whole file past the cache */

enum fs_iotest_param { FS_IOTEST_ARG_PROCS, FS_IOTEST_ARG_WRITES, FS_IOTEST_ARG_RANDOM };
#define FS_IOTEST_REREAD UINT64_MAX /* in place of a number of iterations */
enum fs_iotest_word { FS_IOTEST_PLACE, FS_IOTEST_VERSION, FS_IOTEST_SUM = FS_IOTEST_WORDS - 1 };

struct fs_iotest_done { /* a process's reply */
	uint64_t requests, bytes;
};

struct fs_iotest {
	struct km *km;
	int procs, number; /* in all; this process's */
	int writes;        /* every second request is a write */
	int direct;        /* past the cache, by requests of pages */
	int forward;       /* each request begins where the last one ended */
	size_t least;      /* bytes of the smallest request */
	unsigned sizes;    /* each twice the former; in an iteration each process uses each equally often */
	size_t part;       /* bytes per process */
	uint64_t seed;
	int ask[FS_IOTEST_PROCS][2], answer[FS_IOTEST_PROCS][2];
	long peer[FS_IOTEST_PROCS];
	struct fs_iotest_done done; /* in all */
	/* A process's own: */
	int fd;
	uint64_t random, version, next;
	uint64_t filler; /* the sum of the words of a block that never change */
	uint64_t *buffer;
	uint64_t *written; /* the version of each block of its part; 0: the first one */
};

static const char fs_iotest_name[] = "data";

/* Sets the words of a block that differ between blocks; its sum is then the seed. */
static void fs_iotest_stamp(const struct fs_iotest *f, uint64_t *block, uint64_t place)
{
	block[FS_IOTEST_PLACE] = place;
	block[FS_IOTEST_VERSION] = f->version;
	block[FS_IOTEST_SUM] = f->seed - f->filler - place - f->version;
}

static void fs_iotest_check(const struct fs_iotest *f, const uint64_t *block, uint64_t place)
{
	uint64_t a = 0, b = 0;

	for (int i = 0; i < FS_IOTEST_WORDS; i += 2) {
		a += block[i];
		b += block[i + 1];
	}
	if (a + b != f->seed)
		km_fail(f->km, "the checksum of block %" PRIu64 " is wrong", place);
	if (block[FS_IOTEST_PLACE] != place)
		km_fail(f->km, "block %" PRIu64 " was read where block %" PRIu64 " should be", block[FS_IOTEST_PLACE],
			place);
}

static unsigned fs_iotest_requests(const struct fs_iotest *f) /* of a process, in an iteration */
{
	return f->sizes * f->sizes;
}

static size_t fs_iotest_bytes(const struct fs_iotest *f)
{
	return f->sizes * ((f->least << f->sizes) - f->least);
}

static void fs_iotest_fill(struct fs_iotest *f, uint64_t place, size_t bytes)
{
	uint64_t *end = &f->buffer[bytes / sizeof *f->buffer];

	for (uint64_t *block = f->buffer; block < end; block += FS_IOTEST_WORDS)
		fs_iotest_stamp(f, block, place++);
}

static void fs_iotest_check_all(const struct fs_iotest *f, uint64_t place, size_t bytes)
{
	const uint64_t *end = &f->buffer[bytes / sizeof *f->buffer];

	for (const uint64_t *block = f->buffer; block < end; block += FS_IOTEST_WORDS)
		fs_iotest_check(f, block, place++);
}

/* Between stamp and checksum every block contains the same words: so a stamp is three stores, whatever is written. */
static void fs_iotest_lay(struct fs_iotest *f)
{
	km_content_fill(f->buffer, FS_IOTEST_BLOCK, f->seed, 0);
	for (size_t at = FS_IOTEST_BLOCK; at < FS_IOTEST_LARGEST; at += FS_IOTEST_BLOCK)
		memcpy((char *)f->buffer + at, f->buffer, FS_IOTEST_BLOCK);
	f->filler = 0;
	for (int i = FS_IOTEST_VERSION + 1; i < FS_IOTEST_SUM; i++)
		f->filler += f->buffer[i];
}

static void fs_iotest_make_file(struct fs_iotest *f)
{
	size_t bytes = (size_t)f->procs * f->part;

	f->fd = open(fs_iotest_name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (f->fd < 0)
		km_fail_call(f->km, "open");
	for (size_t at = 0; at < bytes; at += FS_IOTEST_LARGEST) {
		fs_iotest_fill(f, at / FS_IOTEST_BLOCK, FS_IOTEST_LARGEST);
		km_write_all(f->km, f->fd, f->buffer, FS_IOTEST_LARGEST);
	}
	if (f->direct) {
		km_uncached_setup(f->km, f->fd, bytes);
		if (!KM_O_DIRECT || fcntl(f->fd, F_SETFL, KM_O_DIRECT) != 0)
			km_unsupported(f->km, "no file can be read past the cache here (O_DIRECT)");
	}
	km_close(&f->fd);
}

/* Compares each block in the buffer, the first at `place`, with the version of its last write; `writes`: records it. */
static void fs_iotest_versions(struct fs_iotest *f, uint64_t place, size_t bytes, int writes)
{
	uint64_t *written = &f->written[place % (f->part / FS_IOTEST_BLOCK)];

	for (size_t at = 0; at < bytes / sizeof *f->buffer; at += FS_IOTEST_WORDS, written++, place++)
		if (writes)
			*written = f->version;
		else if (f->buffer[at + FS_IOTEST_VERSION] != *written)
			km_fail(f->km, "block %" PRIu64 " does not contain its last write", place);
}

static void fs_iotest_request(struct fs_iotest *f, unsigned k)
{
	size_t size = f->least << k * 3 % f->sizes;
	uint64_t places = (f->part - size) / f->least + 1, place;
	int writes = f->writes && (k ^ k / f->sizes) & 1; /* reads each size as often as it writes it */
	ssize_t moved;

	f->random += UINT64_C(0x9e3779b97f4a7c15);
	place = (f->forward ? f->next : km_mix(f->random)) % places;
	f->next = place + size / f->least;
	place = ((uint64_t)f->number * f->part + place * f->least) / FS_IOTEST_BLOCK;
	if (lseek(f->fd, (off_t)(place * FS_IOTEST_BLOCK), SEEK_SET) < 0)
		km_fail_call(f->km, "lseek");
	if (writes) {
		f->version++;
		fs_iotest_fill(f, place, size);
		moved = write(f->fd, f->buffer, size);
	} else {
		moved = read(f->fd, f->buffer, size);
	}
	if (moved != (ssize_t)size)
		km_moved(f->km, writes ? "write" : "read", moved, size);
	if (!writes)
		fs_iotest_check_all(f, place, size);
	fs_iotest_versions(f, place, size, writes);
	f->done.requests++;
	f->done.bytes += size;
}

static void fs_iotest_reread(struct fs_iotest *f)
{
	uint64_t first = (uint64_t)f->number * f->part;

	if (lseek(f->fd, (off_t)first, SEEK_SET) < 0)
		km_fail_call(f->km, "lseek");
	for (size_t at = 0; at < f->part; at += FS_IOTEST_LARGEST) {
		km_read_all(f->km, f->fd, f->buffer, FS_IOTEST_LARGEST);
		fs_iotest_check_all(f, (first + at) / FS_IOTEST_BLOCK, FS_IOTEST_LARGEST);
		fs_iotest_versions(f, (first + at) / FS_IOTEST_BLOCK, FS_IOTEST_LARGEST, 0);
	}
}

/* One process: receives a number of iterations, makes their requests and replies with what it has done. It closes its
 * ends of the other processes' pipes: otherwise nobody would see them end. */
static void fs_iotest_peer(struct km *km, void *state)
{
	struct fs_iotest *f = state;
	uint64_t n;
	int got;

	for (int i = 0; i < f->procs; i++) {
		km_close(&f->ask[i][1]);
		km_close(&f->answer[i][0]);
		if (i != f->number) {
			km_close(&f->ask[i][0]);
			km_close(&f->answer[i][1]);
		}
	}
	f->random = f->seed + (uint64_t)f->number;
	fs_iotest_lay(f); /* once more: makes the pages its own */
	memset(f->written, 0, f->part / FS_IOTEST_BLOCK * sizeof *f->written);
	f->fd = open(fs_iotest_name, O_RDWR | (f->direct ? KM_O_DIRECT : 0));
	if (f->fd < 0)
		km_fail_call(km, "open");
	while ((got = km_get(f->ask[f->number][0], &n, sizeof n)) > 0) {
		memset(&f->done, 0, sizeof f->done);
		if (n == FS_IOTEST_REREAD)
			fs_iotest_reread(f);
		else
			for (n *= fs_iotest_requests(f); n > 0; n--)
				fs_iotest_request(f, (unsigned)(n % fs_iotest_requests(f)));
		if (km_put(f->answer[f->number][1], &f->done, sizeof f->done) <= 0)
			break;
	}
	if (got < 0)
		km_fail_call(km, "read");
}

static struct fs_iotest *fs_iotest_setup_with(struct km *km)
{
	struct fs_iotest *f = km_state(km, sizeof *f);

	f->procs = (int)km->arg[FS_IOTEST_ARG_PROCS];
	f->writes = km->arg[FS_IOTEST_ARG_WRITES] > 0;
	f->direct = km->workload->params[FS_IOTEST_ARG_RANDOM] != NULL;
	f->forward = f->direct && !km->arg[FS_IOTEST_ARG_RANDOM];
	f->least = f->direct ? 4096 : FS_IOTEST_BLOCK;
	f->sizes = f->direct ? 4 : 8;
	f->part = km->by == BY_PATH ? FS_IOTEST_PART_PATH : FS_IOTEST_PART;
	if (f->direct)
		f->part = FS_IOTEST_DISK / (size_t)f->procs;
	f->seed = km_random(km);
	f->buffer = f->direct ? km_area(km, FS_IOTEST_LARGEST) : km_alloc(km, FS_IOTEST_LARGEST);
	f->written = km_alloc(km, f->part / FS_IOTEST_BLOCK * sizeof *f->written);
	fs_iotest_lay(f);
	km_room(km, 1, (uint64_t)f->procs * f->part);
	km_enter(km);
	fs_iotest_make_file(f);
	for (int i = 0; i < f->procs; i++) {
		km_pipe(km, f->ask[i]);
		km_pipe(km, f->answer[i]);
	}
	for (f->number = 0; f->number < f->procs; f->number++)
		f->peer[f->number] = km_peer(km, fs_iotest_peer, f);
	for (int i = 0; i < f->procs; i++) {
		km_close(&f->ask[i][0]);
		km_close(&f->answer[i][1]);
	}
	km->claim.faults = 0;
	return f;
}

static void *fs_iotest_setup(struct km *km)
{
	struct fs_iotest *f = fs_iotest_setup_with(km);

	km->bytes = (double)f->procs * (double)fs_iotest_bytes(f);
	return f;
}

/* Little's law: while so many processes always have one request each in progress, a request takes the time that one
 * process needs for all its own, divided by their number. */
static void *fs_iotest_latency_setup(struct km *km)
{
	struct fs_iotest *f = fs_iotest_setup_with(km);

	km->ops = fs_iotest_requests(f);
	return f;
}

static void fs_iotest_run(void *state, uint64_t n) /* timed: from the first request to the last reply */
{
	struct fs_iotest *f = state;
	struct fs_iotest_done done;

	for (int i = 0; i < f->procs; i++)
		km_write_all(f->km, f->ask[i][1], &n, sizeof n);
	for (int i = 0; i < f->procs; i++) {
		km_read_all(f->km, f->answer[i][0], &done, sizeof done);
		f->done.requests += done.requests;
		f->done.bytes += done.bytes;
	}
}

/* Then checks the whole file once more, by each process's record of its last writes. */
static void fs_iotest_verify(void *state, uint64_t n)
{
	struct fs_iotest *f = state;
	uint64_t each = n * (uint64_t)f->procs;

	if (f->done.requests != each * fs_iotest_requests(f) || f->done.bytes != each * fs_iotest_bytes(f))
		km_fail(f->km, "%" PRIu64 " requests moved %" PRIu64 " bytes, not %" PRIu64 " and %" PRIu64,
			f->done.requests, f->done.bytes, each * fs_iotest_requests(f), each * fs_iotest_bytes(f));
	fs_iotest_run(f, FS_IOTEST_REREAD);
}

static void fs_iotest_teardown(void *state)
{
	struct fs_iotest *f = state;

	for (int i = 0; i < f->procs; i++)
		km_close(&f->ask[i][1]);
	for (int i = 0; i < f->procs; i++)
		km_peer_end(f->km, f->peer[i]);
}

#define FS_IOTEST_APART 8 /* from here on each process has a CPU: fs/iotest-latency has these alone */
static const struct point fs_iotest_points[] = {
	{ { 1, 0 }, FULL, 4, SAME_CPU, 0 },
	{ { 2, 0 }, FULL, 3, SAME_CPU, 0 },
	{ { 4, 0 }, FULL, 2, SAME_CPU, 0 },
	{ { 8, 0 }, FULL, 0, SAME_CPU, 0 },
	{ { 1, 50 }, FULL, 4, SAME_CPU, 0 },
	{ { 2, 50 }, QUICK, 2, SAME_CPU, 0 },
	{ { 4, 50 }, FULL, 2, SAME_CPU, 0 },
	{ { 8, 50 }, FULL, 0, SAME_CPU, 0 },
	{ { 1, 0 }, FULL, 0, OTHER_CPU, 0 },
	{ { 2, 0 }, FULL, 0, OTHER_CPU, 0 },
	{ { 4, 0 }, FULL, 0, OTHER_CPU, 0 },
	{ { 8, 0 }, FULL, 0, OTHER_CPU, 0 },
	{ { 1, 50 }, FULL, 0, OTHER_CPU, 0 },
	{ { 2, 50 }, FULL, 0, OTHER_CPU, 0 },
	{ { 4, 50 }, FULL, 0, OTHER_CPU, 0 },
	{ { 8, 50 }, FULL, 0, OTHER_CPU, 0 },
	{ { 0 }, 0, 0, 0, 0 },
};

#define FS_IOTEST_DISK_AT(procs, writes, random) { { procs, writes, random }, FULL, 0, OTHER_CPU, 0 }
#define FS_IOTEST_WHAT                                                                                                 \
	"`procs` processes make requests of 512 bytes to 64 KiB at random places of a cached file, `writes` per cent " \
	"of them writes"
#define FS_IOTEST_INSIDE                                                                                             \
	"64 requests of each process (every size eight times): lseek, read and its blocks' checksums, or the "       \
	"blocks' stamps and write (not synced), each process in its own part of the file (1 MiB; by path 256 KiB); " \
	"per sample a word to each process and its reply, by pipes"

#define FS_IOTEST_ROW                                                                               \
	.source = "C (IOtest)", .curve = "procs", .run = fs_iotest_run, .verify = fs_iotest_verify, \
	.teardown = fs_iotest_teardown
#define FS_IOTEST_CACHED_ROW FS_IOTEST_ROW, .settings = SET_FOLDER, .params = { "procs", "writes" }

const struct workload fs_iotest = {
	.name = "fs/iotest",
	FS_IOTEST_CACHED_ROW,
	.per = "round of requests",
	.unit = UNIT_BYTES_PER_S,
	.what = FS_IOTEST_WHAT,
	.inside = FS_IOTEST_INSIDE,
	.points = fs_iotest_points,
	.setup = fs_iotest_setup,
};

const struct workload fs_iotest_latency = {
	.name = "fs/iotest-latency",
	FS_IOTEST_CACHED_ROW,
	.per = "request",
	.only = BY_TIME,
	.what = FS_IOTEST_WHAT ": the mean time of one for its process",
	.inside = FS_IOTEST_INSIDE
	"; the time of all, divided by one process's requests (Little's law), with the wait for a CPU",
	.points = fs_iotest_points + FS_IOTEST_APART,
	.setup = fs_iotest_latency_setup,
};

const struct workload fs_iotest_disk = {
	.name = "fs/iotest-disk",
	FS_IOTEST_ROW,
	.per = "round of requests",
	.unit = UNIT_BYTES_PER_S,
	.only = BY_TIME,
	.what = "`procs` processes make requests of 4 to 32 KiB to a file of 64 MiB past the kernel's cache, "
		"`writes` per cent of them writes, at random places or (`random` 0) one after another (O_DIRECT)",
	.inside = "as fs/iotest, with 16 requests of each process (every size four times) in its part of the "
		  "file; a write ends when it is in the disk's own cache",
	.needs = CAP_FADVISE,
	.settings = SET_FOLDER | SET_DEVICE,
	.params = { "procs", "writes", "random" },
	.points = KM_POINTS(FS_IOTEST_DISK_AT(1, 0, 0), FS_IOTEST_DISK_AT(8, 0, 0), FS_IOTEST_DISK_AT(32, 0, 0),
			    FS_IOTEST_DISK_AT(1, 0, 1), FS_IOTEST_DISK_AT(8, 0, 1), FS_IOTEST_DISK_AT(32, 0, 1),
			    FS_IOTEST_DISK_AT(1, 50, 1), FS_IOTEST_DISK_AT(8, 50, 1), FS_IOTEST_DISK_AT(32, 50, 1)),
	.setup = fs_iotest_setup,
};
