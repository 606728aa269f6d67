/* fs/create-delete: creates, writes and closes files, then deletes them, as lmbench's lat_fs does: all of an iteration
 * exist before the first is deleted. Names are short and relative to the run's directory: its depth costs nothing. */
#include "../km.h"

#define FS_CREATE_DELETE_FILES 16
#define FS_CREATE_DELETE_NAME 8

struct fs_create_delete {
	struct km *km;
	size_t bytes; /* of a file */
	char name[FS_CREATE_DELETE_FILES][FS_CREATE_DELETE_NAME];
	uint64_t created, deleted;
	char *data;
};

static void *fs_create_delete_setup(struct km *km)
{
	struct fs_create_delete *f = km_state(km, sizeof *f);

	f->bytes = (size_t)km->arg[0];
	f->data = km_alloc(km, f->bytes);
	km_content_fill(f->data, f->bytes, km_random(km), 0);
	for (int i = 0; i < FS_CREATE_DELETE_FILES; i++)
		snprintf(f->name[i], sizeof f->name[i], "f%d", i % 1000);
	km_room(km, FS_CREATE_DELETE_FILES, f->bytes);
	km_enter(km);
	km->ops = FS_CREATE_DELETE_FILES;
	km->claim.writes = f->bytes ? km->ops : 0;
	km->claim.syscalls = 3 * km->ops + km->claim.writes;
	return f;
}

/* O_EXCL: the former file of this name was deleted. */
static void fs_create_delete_create(struct fs_create_delete *f, const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ssize_t put = 0;

	if (fd < 0)
		km_fail_call(f->km, "open");
	if (f->bytes > 0)
		put = write(fd, f->data, f->bytes);
	if (put != (ssize_t)f->bytes)
		km_moved(f->km, "write", put, f->bytes);
	if (close(fd) != 0)
		km_fail_call(f->km, "close");
	f->created++;
}

static void fs_create_delete_run(void *state, uint64_t n)
{
	struct fs_create_delete *f = state;

	while (n--) {
		for (int i = 0; i < FS_CREATE_DELETE_FILES; i++)
			fs_create_delete_create(f, f->name[i]);
		for (int i = 0; i < FS_CREATE_DELETE_FILES; i++, f->deleted++)
			if (unlink(f->name[i]) != 0)
				km_fail_call(f->km, "unlink");
	}
}

static void fs_create_delete_verify(void *state, uint64_t n)
{
	struct fs_create_delete *f = state;
	struct stat s;

	n *= FS_CREATE_DELETE_FILES;
	if (f->created != n || f->deleted != n)
		km_fail(f->km, "%" PRIu64 " files were created and %" PRIu64 " deleted, not %" PRIu64, f->created,
			f->deleted, n);
	for (int i = 0; i < FS_CREATE_DELETE_FILES; i++)
		if (lstat(f->name[i], &s) == 0 || errno != ENOENT)
			km_fail(f->km, "a deleted file is still there");
}

const struct workload fs_create_delete = {
	.name = "fs/create-delete",
	.per = "file",
	.source = "lmbench lat_fs",
	.what = "create 16 files of `bytes` bytes in an empty directory, then delete them: per file",
	.inside = "open, write (none for an empty file), close of each; then unlink of each",
	.settings = SET_FOLDER,
	.params = { "bytes" },
	.curve = "bytes",
	.points = KM_POINTS({ { 0 }, QUICK, 5, ONE_CPU, 0 }, { { 1024 }, FULL, 8, ONE_CPU, 0 },
			    { { 4096 }, FULL, 8, ONE_CPU, 0 }, { { 10240 }, FULL, 8, ONE_CPU, 0 },
			    { { 0 }, FULL, 8, ON_EXT4, 0 }, { { 0 }, FULL, 8, ON_MINIX, 0 },
			    { { 10240 }, FULL, 8, ON_EXT4, 0 }, { { 10240 }, FULL, 8, ON_MINIX, 0 }),
	.setup = fs_create_delete_setup,
	.run = fs_create_delete_run,
	.verify = fs_create_delete_verify,
};
