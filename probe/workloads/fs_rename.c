/* fs/rename: a file gets another name in the same directory, and at the next iteration its first one back. */
#include "../km.h"

struct fs_rename {
	struct km *km;
	ino_t inode;
	uint64_t done; /* even: it has its first name */
};

static const char *const fs_rename_names[] = { "a", "b" };

static void *fs_rename_setup(struct km *km)
{
	struct fs_rename *f = km_state(km, sizeof *f);
	struct stat s;
	int fd;

	km_room(km, 1, 0);
	km_enter(km);
	fd = open(fs_rename_names[0], O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		km_fail_call(km, "open");
	if (fstat(fd, &s) != 0)
		km_fail_call(km, "fstat");
	f->inode = s.st_ino;
	km_close(&fd);
	km->claim.syscalls = 1;
	return f;
}

static void fs_rename_run(void *state, uint64_t n)
{
	struct fs_rename *f = state;

	for (; n > 0; n--, f->done++)
		if (rename(fs_rename_names[f->done % 2], fs_rename_names[(f->done + 1) % 2]) != 0)
			km_fail_call(f->km, "rename");
}

static void fs_rename_verify(void *state, uint64_t n)
{
	struct fs_rename *f = state;
	struct stat s;

	if (f->done != n)
		km_fail(f->km, "%" PRIu64 " of %" PRIu64 " renames were made", f->done, n);
	if (lstat(fs_rename_names[n % 2], &s) != 0 || s.st_ino != f->inode)
		km_fail(f->km, "after %" PRIu64 " renames the file does not have its new name", n);
	if (lstat(fs_rename_names[(n + 1) % 2], &s) == 0 || errno != ENOENT)
		km_fail(f->km, "after %" PRIu64 " renames the file still has its old name", n);
}

const struct workload fs_rename = {
	.name = "fs/rename",
	.per = "rename",
	.source = "beyond the sources",
	.what = "an empty file gets another name in the same directory; no file has that name",
	.inside = "one rename",
	.settings = SET_FOLDER,
	.points = KM_POINTS({ { 0 }, QUICK, 100, ONE_CPU, 0 }, { { 0 }, FULL, 100, ON_EXT4, 0 },
			    { { 0 }, FULL, 100, ON_MINIX, 0 }),
	.setup = fs_rename_setup,
	.run = fs_rename_run,
	.verify = fs_rename_verify,
};
