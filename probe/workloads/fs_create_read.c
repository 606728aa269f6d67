/* fs/create-read: Loew's program: creates `files` files with an array's contents, then opens and reads them `reads`
 * times. The figure is the whole time, as in the table. The files are removed after each iteration, untimed.
 *
 * The source gives neither the array's size nor the order of reading: here 1024 bytes, and one pass over all files
 * after another. Names are short and relative to the run's directory: its depth costs nothing. */
#include "km.h"

#define FS_CREATE_READ_BYTES 1024
#define FS_CREATE_READ_NAME 8

struct fs_create_read {
	struct km *km;
	long files, reads;
	int made; /* the files exist */
	char (*name)[FS_CREATE_READ_NAME];
	uint64_t seed;
	uint64_t sum, checked; /* of first words read; iterations checked */
	uint64_t data[FS_CREATE_READ_BYTES / KM_CONTENT_WORD];
	uint64_t back[FS_CREATE_READ_BYTES / KM_CONTENT_WORD];
};

static void *fs_create_read_setup(struct km *km)
{
	struct fs_create_read *f = km_state(km, sizeof *f);
	double opens = (double)km->arg[0] * (double)km->arg[1];

	f->files = km->arg[0];
	f->reads = km->arg[1];
	f->seed = km_random(km);
	f->name = km_alloc(km, (size_t)f->files * sizeof *f->name);
	for (long i = 0; i < f->files; i++)
		snprintf(f->name[i], sizeof f->name[i], "f%ld", i % 1000000);
	km_content_fill(f->data, sizeof f->data, f->seed, 0);
	km_room(km, (unsigned)f->files, FS_CREATE_READ_BYTES);
	km_enter(km);
	km->claim.writes = (double)f->files;
	km->claim.reads = opens;
	km->claim.syscalls = 3 * ((double)f->files + opens);
	return f;
}

/* The first word tells the files apart; the rest of the array is the same in all. */
static void fs_create_read_create(struct fs_create_read *f, long i)
{
	int fd = open(f->name[i], O_WRONLY | O_CREAT | O_EXCL, 0600);
	ssize_t put;

	if (fd < 0)
		km_fail_call(f->km, "open");
	f->data[0] = f->seed + (uint64_t)i;
	put = write(fd, f->data, sizeof f->data);
	if (put != (ssize_t)sizeof f->data)
		km_moved(f->km, "write", put, sizeof f->data);
	if (close(fd) != 0)
		km_fail_call(f->km, "close");
}

static void fs_create_read_read(struct fs_create_read *f, long i)
{
	int fd = open(f->name[i], O_RDONLY);
	ssize_t got;

	if (fd < 0)
		km_fail_call(f->km, "open");
	got = read(fd, f->back, sizeof f->back);
	if (got != (ssize_t)sizeof f->back)
		km_moved(f->km, "read", got, sizeof f->back);
	f->sum += f->back[0];
	if (close(fd) != 0)
		km_fail_call(f->km, "close");
}

static void fs_create_read_run(void *state, uint64_t n)
{
	struct fs_create_read *f = state;

	if (n != 1 || f->made++)
		km_fail(f->km, "one iteration a sample: the files must be removed after each");
	for (long i = 0; i < f->files; i++)
		fs_create_read_create(f, i);
	for (long pass = 0; pass < f->reads; pass++)
		for (long i = 0; i < f->files; i++)
			fs_create_read_read(f, i);
}

/* Checks the first word of each file read, and all of the last one. */
static void fs_create_read_settle(void *state, uint64_t n)
{
	struct fs_create_read *f = state;
	uint64_t files = (uint64_t)f->files, once = files * f->seed + files * (files - 1) / 2;

	if (f->sum != once * (uint64_t)f->reads)
		km_fail(f->km, "the data read differ from the data written");
	km_content_check(f->km, f->back + 1, sizeof f->back - KM_CONTENT_WORD, f->seed, KM_CONTENT_WORD);
	for (long i = 0; i < f->files; i++)
		if (unlink(f->name[i]) != 0)
			km_fail_call(f->km, "unlink");
	f->made = 0;
	f->sum = 0;
	f->checked += n;
}

const struct workload fs_create_read = {
	.name = "fs/create-read",
	.per = "whole run",
	.source = "L table 1",
	.what = "create `files` files with an array's contents (1024 bytes), then open and read each `reads` times",
	.inside = "open, write, close of each new file; then `reads` passes over all: open, read, close; no removal",
	.settings = SET_FOLDER,
	.params = { "files", "reads" },
	.points = KM_POINTS({ { 10, 10 }, QUICK, 8, ONE_CPU, 0 }, { { 10, 100 }, FULL, 2, ONE_CPU, 0 },
			    { { 10, 1000 }, FULL, 0, ONE_CPU, 0 }, { { 100, 10 }, FULL, 2, ONE_CPU, 0 },
			    { { 100, 100 }, FULL, 0, ONE_CPU, 0 }, { { 100, 1000 }, FULL, 0, ONE_CPU, 0 },
			    { { 1000, 10 }, FULL, 0, ONE_CPU, 0 }, { { 1000, 100 }, FULL, 0, ONE_CPU, 0 },
			    { { 1000, 1000 }, FULL, 0, ONE_CPU, 0 }, { { 10, 10 }, QUICK, 8, ON_EXT4, 0 },
			    { { 10, 10 }, QUICK, 8, ON_MINIX, 0 }, { { 100, 10 }, FULL, 2, ON_EXT4, 0 },
			    { { 100, 10 }, FULL, 2, ON_MINIX, 0 }),
	.max_batch = 1,
	.setup = fs_create_read_setup,
	.run = fs_create_read_run,
	.settle = fs_create_read_settle,
	.counted = { offsetof(struct fs_create_read, checked), "iterations were checked" },
};
