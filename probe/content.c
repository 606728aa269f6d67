/* content.c: files whose every byte is known, and the disk space for them. */
#include "km.h"

#define CONTENT_CHUNK (256 * 1024)

/* A mixed counter: each word is computed without the words before it. */
uint64_t km_content_word(uint64_t seed, uint64_t index)
{
	return km_mix(seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

uint32_t km_content_half(uint64_t seed, uint64_t offset)
{
	uint64_t word = km_content_word(seed, offset / KM_CONTENT_WORD);
	uint32_t half;

	memcpy(&half, (const char *)&word + offset % KM_CONTENT_WORD, sizeof half);
	return half;
}

void km_content_fill(void *to, size_t bytes, uint64_t seed, uint64_t offset)
{
	uint64_t *word = to;

	for (size_t i = 0; i < bytes / KM_CONTENT_WORD; i++)
		word[i] = km_content_word(seed, offset / KM_CONTENT_WORD + i);
}

void km_content_check(struct km *km, const void *from, size_t bytes, uint64_t seed, uint64_t offset)
{
	const char *at = from;

	while (bytes > 0) {
		uint64_t word = km_content_word(seed, offset / KM_CONTENT_WORD);
		size_t skip = (size_t)(offset % KM_CONTENT_WORD), n = KM_CONTENT_WORD - skip;

		if (n > bytes)
			n = bytes;
		if (memcmp(at, (const char *)&word + skip, n) != 0)
			km_fail(km, "wrong data at offset %" PRIu64 " of the file", offset);
		at += n;
		offset += n;
		bytes -= n;
	}
}

void km_content_overwritten(struct km *km, int fd, size_t size, uint64_t blocks, uint64_t before, uint64_t seed,
			    uint64_t writes)
{
	uint64_t *block = km_alloc(km, size);

	km_rewind(km, fd);
	for (uint64_t k = 0; k < blocks; k++) {
		km_read_all(km, fd, block, size);
		if (k >= writes) {
			km_content_check(km, block, size, before, k * size);
			continue;
		}
		if (block[0] != (writes - 1 - k) / blocks * blocks + k)
			km_fail(km, "block %" PRIu64 " does not contain its last write", k);
		km_content_check(km, block + 1, size - sizeof *block, seed, sizeof *block);
	}
}

static void content_say_where(struct km *km, const char *folder)
{
	char name[64];

	km_file_system(folder, name, sizeof name);
	if (name[0])
		km_warn(km, "file-system", "the files were on %s", name);
}

void km_room(struct km *km, unsigned files, uint64_t bytes)
{
	/* A file takes whole blocks and an entry: one more block each, and a margin for the file system. */
	uint64_t need = files * (bytes + 4096) + 256 * 1024, have;
	char folder[KM_PATH];

	if (km_file_limit(&have) == 0 && have < bytes)
		km_fail(km, "a file of %" PRIu64 " KiB is over this process's limit of %" PRIu64 " KiB (ulimit -f)",
			(bytes + 1023) / 1024, have / 1024);
	content_say_where(km, km_path(km, folder, "."));
	if (km_free_space(folder, &have) != 0) {
		if (errno == ENOSYS)
			return; /* a full disk then fails the write itself */
		km_fail_call(km, "statvfs");
	}
	if (have < need)
		km_fail(km,
			"needs %" PRIu64 " KiB of disk, but only %" PRIu64
			" KiB are free in %s: free some, or choose another directory with --dir or TMPDIR",
			(need + 1023) / 1024, have / 1024, folder);
}

/* A cache treats a page's first reads differently (Linux moves the page between lists at the second): a file read twice
 * counts as in use, and the cost of reading it no longer changes. */
#define CONTENT_WARM_PASSES 2
static void content_warm(struct km *km, int fd, char *chunk, uint64_t bytes)
{
	for (int pass = 0; pass < CONTENT_WARM_PASSES; pass++) {
		km_rewind(km, fd);
		for (uint64_t left = bytes; left > 0;) {
			size_t n = left < CONTENT_CHUNK ? (size_t)left : CONTENT_CHUNK;

			km_read_all(km, fd, chunk, n);
			left -= n;
		}
	}
	km_rewind(km, fd);
}

int km_content_file(struct km *km, const char *name, uint64_t seed, uint64_t bytes)
{
	char path[KM_PATH], *chunk = km_alloc(km, CONTENT_CHUNK);
	int fd = open(km_path(km, path, name), O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0)
		km_fail_call(km, "open");
	for (uint64_t at = 0; at < bytes;) {
		size_t n = bytes - at < CONTENT_CHUNK ? (size_t)(bytes - at) : CONTENT_CHUNK;

		km_content_fill(chunk, n, seed, at);
		km_write_all(km, fd, chunk, n);
		at += n;
	}
	content_warm(km, fd, chunk, bytes);
	km_free(chunk);
	return fd;
}

void km_moved(struct km *km, const char *call, ssize_t moved, size_t wanted)
{
	if (moved < 0)
		km_fail_call(km, call);
	km_fail(km, "%s moved %ld bytes of %lu", call, (long)moved, (unsigned long)wanted);
}

void km_rewind(struct km *km, int fd)
{
	if (lseek(fd, 0, SEEK_SET) != 0)
		km_fail_call(km, "lseek");
}

/* Asks the kernel to drop the file's pages; returns how many are still in the cache. */
static long content_drop(struct km *km, int fd, uint64_t bytes)
{
	if (km_cache_drop(fd) != 0)
		km_fail_call(km, "posix_fadvise");
	return km_cache_resident(fd, (size_t)bytes);
}

void km_uncached_setup(struct km *km, int fd, uint64_t bytes)
{
	long stay;

	if (fsync(fd) != 0) /* the kernel drops only pages that are on the disk */
		km_fail_call(km, "fsync");
	stay = content_drop(km, fd, bytes);
	if (stay < 0)
		km_unsupported(km, "this platform cannot tell whether a file has left the cache (no mincore)");
	if (stay > 0)
		km_unsupported(km,
			       "%ld of the file's pages stayed in memory when the kernel was asked to drop them, as on "
			       "a file system in memory: name a directory on a disk with --dir or TMPDIR",
			       stay);
}

#define CONTENT_DROPS 10
void km_uncache(struct km *km, int fd, uint64_t bytes)
{
	long stay = 1;

	for (int i = 0; i < CONTENT_DROPS && stay != 0; i++)
		stay = content_drop(km, fd, bytes);
	if (stay != 0)
		km_fail(km, "%ld of the file's pages did not leave the cache", stay);
}
