/* syscall/stat, fstat, open-close, lseek, statvfs: calls on one small file with a cached inode. The name is one
 * component, relative to the file's directory: a lookup costs by the component, and machines differ in the temporary
 * directory's depth. All five go through libc, which adds only a check for thread cancellation in open and close. */
#include "../km.h"

#define SYSCALL_FILE_NAME "file"
#define SYSCALL_FILE_SIZE 7

struct syscall_file {
	struct km *km;
	int fd;
	uint64_t good; /* iterations with a right answer */
};

static void *syscall_file_setup(struct km *km)
{
	struct syscall_file *s = km_state(km, sizeof *s);

	km_enter(km);
	s->fd = open(SYSCALL_FILE_NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (s->fd < 0)
		km_fail_call(km, "open");
	km_write_all(km, s->fd, "1234567", SYSCALL_FILE_SIZE);
	km->claim = (struct claim){ .syscalls = 1, .faults = km->point->cold ? NO_CLAIM : 0 };
	return s;
}

static void *syscall_open_close_setup(struct km *km)
{
	struct syscall_file *s = syscall_file_setup(km);

	km->claim.syscalls = 2;
	return s;
}

static int syscall_file_is_right(const struct stat *about)
{
	return about->st_size == SYSCALL_FILE_SIZE && S_ISREG(about->st_mode);
}

static void syscall_stat_run(void *state, uint64_t n)
{
	struct syscall_file *s = state;
	struct stat about;

	while (n--) {
		about.st_size = -1; /* detects an answer that was not written */
		if (stat(SYSCALL_FILE_NAME, &about) != 0)
			km_fail_call(s->km, "stat");
		s->good += syscall_file_is_right(&about);
	}
}

static void syscall_fstat_run(void *state, uint64_t n)
{
	struct syscall_file *s = state;
	struct stat about;

	while (n--) {
		about.st_size = -1;
		if (fstat(s->fd, &about) != 0)
			km_fail_call(s->km, "fstat");
		s->good += syscall_file_is_right(&about);
	}
}

static void syscall_open_close_run(void *state, uint64_t n)
{
	struct syscall_file *s = state;

	while (n--) {
		int fd = open(SYSCALL_FILE_NAME, O_RDONLY);

		if (fd < 0)
			km_fail_call(s->km, "open");
		if (close(fd) != 0)
			km_fail_call(s->km, "close");
		s->good += fd != s->fd;
	}
}

static void syscall_lseek_run(void *state, uint64_t n)
{
	struct syscall_file *s = state;

	while (n--) {
		off_t to = (off_t)(n % SYSCALL_FILE_SIZE);
		off_t at = lseek(s->fd, to, SEEK_SET);

		if (at < 0)
			km_fail_call(s->km, "lseek");
		s->good += at == to;
	}
}

/* A file system in memory may answer that it has no blocks. */
static void syscall_statvfs_run(void *state, uint64_t n)
{
	struct syscall_file *s = state;

	while (n--) {
		uint64_t room = UINT64_MAX;

		if (km_free_space(SYSCALL_FILE_NAME, &room) != 0)
			km_fail_call(s->km, "statvfs");
		s->good += room != UINT64_MAX;
	}
}

#define SYSCALL_FILE_GOOD .counted = { offsetof(struct syscall_file, good), "answers were right" }
#define SYSCALL_FILE_ROW                                                                                         \
	.per = "call",                                                                                           \
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = FULL, .path_n = 10, .cold = 1 }), \
	.setup = syscall_file_setup, SYSCALL_FILE_GOOD

const struct workload syscall_stat = {
	.name = "syscall/stat",
	SYSCALL_FILE_ROW,
	.source = "G, lmbench",
	.what = "stat of a file in the current directory, its inode cached",
	.inside = "libc's stat, comparisons of size and type",
	.run = syscall_stat_run,
};

const struct workload syscall_fstat = {
	.name = "syscall/fstat",
	SYSCALL_FILE_ROW,
	.source = "G, lmbench",
	.what = "fstat of an open file, its inode cached",
	.inside = "libc's fstat, comparisons of size and type",
	.run = syscall_fstat_run,
};

const struct workload syscall_open_close = {
	.name = "syscall/open-close",
	SYSCALL_FILE_GOOD,
	.per = "open and close",
	.source = "G, L, lmbench",
	.what = "open for reading, and close, of a file in the current directory, its inode cached",
	.inside = "libc's open and close, comparisons of their results",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }, { .profile = QUICK, .path_n = 10, .cold = 1 }),
	.setup = syscall_open_close_setup,
	.run = syscall_open_close_run,
};

const struct workload syscall_lseek = {
	.name = "syscall/lseek",
	SYSCALL_FILE_ROW,
	.source = "L",
	.what = "lseek to offsets 0 to 6 from the beginning of a file of 7 bytes",
	.inside = "libc's lseek, one remainder, a comparison of the offset",
	.run = syscall_lseek_run,
};

const struct workload syscall_statvfs = {
	.name = "syscall/statvfs",
	SYSCALL_FILE_GOOD,
	.per = "call",
	.source = "beyond the sources",
	.what = "statvfs of a file in the current directory: its file system's free space",
	.inside = "libc's statvfs, one product, a comparison",
	.needs = CAP_STATVFS,
	.settings = SET_FOLDER,
	.points = KM_POINTS({ .profile = FULL, .path_n = 100 }),
	.setup = syscall_file_setup,
	.run = syscall_statvfs_run,
};
