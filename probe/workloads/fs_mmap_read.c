/* fs/mmap-read, fs/mmap-read-uncached: a mapped file of random bytes, copied through a buffer of 4 bytes to 64 KiB.
 *
 * An iteration is the whole file, freshly mapped before: the first access to each page faults. Afterwards a page is
 * memory like any other, and a second pass would tell nothing about the kernel. Uncached, the file is dropped from the
 * cache before it is mapped, and the drop is checked; the source fills memory to displace it. */
#include "../km.h"

#define FS_MMAP_READ_PATH (256 << 10) /* by path the file is no longer than this */

struct fs_mmap_read {
	struct km *km;
	int fd, uncached;
	size_t size;     /* of the buffer, bytes */
	uint64_t copies; /* in one pass over the file */
	uint64_t seed;
	uint64_t sum, wanted;   /* of the first 4 bytes of each piece: in this pass, in every pass */
	uint64_t done, checked; /* passes */
	char *map;              /* from prepare to settle */
	char *buffer;
};

static size_t fs_mmap_read_bytes(const struct fs_mmap_read *f)
{
	return (size_t)f->copies * f->size;
}

static void *fs_mmap_read_setup(struct km *km)
{
	struct fs_mmap_read *f = km_state(km, sizeof *f);
	uint64_t bytes = (uint64_t)km->arg[1] * 1024;

	f->size = (size_t)km->arg[0];
	f->seed = km_random(km);
	f->buffer = km_alloc(km, f->size);
	memset(f->buffer, 1, f->size); /* touches its pages before the first copy */
	if (km->by == BY_PATH && bytes > FS_MMAP_READ_PATH)
		bytes = FS_MMAP_READ_PATH;
	f->copies = bytes / f->size;
	for (uint64_t i = 0; i < f->copies; i++)
		f->wanted += km_content_half(f->seed, i * f->size);
	km_room(km, 1, bytes);
	f->fd = km_content_file(km, "data", f->seed, bytes);
	km->ops = (double)f->copies;
	km->bytes = (double)f->size;
	km->claim.syscalls = 0;
	return f;
}

static void *fs_mmap_read_uncached_setup(struct km *km)
{
	struct fs_mmap_read *f = fs_mmap_read_setup(km);

	km_uncached_setup(km, f->fd, fs_mmap_read_bytes(f));
	f->uncached = 1;
	return f;
}

static void fs_mmap_read_prepare(void *state, uint64_t n)
{
	struct fs_mmap_read *f = state;

	if (n != 1)
		km_fail(f->km, "one iteration a sample: the file is freshly mapped only once");
	if (f->uncached)
		km_uncache(f->km, f->fd, fs_mmap_read_bytes(f));
	f->map = km_map_file(NULL, f->fd, 0, fs_mmap_read_bytes(f));
	if (!f->map)
		km_fail_call(f->km, "mmap");
	f->sum = 0;
}

static void fs_mmap_read_run(void *state, uint64_t n)
{
	struct fs_mmap_read *f = state;
	const char *end = f->map + fs_mmap_read_bytes(f);
	uint32_t first;

	for (const char *at = f->map; at < end; at += f->size) {
		memcpy(f->buffer, at, f->size);
		KM_KEEP((uintptr_t)f->buffer);
		memcpy(&first, f->buffer, sizeof first);
		f->sum += first;
	}
	f->done += n;
}

/* Checks each piece by its first word, and the last one whole. */
static void fs_mmap_read_settle(void *state, uint64_t n)
{
	struct fs_mmap_read *f = state;

	if (f->sum != f->wanted)
		km_fail(f->km, "the data copied differ from the file's");
	km_content_check(f->km, f->buffer, f->size, f->seed, (f->copies - 1) * f->size);
	if (km_unmap(f->map, fs_mmap_read_bytes(f)) != 0)
		km_fail_call(f->km, "munmap");
	f->checked += n;
}

static void fs_mmap_read_verify(void *state, uint64_t n)
{
	struct fs_mmap_read *f = state;

	if (f->done != n || f->checked != n)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " passes were checked", f->checked, n);
}

#define FS_MMAP_READ_ROW                                                                                \
	.per = "copy", .unit = UNIT_BYTES_PER_S, .source = "K figure 6", .settings = SET_FOLDER,        \
	.params = { "buffer", "file_kib" }, .curve = "buffer", .max_batch = 1, .run = fs_mmap_read_run, \
	.prepare = fs_mmap_read_prepare, .settle = fs_mmap_read_settle, .verify = fs_mmap_read_verify

const struct workload fs_mmap_read = {
	.name = "fs/mmap-read",
	FS_MMAP_READ_ROW,
	.what = "copy a cached file of random bytes (K: 64 MiB) from a fresh mapping in pieces of `buffer` bytes",
	.inside = "libc's memcpy of the whole file and the faults of its pages; not mmap and munmap; "
		  "by path the file is 256 KiB long",
	.needs = CAP_MMAP,
	/* The smallest buffer copies the small file only: 64 MiB by 4 bytes take 0.25 s, for no more faults. */
	.points = KM_POINTS({ { 4, 4096 }, FULL, 2, ONE_CPU, 0 }, { { 4096, 4096 }, FULL, 3, ONE_CPU, 0 },
			    { { 65536, 4096 }, QUICK, 3, ONE_CPU, 0 }, { { 16, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 64, 65536 }, FULL, 0, ONE_CPU, 0 }, { { 256, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 4096, 65536 }, FULL, 0, ONE_CPU, 0 }, { { 65536, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 65536, 4096 }, FULL, 3, ON_EXT4, 0 }, { { 65536, 4096 }, FULL, 3, ON_MINIX, 0 }),
	.setup = fs_mmap_read_setup,
};

const struct workload fs_mmap_read_uncached = {
	.name = "fs/mmap-read-uncached",
	FS_MMAP_READ_ROW,
	.only = BY_TIME,
	.what = "the same for a file outside the kernel's cache: dropped by posix_fadvise, checked by mincore",
	.inside = "libc's memcpy of the whole file, the faults of its pages and their waits for the disk, with "
		  "read-ahead; what the disk or a hypervisor caches is unknown",
	.needs = CAP_FADVISE | CAP_MMAP,
	.points = KM_POINTS({ { 4, 4096 }, FULL, 0, ONE_CPU, 0 }, { { 256, 4096 }, FULL, 0, ONE_CPU, 0 },
			    { { 65536, 4096 }, FULL, 0, ONE_CPU, 0 }, { { 256, 65536 }, FULL, 0, ONE_CPU, 0 },
			    { { 65536, 65536 }, FULL, 0, ONE_CPU, 0 }),
	.setup = fs_mmap_read_uncached_setup,
};
