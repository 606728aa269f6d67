/* disk.c: directories on disks with a certain file system, for the rows that need one.
 *
 * Such a row is by path alone: on an emulated machine the disk is memory, and the count is the file system's work. The
 * caller names the disks; where the platform tells a disk's file system, the probe compares it with the row's. */
#include "engine.h"

static const char *const kinds[N_DISKS] = { "ext4", "minix" };

/* Its directory's index in struct folders: 0 is that in --dir, then one for each kind. */
static unsigned slot_of(const struct row *row)
{
	enum place place = row ? row->point->place : ONE_CPU;

	return place == ON_EXT4 || place == ON_MINIX ? 1 + place - ON_EXT4 : 0;
}

const char *disk_needed(const struct row *row)
{
	unsigned slot = slot_of(row);

	return slot ? kinds[slot - 1] : NULL;
}

int disk_option(struct options *o, const char *word, int gives)
{
	for (int i = 0; i < N_DISKS; i++) {
		size_t n = strlen(kinds[i]);

		if (strncmp(word, kinds[i], n) != 0 || word[n] != '=' || !word[n + 1])
			continue;
		o->disk[i].dir = gives ? word + n + 1 : NULL;
		o->disk[i].why_not = gives ? NULL : word + n + 1;
		return 0;
	}
	return -1;
}

const char *disk_missing(const struct options *o, const struct row *row)
{
	unsigned slot = slot_of(row);

	if (slot == 0 || o->disk[slot - 1].dir)
		return NULL;
	return o->disk[slot - 1].why_not
		       ? o->disk[slot - 1].why_not
		       : "needs a disk with this file system: name a directory on one with --disk KIND=DIR";
}

/* Makes a new directory in `dir` for this user alone, as mkdtemp does, which not every platform has. */
static int make_folder(char path[KM_PATH], const char *dir)
{
	unsigned long process = (unsigned long)getpid();

	for (int i = 0; i < 1000; i++) {
		if (snprintf(path, KM_PATH, "%s/kernometer-%lu-%d", dir, process, i) >= KM_PATH) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (mkdir(path, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

const char *disk_folder(struct folders *f, const struct options *o, const struct row *row, char *why, size_t size)
{
	unsigned slot = slot_of(row);
	const char *kind = disk_needed(row), *dir = slot ? o->disk[slot - 1].dir : o->dir;
	char *path = f->path[slot];

	if (path[0])
		return path;
	if (kind && km_on_file_system(dir, kind) == 0) {
		char found[64];

		km_file_system(dir, found, sizeof found);
		snprintf(why, size, "%s was given for %s, but is on %s", dir, kind, found);
		return NULL;
	}
	if (make_folder(path, dir) == 0)
		return path;
	path[0] = '\0';
	snprintf(why, size, "cannot make a temporary directory in %s: %s", dir, strerror(errno));
	return NULL;
}
