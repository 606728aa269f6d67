/* fs/read-64k, fs/read-open2close, fs/mmap-open2close: a whole cached file, by its size, as lmbench's bw_file_rd and
 * bw_mmap_rd do. Read: in pieces of 64 KiB, a smaller file at once; the kernel copies the data, and they are not read
 * again. Mapped: all words are added up, since without loads there would be no work. */
#include "../km.h"

#define FS_FILE_BW_PIECE ((size_t)64 << 10)

struct fs_file_bw {
	struct km *km;
	int fd; /* open from set-up on: fs/read-64k alone */
	size_t bytes, piece;
	uint64_t seed;
	unsigned long sum, wanted; /* of the pieces' first words, or of all words: in all, in one pass */
	uint64_t done;             /* passes */
	unsigned long *buffer;
};

/* Relative to the run's directory: its depth costs nothing. */
static const char fs_file_bw_name[] = "data";

/* Makes the file and reads it once piece by piece: each pass must find the same. */
static struct fs_file_bw *fs_file_bw_setup(struct km *km, int whole)
{
	struct fs_file_bw *f = km_state(km, sizeof *f);

	f->bytes = (size_t)km->arg[0];
	f->piece = f->bytes < FS_FILE_BW_PIECE ? f->bytes : FS_FILE_BW_PIECE;
	f->seed = km_random(km);
	f->buffer = km_alloc(km, f->piece);
	km_room(km, 1, f->bytes);
	f->fd = km_content_file(km, fs_file_bw_name, f->seed, f->bytes);
	for (size_t at = 0; at < f->bytes; at += f->piece) {
		km_read_all(km, f->fd, f->buffer, f->piece);
		f->wanted += whole ? km_sum(f->buffer, f->piece) : f->buffer[0];
	}
	km_rewind(km, f->fd);
	km_enter(km);
	km->bytes = (double)f->bytes;
	return f;
}

static void fs_file_bw_pass(struct fs_file_bw *f, int fd)
{
	for (size_t at = 0; at < f->bytes; at += f->piece) {
		ssize_t got = read(fd, f->buffer, f->piece);

		if (got != (ssize_t)f->piece)
			km_moved(f->km, "read", got, f->piece);
		f->sum += f->buffer[0];
	}
	f->done++;
}

static int fs_file_bw_open(struct fs_file_bw *f)
{
	int fd = open(fs_file_bw_name, O_RDONLY);

	if (fd < 0)
		km_fail_call(f->km, "open");
	return fd;
}

static void fs_file_bw_shut(struct fs_file_bw *f, int fd)
{
	if (close(fd) != 0)
		km_fail_call(f->km, "close");
}

static void fs_file_bw_verify(void *state, uint64_t n)
{
	struct fs_file_bw *f = state;

	(void)n;
	if (f->sum != (unsigned long)f->done * f->wanted)
		km_fail(f->km, "the data read differ from the file's");
}

/* Checks all passes by their pieces' first words, and the last piece whole. */
static void fs_file_bw_settle(void *state, uint64_t n)
{
	struct fs_file_bw *f = state;

	fs_file_bw_verify(f, n);
	km_content_check(f->km, f->buffer, f->piece, f->seed, f->bytes - f->piece);
}

/* fs/read-64k ------------------------------------------------------------------------------------------------- */

static void *fs_read_64k_setup(struct km *km)
{
	struct fs_file_bw *f = fs_file_bw_setup(km, 0);

	km->claim.reads = (double)f->bytes / (double)f->piece;
	km->claim.syscalls = km->claim.reads + 1;
	km->claim.faults = 0;
	return f;
}

static void fs_read_64k_run(void *state, uint64_t n)
{
	struct fs_file_bw *f = state;

	while (n--) {
		fs_file_bw_pass(f, f->fd);
		km_rewind(f->km, f->fd);
	}
}

/* fs/read-open2close ------------------------------------------------------------------------------------------ */

static void *fs_read_open2close_setup(struct km *km)
{
	struct fs_file_bw *f = fs_file_bw_setup(km, 0);

	km->claim.reads = (double)f->bytes / (double)f->piece;
	km->claim.syscalls = km->claim.reads + 2;
	km->claim.faults = 0;
	return f;
}

static void fs_read_open2close_run(void *state, uint64_t n)
{
	struct fs_file_bw *f = state;

	while (n--) {
		int fd = fs_file_bw_open(f);

		fs_file_bw_pass(f, fd);
		fs_file_bw_shut(f, fd);
	}
}

/* fs/mmap-open2close ------------------------------------------------------------------------------------------ */

static void *fs_mmap_open2close_setup(struct km *km)
{
	struct fs_file_bw *f = fs_file_bw_setup(km, 1);

	km->claim.syscalls = 4;
	return f;
}

static void fs_mmap_open2close_run(void *state, uint64_t n)
{
	struct fs_file_bw *f = state;

	while (n--) {
		int fd = fs_file_bw_open(f);
		void *map = km_map_file(NULL, fd, 0, f->bytes);

		if (!map)
			km_fail_call(f->km, "mmap");
		f->sum += km_sum(map, f->bytes);
		f->done++;
		if (km_unmap(map, f->bytes) != 0)
			km_fail_call(f->km, "munmap");
		fs_file_bw_shut(f, fd);
	}
}

#define FS_FILE_BW_FULL(bytes, path_n) { { bytes }, FULL, path_n, ONE_CPU, 0 }

static const struct point fs_file_bw_points[] = {
	FS_FILE_BW_FULL(512, 100),
	FS_FILE_BW_FULL(1 << 10, 0),
	FS_FILE_BW_FULL(4 << 10, 50),
	FS_FILE_BW_FULL(16 << 10, 0),
	{ { 64 << 10 }, QUICK, 10, ONE_CPU, 0 },
	FS_FILE_BW_FULL(256 << 10, 10),
	FS_FILE_BW_FULL(1 << 20, 4),
	FS_FILE_BW_FULL(4 << 20, 0),
	FS_FILE_BW_FULL(16 << 20, 0),
	FS_FILE_BW_FULL(64 << 20, 0),
	{ { 4 << 10 }, FULL, 50, ON_EXT4, 0 },
	{ { 4 << 10 }, FULL, 50, ON_MINIX, 0 },
	{ { 256 << 10 }, FULL, 10, ON_EXT4, 0 },
	{ { 256 << 10 }, FULL, 10, ON_MINIX, 0 },
	{ { 0 }, 0, 0, ONE_CPU, 0 },
};

#define FS_FILE_BW_ROW                                                                                            \
	.per = "file", .unit = UNIT_BYTES_PER_S, .settings = SET_FOLDER, .params = { "bytes" }, .curve = "bytes", \
	.points = fs_file_bw_points, .counted = { offsetof(struct fs_file_bw, done), "passes were made" },        \
	.verify = fs_file_bw_verify

const struct workload fs_read_64k = {
	.name = "fs/read-64k",
	FS_FILE_BW_ROW,
	.source = "G figure 5 (lmbench's bw_file_rd, io_only)",
	.what = "read an open, cached file of `bytes` bytes in pieces of 64 KiB",
	.inside = "all reads of the file, each piece's first word added up, and one lseek to its start",
	.setup = fs_read_64k_setup,
	.run = fs_read_64k_run,
	.settle = fs_file_bw_settle,
};

const struct workload fs_read_open2close = {
	.name = "fs/read-open2close",
	FS_FILE_BW_ROW,
	.source = "G figure 5 (lmbench's bw_file_rd, open2close)",
	.what = "open a cached file of `bytes` bytes, read it in pieces of 64 KiB, close it",
	.inside = "open, all reads of the file, each piece's first word added up, and close",
	.setup = fs_read_open2close_setup,
	.run = fs_read_open2close_run,
	.settle = fs_file_bw_settle,
};

const struct workload fs_mmap_open2close = {
	.name = "fs/mmap-open2close",
	FS_FILE_BW_ROW,
	.source = "G figure 5 (lmbench's bw_mmap_rd, open2close)",
	.what = "open a cached file of `bytes` bytes, map it, add all its words up, unmap and close it",
	.inside = "open, mmap, loads of one machine word each (never wider) with their page faults, munmap, close",
	.needs = CAP_MMAP,
	.setup = fs_mmap_open2close_setup,
	.run = fs_mmap_open2close_run,
};
