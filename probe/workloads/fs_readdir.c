/* fs/readdir: a directory is read from its beginning to its end. Each name has four characters, so that all entries are
 * equally long. */
#include "../km.h"

#include <dirent.h>

struct fs_readdir {
	struct km *km;
	DIR *open;
	uint64_t files;
	uint64_t done; /* directories read, each with all its files */
};

static void *fs_readdir_setup(struct km *km)
{
	struct fs_readdir *f = km_state(km, sizeof *f);
	char name[16];

	f->files = (uint64_t)km->arg[0];
	km_room(km, (unsigned)f->files, 0);
	km_enter(km);
	for (unsigned i = 0; i < f->files; i++) {
		int fd;

		snprintf(name, sizeof name, "f%03x", i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			km_fail_call(km, "open");
		km_close(&fd);
	}
	f->open = opendir(".");
	if (!f->open)
		km_fail_call(km, "opendir");
	return f;
}

static void fs_readdir_run(void *state, uint64_t n)
{
	struct fs_readdir *f = state;

	while (n--) {
		const struct dirent *entry;
		uint64_t found = 0;

		rewinddir(f->open);
		errno = 0;
		while ((entry = readdir(f->open)))
			found += entry->d_name[0] == 'f';
		if (errno != 0)
			km_fail_call(f->km, "readdir");
		if (found != f->files)
			km_fail(f->km, "%" PRIu64 " of %" PRIu64 " files were in the directory", found, f->files);
		f->done++;
	}
}

static void fs_readdir_teardown(void *state)
{
	struct fs_readdir *f = state;

	if (closedir(f->open) != 0)
		km_fail_call(f->km, "closedir");
}

const struct workload fs_readdir = {
	.name = "fs/readdir",
	.per = "directory",
	.source = "beyond the sources",
	.what = "the names of `entries` empty files in a directory are read, from its beginning to its end",
	.inside = "rewinddir (an lseek), readdir until it has no more: the calls that fill libc's buffer and one that "
		  "finds the end, a comparison an entry",
	.settings = SET_FOLDER,
	.params = { "entries" },
	.points = KM_POINTS({ { 16 }, FULL, 100, ONE_CPU, 0 }, { { 1024 }, FULL, 10, ONE_CPU, 0 }),
	.setup = fs_readdir_setup,
	.run = fs_readdir_run,
	.counted = { offsetof(struct fs_readdir, done), "directories were read" },
	.teardown = fs_readdir_teardown,
};
