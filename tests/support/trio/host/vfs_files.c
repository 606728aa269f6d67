/* vfs_files.c: names and files of the file service on the host, over tmpfs: random calls, fixed by the seed, against a
 * model of what a tree of files is, with and without enough memory. After a call that failed for want of it nothing may
 * have changed, and at the end all memory is given back. Run with the sanitizers. Prints what is broken and exits 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "files/files.h"
#include "names/names.h"
#include "seam.h"

#define INODES 48
#define NAMES 7
#define BYTES 40000
#define TASK 1

struct vfs vfs;
static struct request r;
static uint64_t seed;

#define HOLDS(condition)                                                                                       \
	do {                                                                                                   \
		if (!(condition)) {                                                                            \
			fprintf(stderr, "%s:%d: %s (result %ld)\n", __FILE__, __LINE__, #condition, r.result); \
			exit(1);                                                                               \
		}                                                                                              \
	} while (0)

/* The model ------------------------------------------------------------ */

struct inode {
	long size;
	uint8_t *bytes;
	int links, parent;
	/* Of a directory: what stands at each name; 0: nothing. */
	int at[NAMES];
	bool used, directory;
};
static struct inode inodes[INODES];
#define TOP 1
static const char *const names[NAMES] = {
	"a", "be", "see", "quad", "seventh", "of eight", "a name that is longer than others"
};

static unsigned some(unsigned below)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)(seed >> 33) % below;
}

static int some_directory(void)
{
	int directory = TOP;

	while (some(3) != 0) {
		int next = inodes[directory].at[some(NAMES)];

		if (next != 0 && inodes[next].directory)
			directory = next;
	}
	return directory;
}

static size_t directory_path(int directory, char *to)
{
	size_t length;

	if (directory == TOP)
		return (size_t)sprintf(to, "/t");
	length = directory_path(inodes[directory].parent, to);
	for (int i = 0; i < NAMES; i++)
		if (inodes[inodes[directory].parent].at[i] == directory)
			return length + (size_t)sprintf(to + length, "/%s", names[i]);
	exit(1);
}

struct spot {
	int directory, name, inode;
	char path[4096];
};

static struct spot some_spot(void)
{
	struct spot s = { .directory = some_directory(), .name = (int)some(NAMES) };
	size_t length = directory_path(s.directory, s.path);

	s.inode = inodes[s.directory].at[s.name];
	sprintf(s.path + length, "/%s", names[s.name]);
	return s;
}

static struct grant text(const char *s)
{
	return grant_read(s, 4096);
}

static int model_new(const struct spot *s, bool directory)
{
	for (int i = TOP + 1; i < INODES; i++)
		if (!inodes[i].used) {
			inodes[i] = (struct inode){
				.used = true, .directory = directory, .links = 1, .parent = s->directory
			};
			inodes[i].bytes = calloc(1, BYTES);
			inodes[s->directory].at[s->name] = i;
			return i;
		}
	return 0;
}

static void model_drop(int i)
{
	if (--inodes[i].links > 0)
		return;
	free(inodes[i].bytes);
	inodes[i] = (struct inode){ .used = false };
}

static bool is_empty(int directory)
{
	for (int i = 0; i < NAMES; i++)
		if (inodes[directory].at[i] != 0)
			return false;
	return true;
}

static bool no_room(void)
{
	return pages_most != 0 && (r.result == -ENOSPC || r.result == -ENOMEM);
}

static int free_inodes(void)
{
	int n = 0;

	for (int i = TOP + 1; i < INODES; i++)
		n += !inodes[i].used;
	return n;
}

/* One call of each kind, what it answers, and what the model becomes ---------------------------------- */

static void do_make(void)
{
	struct spot s = some_spot();
	bool directory = some(2) == 0;

	if (free_inodes() == 0)
		return;
	vfs_make(&r, AT_FDCWD, text(s.path), (directory ? S_IFDIR : S_IFREG) | 0755, 0);
	if (s.inode != 0)
		HOLDS(r.result == -EEXIST);
	else if (!no_room())
		HOLDS(r.result == 0 && model_new(&s, directory) != 0);
}

static void do_remove(void)
{
	struct spot s = some_spot();
	bool directory = some(2) == 0;
	const struct inode *i = &inodes[s.inode];
	int64_t wanted = 0;

	vfs_remove(&r, AT_FDCWD, text(s.path), directory ? AT_REMOVEDIR : 0);
	if (s.inode == 0)
		wanted = -ENOENT;
	else if (directory != i->directory)
		wanted = directory ? -ENOTDIR : -EISDIR;
	else if (directory && !is_empty(s.inode))
		wanted = -ENOTEMPTY;
	HOLDS(r.result == wanted);
	if (wanted == 0) {
		inodes[s.directory].at[s.name] = 0;
		model_drop(s.inode);
	}
}

static void do_link(void)
{
	struct spot from = some_spot(), to = some_spot();
	int64_t wanted = from.inode == 0                ? -ENOENT
			 : to.inode != 0                ? -EEXIST
			 : inodes[from.inode].directory ? -EPERM
							: 0;

	vfs_link(&r, AT_FDCWD, text(from.path), AT_FDCWD, text(to.path), 0);
	if (wanted == 0 && no_room())
		return;
	HOLDS(r.result == wanted);
	if (wanted == 0) {
		inodes[to.directory].at[to.name] = from.inode;
		inodes[from.inode].links++;
	}
}

static bool lies_in(int inner, int outer)
{
	while (inner != outer && inner != TOP)
		inner = inodes[inner].parent;
	return inner == outer;
}

static int64_t rename_wanted(const struct spot *from, const struct spot *to)
{
	const struct inode *a = &inodes[from->inode], *b = &inodes[to->inode];

	if (from->inode == 0)
		return -ENOENT;
	if (to->inode != 0 && a->directory && !b->directory)
		return -ENOTDIR;
	if (to->inode != 0 && !a->directory && b->directory)
		return -EISDIR;
	if (from->inode == to->inode)
		return 0;
	if (a->directory && lies_in(to->directory, from->inode))
		return -EINVAL;
	return to->inode != 0 && b->directory && !is_empty(to->inode) ? -ENOTEMPTY : 0;
}

static void do_rename(void)
{
	struct spot from = some_spot(), to = some_spot();
	int64_t wanted = rename_wanted(&from, &to);

	vfs_rename(&r, AT_FDCWD, text(from.path), AT_FDCWD, text(to.path), 0);
	if (wanted == 0 && no_room())
		return;
	HOLDS(r.result == wanted);
	if (wanted != 0 || from.inode == to.inode)
		return;
	inodes[from.directory].at[from.name] = 0;
	if (to.inode != 0)
		model_drop(to.inode);
	inodes[to.directory].at[to.name] = from.inode;
	inodes[from.inode].parent = to.directory;
}

static int32_t opened(const struct spot *s)
{
	r.done = 0;
	vfs_open(&r, AT_FDCWD, text(s->path), O_RDWR, 0);
	if (no_room())
		return -1;
	HOLDS(r.result >= 0);
	return (int32_t)r.result;
}

static void do_write(void)
{
	static uint8_t bytes[BYTES];
	struct spot s = some_spot();
	struct inode *i = &inodes[s.inode];
	size_t n = 1 + some(BYTES / 2), at = some(BYTES / 2);
	int32_t fd;

	if (s.inode == 0 || i->directory || (fd = opened(&s)) < 0)
		return;
	for (size_t k = 0; k < n; k++)
		bytes[k] = (uint8_t)some(256);
	vfs_pwrite(&r, fd, grant_read(bytes, n), (int64_t)at);
	if (!no_room()) {
		HOLDS(r.result > 0 && (r.result == (int64_t)n || pages_most != 0));
		memcpy(i->bytes + at, bytes, (size_t)r.result);
		i->size = MAX(i->size, (long)at + r.result);
	}
	vfs_close(&r, fd);
}

static void do_truncate(void)
{
	struct spot s = some_spot();
	struct inode *i = &inodes[s.inode];
	long size = some(BYTES);

	if (s.inode == 0 || i->directory)
		return;
	vfs_truncate(&r, text(s.path), size);
	HOLDS(r.result == 0);
	if (size < i->size)
		memset(i->bytes + size, 0, (size_t)(i->size - size));
	i->size = size;
}

static void do_look(void)
{
	static uint8_t bytes[BYTES + 1];
	struct spot s = some_spot();
	const struct inode *i = &inodes[s.inode];
	struct linux_stat st;
	int32_t fd;

	vfs_stat(&r, AT_FDCWD, text(s.path), 0, grant_write(&st, sizeof st));
	HOLDS(r.result == (s.inode == 0 ? -ENOENT : 0));
	if (s.inode == 0)
		return;
	HOLDS(S_ISDIR(st.mode) == i->directory && (i->directory || (st.size == i->size && (int)st.links == i->links)));
	if (i->directory || (fd = opened(&s)) < 0)
		return;
	vfs_read(&r, fd, grant_write(bytes, sizeof bytes));
	HOLDS(r.result == i->size && memcmp(bytes, i->bytes, (size_t)i->size) == 0);
	vfs_close(&r, fd);
}

static void do_list(void)
{
	char path[4096], bytes[200];
	int directory = some_directory(), seen = 0, wanted = 0;
	int32_t fd;

	directory_path(directory, path);
	vfs_open(&r, AT_FDCWD, text(path), O_RDONLY | O_DIRECTORY, 0);
	if (no_room())
		return;
	HOLDS(r.result >= 0);
	fd = (int32_t)r.result;
	while (vfs_entries(&r, file_of(r.task, fd), grant_write(bytes, sizeof bytes)), r.result > 0)
		for (int64_t at = 0; at < r.result;) {
			struct linux_dirent64 *d = (void *)(bytes + at);

			at += d->length;
			for (int i = 0; i < NAMES; i++)
				if (inodes[directory].at[i] != 0 && strcmp(names[i], d->name) == 0)
					seen += 1 << i;
		}
	HOLDS(r.result == 0);
	for (int i = 0; i < NAMES; i++)
		wanted += inodes[directory].at[i] != 0 ? 1 << i : 0;
	HOLDS(seen == wanted);
	vfs_close(&r, fd);
}

/* ------------------------------------------------------------ */

static void begin(void)
{
	struct task_files *own = &vfs.tasks[VFS_TASK];
	static struct directories directories;

	HOLDS(mount_root() == 0);
	directories = (struct directories){ .root = vfs.root, .current = vfs.root, .references = 1 };
	own->directories = &directories;
	HOLDS(vfs_begin(TASK) == 0);
	r.task = TASK;
	vfs_make(&r, AT_FDCWD, text("/t"), S_IFDIR | 0755, 0);
	HOLDS(r.result == 0);
}

static void run(unsigned calls)
{
	static void (*const all[])(void) = { do_make,  do_make,  do_make,     do_remove, do_link, do_rename, do_rename,
					     do_write, do_write, do_truncate, do_look,   do_look, do_list };

	inodes[TOP] = (struct inode){ .used = true, .directory = true, .links = 1, .parent = TOP };
	vfs_mount(&r, text("x"), text("/t"), text("tmpfs"), 0, text("mode=755"));
	HOLDS(r.result == 0);
	for (unsigned i = 0; i < calls; i++) {
		/* From time to time memory is short. */
		if (i % 64 == 0)
			pages_most = some(3) == 0 ? pages_held + some(4) + 1 : 0;
		all[some(COUNT_OF(all))]();
	}
	pages_most = 0;
	vfs_unmount(&r, text("/t"), 0);
	HOLDS(r.result == 0);
	for (int i = TOP + 1; i < INODES; i++)
		free(inodes[i].bytes);
	memset(inodes, 0, sizeof inodes);
}

int main(int count, char **words)
{
	size_t held;

	seed = count > 1 ? strtoul(words[1], NULL, 10) : 1;
	begin();
	run(2000);
	held = pages_held;
	for (unsigned round = 0; round < 5; round++)
		run(4000);
	/* One page of each class of sizes may be kept. */
	HOLDS(pages_held <= held + 7);
	HOLDS(vfs.files == 0);
	puts("all holds");
	return 0;
}
