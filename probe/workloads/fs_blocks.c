/* fs/read, fs/write, fs/copy: one block after another from start to end of a file, over and over, as UnixBench's fstime
 * does. The files have their full length before the first sample: a write overwrites and never extends. By path the
 * files have the plan's blocks only; the cost of a block stays the same. */
#include "km.h"

struct fs_blocks {
	struct km *km;
	int from, to;                /* -1: this workload has no such file */
	size_t size;                 /* of a block, bytes */
	uint64_t blocks;             /* in a file */
	uint64_t from_seed, to_seed; /* of the files' first content */
	uint64_t at;                 /* the next block */
	uint64_t done, checked;      /* blocks moved and, of them, checked */
	uint64_t sum;                /* of the first words of the blocks read since the check */
	uint64_t *buffer;            /* a block */
};

static struct fs_blocks *fs_blocks_setup(struct km *km, int reads, int writes)
{
	struct fs_blocks *f = km_state(km, sizeof *f);
	uint64_t bytes;

	f->from = f->to = -1;
	f->size = (size_t)km->arg[0];
	f->blocks = (uint64_t)km->arg[1];
	if (km->by == BY_PATH && km->point->path_n < f->blocks)
		f->blocks = km->point->path_n;
	f->from_seed = km_random(km);
	f->to_seed = km_random(km);
	f->buffer = km_alloc(km, f->size);
	memset(f->buffer, 1, f->size); /* touches its pages before the first block */
	bytes = f->blocks * f->size;
	km_room(km, (unsigned)(reads + writes), bytes);
	if (reads)
		f->from = km_content_file(km, "from", f->from_seed, bytes);
	if (writes)
		f->to = km_content_file(km, "to", f->to_seed, bytes);
	km->bytes = (double)f->size;
	km->claim.reads = reads;
	km->claim.writes = writes;
	km->claim.faults = 0;
	km->claim.syscalls = (reads + writes) * (1 + 1 / (double)f->blocks); /* one more for the rewind at the end */
	return f;
}

static void fs_blocks_next(struct fs_blocks *f)
{
	f->done++;
	if (++f->at < f->blocks)
		return;
	f->at = 0;
	if (f->from >= 0)
		km_rewind(f->km, f->from);
	if (f->to >= 0)
		km_rewind(f->km, f->to);
}

static void fs_blocks_get(struct fs_blocks *f)
{
	ssize_t got = read(f->from, f->buffer, f->size);

	if (got != (ssize_t)f->size)
		km_moved(f->km, "read", got, f->size);
	f->sum += f->buffer[0];
}

static void fs_blocks_put(struct fs_blocks *f)
{
	ssize_t put = write(f->to, f->buffer, f->size);

	if (put != (ssize_t)f->size)
		km_moved(f->km, "write", put, f->size);
}

static uint64_t fs_blocks_offset(const struct fs_blocks *f, uint64_t move)
{
	return move % f->blocks * f->size;
}

/* Checks each block read since the last time by its first word, and the last one whole. */
static void fs_blocks_settle(void *state, uint64_t n)
{
	struct fs_blocks *f = state;
	uint64_t sum = 0;

	(void)n;
	for (; f->checked < f->done; f->checked++)
		sum += km_content_word(f->from_seed, fs_blocks_offset(f, f->checked) / KM_CONTENT_WORD);
	if (sum != f->sum)
		km_fail(f->km, "the blocks read differ from the file's");
	f->sum = 0;
	if (f->done > 0)
		km_content_check(f->km, f->buffer, f->size, f->from_seed, fs_blocks_offset(f, f->done - 1));
}

/* fs/read ---------------------------------------------------------------------------------------------------- */

static void *fs_read_setup(struct km *km)
{
	return fs_blocks_setup(km, 1, 0);
}

static void fs_read_run(void *state, uint64_t n)
{
	struct fs_blocks *f = state;

	while (n--) {
		fs_blocks_get(f);
		fs_blocks_next(f);
	}
}

static void fs_read_verify(void *state, uint64_t n)
{
	struct fs_blocks *f = state;

	if (f->checked != n)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " blocks were checked", f->checked, n);
}

/* fs/write: each block contains the number of its write in its first word ------------------------------------- */

static void *fs_write_setup(struct km *km)
{
	struct fs_blocks *f = fs_blocks_setup(km, 0, 1);

	km_content_fill(f->buffer, f->size, f->from_seed, 0);
	return f;
}

static void fs_write_run(void *state, uint64_t n)
{
	struct fs_blocks *f = state;

	while (n--) {
		f->buffer[0] = f->done;
		fs_blocks_put(f);
		fs_blocks_next(f);
	}
}

static void fs_write_verify(void *state, uint64_t n)
{
	struct fs_blocks *f = state;

	km_content_overwritten(f->km, f->to, f->size, f->blocks, f->to_seed, f->from_seed, n);
}

/* fs/copy ---------------------------------------------------------------------------------------------------- */

static void *fs_copy_setup(struct km *km)
{
	return fs_blocks_setup(km, 1, 1);
}

static void fs_copy_run(void *state, uint64_t n)
{
	struct fs_blocks *f = state;

	while (n--) {
		fs_blocks_get(f);
		fs_blocks_put(f);
		fs_blocks_next(f);
	}
}

static void fs_copy_verify(void *state, uint64_t n)
{
	struct fs_blocks *f = state;

	fs_read_verify(f, n);
	km_rewind(f->km, f->to);
	for (uint64_t k = 0; k < f->blocks; k++) {
		km_read_all(f->km, f->to, f->buffer, f->size);
		km_content_check(f->km, f->buffer, f->size, k < n ? f->from_seed : f->to_seed, k * f->size);
	}
}

static const struct point fs_blocks_points[] = {
	{ { 256, 500 }, FULL, 500, ONE_CPU, 0 },     { { 1024, 2000 }, QUICK, 300, ONE_CPU, 0 },
	{ { 4096, 8000 }, FULL, 200, ONE_CPU, 0 },   { { 1024, 2000 }, QUICK, 300, ON_EXT4, 0 },
	{ { 1024, 2000 }, QUICK, 300, ON_MINIX, 0 }, { { 4096, 8000 }, FULL, 200, ON_EXT4, 0 },
	{ { 4096, 8000 }, FULL, 200, ON_MINIX, 0 },  { { 0 }, 0, 0, ONE_CPU, 0 }
};

#define FS_BLOCKS_INSIDE                                                                             \
	"; after the last block an lseek to the start; the file is cached; one block an iteration; " \
	"by path the file is as long as the plan"

#define FS_BLOCKS_ROW                                                                                                 \
	.per = "block", .unit = UNIT_BYTES_PER_S, .source = "M table 1, C; UnixBench fstime", .settings = SET_FOLDER, \
	.params = { "bufsize", "blocks" }, .points = fs_blocks_points,                                                \
	.counted = { offsetof(struct fs_blocks, done), "blocks were moved" }

const struct workload fs_read = {
	.name = "fs/read",
	FS_BLOCKS_ROW,
	.what = "read a file in blocks of `bufsize` bytes, from start to end, over and over",
	.inside = "one read" FS_BLOCKS_INSIDE,
	.setup = fs_read_setup,
	.run = fs_read_run,
	.settle = fs_blocks_settle,
	.verify = fs_read_verify,
};

const struct workload fs_write = {
	.name = "fs/write",
	FS_BLOCKS_ROW,
	.what = "overwrite a file in blocks of `bufsize` bytes, from start to end, over and over",
	.inside = "one write, which overwrites: the file never grows; no fsync" FS_BLOCKS_INSIDE,
	.setup = fs_write_setup,
	.run = fs_write_run,
	.verify = fs_write_verify,
};

const struct workload fs_copy = {
	.name = "fs/copy",
	FS_BLOCKS_ROW,
	.what = "copy a file over another in blocks of `bufsize` bytes, over and over; a block counts once",
	.inside = "one read and one write, which overwrites: the file never grows; no fsync" FS_BLOCKS_INSIDE,
	.setup = fs_copy_setup,
	.run = fs_copy_run,
	.settle = fs_blocks_settle,
	.verify = fs_copy_verify,
};
