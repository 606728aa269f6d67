/* fs/read-buffer, fs/read-buffer-uncached: a file of random bytes read with buffers of 4 bytes to 64 KiB.
 *
 * Cached, an iteration is one read, from start to end of the file, over and over. Uncached, it is the whole file,
 * dropped from the kernel's cache before: shorter pieces would time the read-ahead. Before each sample mincore checks
 * page by page that the file has left the cache; on a file system in memory nothing is uncached, and the row is
 * unsupported. Caches below the kernel (a disk's own, a hypervisor's) stay as they are. */
#include "km.h"

struct fs_read_buffer {
	struct km *km;
	int fd;
	size_t size;        /* of the buffer, bytes */
	uint64_t calls, at; /* reads in one pass over the file; in this pass so far */
	uint64_t seed;
	uint64_t done, checked; /* reads, in all */
	uint64_t sum;           /* of the first words read since the last check */
	char *buffer;
};

#define FS_READ_BUFFER_PATH (1 << 20) /* by path the file is no longer than the plan, and than this */

static void *fs_read_buffer_setup(struct km *km)
{
	struct fs_read_buffer *f = km_state(km, sizeof *f);
	uint64_t bytes = (uint64_t)km->arg[1] * 1024;

	f->size = (size_t)km->arg[0];
	f->seed = km_random(km);
	f->buffer = km_alloc(km, f->size);
	memset(f->buffer, 1, f->size); /* touches its pages before the first read */
	if (km->by == BY_PATH && bytes > FS_READ_BUFFER_PATH)
		bytes = FS_READ_BUFFER_PATH;
	if (km->by == BY_PATH && bytes > f->size * km->point->path_n)
		bytes = f->size * km->point->path_n;
	f->calls = bytes / f->size;
	km_room(km, 1, bytes);
	f->fd = km_content_file(km, "data", f->seed, bytes);
	km->bytes = (double)f->size;
	km->claim.reads = 1;
	km->claim.faults = 0;
	km->claim.syscalls = 1 + 1 / (double)f->calls;
	return f;
}

static void fs_read_buffer_reads(struct fs_read_buffer *f, uint64_t n)
{
	uint32_t first;

	while (n--) {
		ssize_t got = read(f->fd, f->buffer, f->size);

		if (got != (ssize_t)f->size)
			km_moved(f->km, "read", got, f->size);
		memcpy(&first, f->buffer, sizeof first);
		f->sum += first;
		f->done++;
		if (++f->at == f->calls) {
			km_rewind(f->km, f->fd);
			f->at = 0;
		}
	}
}

static void fs_read_buffer_run(void *state, uint64_t n)
{
	fs_read_buffer_reads(state, n);
}

/* Checks each read since the last time by its first word, and the last one whole. */
static void fs_read_buffer_settle(void *state, uint64_t n)
{
	struct fs_read_buffer *f = state;
	uint64_t sum = 0;

	(void)n;
	for (; f->checked < f->done; f->checked++)
		sum += km_content_half(f->seed, f->checked % f->calls * f->size);
	if (sum != f->sum)
		km_fail(f->km, "the data read differ from the file's");
	f->sum = 0;
	km_content_check(f->km, f->buffer, f->size, f->seed, (f->done - 1) % f->calls * f->size);
}

static void fs_read_buffer_verify(void *state, uint64_t n)
{
	struct fs_read_buffer *f = state;

	n *= (uint64_t)f->km->ops;
	if (f->checked != n)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " reads were checked", f->checked, n);
}

/* Uncached ---------------------------------------------------------------------------------------------------- */

static void *fs_read_buffer_uncached_setup(struct km *km)
{
	struct fs_read_buffer *f = fs_read_buffer_setup(km);

	km_uncached_setup(km, f->fd, f->calls * f->size);
	km->ops = (double)f->calls;
	km->claim.reads = km->ops;
	km->claim.syscalls = km->ops + 1;
	return f;
}

static void fs_read_buffer_uncached_prepare(void *state, uint64_t n)
{
	struct fs_read_buffer *f = state;

	if (n != 1)
		km_fail(f->km, "one iteration a sample: the file is uncached only once");
	km_uncache(f->km, f->fd, f->calls * f->size);
}

static void fs_read_buffer_uncached_run(void *state, uint64_t n)
{
	struct fs_read_buffer *f = state;

	fs_read_buffer_reads(f, n * f->calls);
}

#define FS_READ_BUFFER_ROW                                                                       \
	.per = "read", .unit = UNIT_BYTES_PER_S, .source = "K figure 5", .settings = SET_FOLDER, \
	.params = { "buffer", "file_kib" }, .curve = "buffer", .settle = fs_read_buffer_settle,  \
	.verify = fs_read_buffer_verify

const struct workload fs_read_buffer = {
	.name = "fs/read-buffer",
	FS_READ_BUFFER_ROW,
	.what = "read a cached file of random bytes (K: 64 MiB) from start to end with a buffer of `buffer` bytes",
	.inside = "one read, and after the last of the file an lseek to its start; by path the file is as long as "
		  "the plan, which does not change a read",
	.points = KM_POINTS({ { 4, 4096 }, QUICK, 300, ONE_CPU, 0 }, { { 4096, 4096 }, QUICK, 200, ONE_CPU, 0 },
			    { { 65536, 4096 }, QUICK, 32, ONE_CPU, 0 }, { { 4, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 16, 65536 }, FULL, 300, ONE_CPU, 0 }, { { 64, 65536 }, FULL, 300, ONE_CPU, 0 },
			    { { 256, 65536 }, FULL, 300, ONE_CPU, 0 }, { { 1024, 65536 }, FULL, 300, ONE_CPU, 0 },
			    { { 4096, 65536 }, FULL, 0, ONE_CPU, 0 }, { { 16384, 65536 }, FULL, 64, ONE_CPU, 0 },
			    { { 65536, 65536 }, FULL, 0, ONE_CPU, 0 }, { { 4096, 4096 }, QUICK, 200, ON_EXT4, 0 },
			    { { 4096, 4096 }, QUICK, 200, ON_MINIX, 0 }, { { 65536, 4096 }, FULL, 32, ON_EXT4, 0 },
			    { { 65536, 4096 }, FULL, 32, ON_MINIX, 0 }),
	.setup = fs_read_buffer_setup,
	.run = fs_read_buffer_run,
};

const struct workload fs_read_buffer_uncached = {
	.name = "fs/read-buffer-uncached",
	FS_READ_BUFFER_ROW,
	.only = BY_TIME,
	.what = "the same for a file outside the kernel's cache: dropped by posix_fadvise, checked by mincore",
	.inside = "all reads of the file and their waits for the disk, with read-ahead; "
		  "what the disk or a hypervisor caches is unknown",
	.needs = CAP_FADVISE | CAP_MMAP,
	/* The smallest buffers read the small file only: 64 MiB by 4 bytes take seconds, for no more disk. */
	.points = KM_POINTS({ { 4, 4096 }, FULL, 0, ONE_CPU, 0 }, { { 16, 4096 }, FULL, 0, ONE_CPU, 0 },
			    { { 64, 4096 }, FULL, 0, ONE_CPU, 0 }, { { 65536, 4096 }, QUICK, 0, ONE_CPU, 0 },
			    { { 256, 65536 }, FULL, 0, ONE_CPU, 0 }, { { 1024, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 4096, 65536 }, FULL, 0, ONE_CPU, 0 }, { { 16384, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 65536, 65536 }, FULL, 0, ONE_CPU, 0 }),
	.max_batch = 1,
	.setup = fs_read_buffer_uncached_setup,
	.run = fs_read_buffer_uncached_run,
	.prepare = fs_read_buffer_uncached_prepare,
};
