/* fs/fsync: overwrites blocks of a file one after another, each made durable before the next. The file system and the
 * disk decide what durable means: on a file system in memory fsync does nothing, and a warning says so; whether the
 * disk writes its own cache out is not visible here. */
#include "../km.h"

#define FS_FSYNC_BLOCKS 16

struct fs_fsync {
	struct km *km;
	int fd;
	size_t size;       /* of a block, bytes */
	uint64_t old, new; /* seeds of the file's first content, and of the blocks written */
	uint64_t done;
	uint64_t *block; /* its first word is the number of the write */
};

static void fs_fsync_say_durability(struct km *km)
{
	char folder[KM_PATH], name[64];

	km_file_system(km_path(km, folder, "."), name, sizeof name);
	if (strcmp(name, "tmpfs") == 0 || strcmp(name, "ramfs") == 0)
		km_warn(km, "not-durable", "on %s fsync writes nothing: the figure is the cost of the calls alone",
			name);
}

static void *fs_fsync_setup(struct km *km)
{
	struct fs_fsync *f = km_state(km, sizeof *f);

	f->size = (size_t)km->arg[0];
	f->old = km_random(km);
	f->new = km_random(km);
	f->block = km_alloc(km, f->size);
	km_content_fill(f->block, f->size, f->new, 0);
	km_room(km, 1, FS_FSYNC_BLOCKS * f->size);
	f->fd = km_content_file(km, "data", f->old, FS_FSYNC_BLOCKS * f->size);
	if (fsync(f->fd) != 0)
		km_fail_call(km, "fsync");
	fs_fsync_say_durability(km);
	km->claim.writes = 1;
	km->claim.syscalls = 2 + 1.0 / FS_FSYNC_BLOCKS;
	return f;
}

static void fs_fsync_run(void *state, uint64_t n)
{
	struct fs_fsync *f = state;

	while (n--) {
		ssize_t put;

		f->block[0] = f->done;
		put = write(f->fd, f->block, f->size);
		if (put != (ssize_t)f->size)
			km_moved(f->km, "write", put, f->size);
		if (fsync(f->fd) != 0)
			km_fail_call(f->km, "fsync");
		if (++f->done % FS_FSYNC_BLOCKS == 0)
			km_rewind(f->km, f->fd);
	}
}

static void fs_fsync_verify(void *state, uint64_t n)
{
	struct fs_fsync *f = state;

	if (f->done != n)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " blocks were written", f->done, n);
	km_content_overwritten(f->km, f->fd, f->size, FS_FSYNC_BLOCKS, f->old, f->new, n);
}

const struct workload fs_fsync = {
	.name = "fs/fsync",
	.per = "block",
	.source = "beyond the sources (durability)",
	.what = "overwrite the next block of `bytes` bytes of a file of 16 blocks, and make it durable",
	.inside = "one write, one fsync and its wait for the disk; after the last block an lseek to the start",
	.settings = SET_FOLDER,
	.params = { "bytes" },
	.curve = "bytes",
	.points = KM_POINTS({ { 512 }, FULL, 20, ONE_CPU, 0 }, { { 4096 }, QUICK, 10, ONE_CPU, 0 },
			    { { 65536 }, FULL, 10, ONE_CPU, 0 }, { { 4096 }, FULL, 10, ON_EXT4, 0 },
			    { { 4096 }, FULL, 10, ON_MINIX, 0 }, { { 65536 }, FULL, 5, ON_EXT4, 0 },
			    { { 65536 }, FULL, 5, ON_MINIX, 0 }),
	.setup = fs_fsync_setup,
	.run = fs_fsync_run,
	.verify = fs_fsync_verify,
};
