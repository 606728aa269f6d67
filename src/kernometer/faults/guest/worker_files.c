/* worker_files.c: the worker's operations on files. */
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_length(struct file *f, size_t length)
{
	if (length > f->length)
		memset(f->bytes + f->length, 0, length - f->length);
	f->length = length;
}

/* Makes the next version in memory. Returns how many bytes are to be written at `*offset`; 0: set the length. */
static size_t next_version(struct file *f, size_t *offset)
{
	uint64_t s = h(h(h(0, w.seed), f->number), ++f->version), kind = h(s, 0) % 8, where = h(s, 1);
	size_t count = (size_t)(1 + h(s, 2) % 6000);

	*offset = kind <= 3 ? f->length : (size_t)(where % (f->length + 3000));
	if (kind == 0 || *offset + count > LARGEST) {
		set_length(f, (size_t)(where % (kind == 0 ? LARGEST + 1 : f->length + 1)));
		return 0;
	}
	if (*offset + count > f->length)
		set_length(f, *offset + count);
	for (size_t x = *offset; x < *offset + count; x++)
		f->bytes[x] = (unsigned char)(h(s, 16 + x / 8) >> x % 8 * 8);
	return count;
}

/* Removes a file, whose content and name may be unknown. */
void op_unlink(struct name *n)
{
	say_changes("unlink", n, NULL);
	n->file->is_unknown = unlink(n->path) != 0 && errno != ENOENT;
	if (n->file->is_unknown) {
		say_error("unlink", n->file, n->path);
		return;
	}
	free(n->file);
	n->file = NULL;
}

void op_create(struct name *n)
{
	int fd;

	n->file = calloc(1, sizeof *n->file);
	if (!n->file) {
		say_error("create", NULL, n->path);
		return;
	}
	n->file->number = ++w.files_made;
	say_changes("create", n, NULL);
	fd = open(n->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || close(fd) != 0) {
		say_error("create", n->file, n->path);
		op_unlink(n);
	}
}

static int write_all(int fd, const unsigned char *bytes, size_t count, size_t offset)
{
	while (count > 0) {
		ssize_t k = pwrite(fd, bytes + offset, count, (off_t)offset);

		if (k <= 0)
			return -1;
		offset += (size_t)k;
		count -= (size_t)k;
	}
	return 0;
}

void op_write(struct name *n)
{
	struct file *f = n->file;
	int fd = open(n->path, O_WRONLY), failed;
	size_t offset, count;

	if (fd < 0) {
		say_error("open", f, n->path);
		return;
	}
	if (f->is_kept)
		say_changes("write", n, NULL);
	f->loose++;
	count = next_version(f, &offset);
	failed = count > 0 ? write_all(fd, f->bytes, count, offset) : ftruncate(fd, (off_t)f->length);
	if (failed)
		say_error(count > 0 ? "write" : "truncate", f, n->path);
	if (close(fd) != 0) {
		say_error("close", f, n->path);
		failed = -1;
	}
	if (failed)
		op_unlink(n);
}

/* Reads to the end: one byte more than there should be. */
void op_read(struct name *n)
{
	static unsigned char got[LARGEST + 1];
	struct file *f = n->file;
	int fd = open(n->path, O_RDONLY);
	size_t length = 0, at = 0;
	ssize_t k = -1;

	if (fd >= 0)
		while ((k = read(fd, got + length, sizeof got - length)) > 0)
			length += (size_t)k;
	if (k < 0)
		say_error(fd < 0 ? "open" : "read", f, n->path);
	if (fd >= 0)
		close(fd);
	if (k < 0)
		return;
	while (at < length && at < f->length && got[at] == f->bytes[at])
		at++;
	if (at < f->length || length != f->length)
		say_wrong("read", f, n->path, at);
}

void op_rename(struct name *n, struct name *to)
{
	if (to == n)
		return;
	if (to->file)
		say_changes("replace", to, NULL);
	say_changes("rename", n, to);
	if (rename(n->path, to->path) != 0) {
		say_error("rename", n->file, n->path);
		op_unlink(n);
		if (to->file)
			op_unlink(to);
		return;
	}
	free(to->file);
	to->file = n->file;
	n->file = NULL;
}

int sync_path(const char *path)
{
	int fd = open(path, O_RDONLY), failed = fd < 0;

	if (failed || fsync(fd) != 0) {
		say_error(failed ? "open" : "fsync", NULL, path);
		failed = 1;
	}
	if (fd >= 0 && close(fd) != 0) {
		say_error("close", NULL, path);
		failed = 1;
	}
	return failed ? -1 : 0;
}

static void keep(struct name *n)
{
	struct file *f = n->file;

	f->loose = 0;
	if (f->is_kept)
		return;
	f->is_kept = 1;
	say_kept(n);
}

static const char *half_of(const struct tree *t, const struct name *n)
{
	return t->halves[n >= t->names + w.names / 2];
}

/* A failed fsync tells that changes are lost, and the next one returns 0 without them: so the file must be removed. */
static int sync_file(struct name *n)
{
	n->file->is_unknown |= sync_path(n->path) != 0;
	return n->file->is_unknown ? -1 : 0;
}

void op_fsync(const struct tree *t, struct name *n)
{
	if (sync_file(n) == 0 && sync_path(half_of(t, n)) == 0)
		keep(n);
}

/* sync() returns nothing, so an fsync asks each file and directory for its errors. */
void op_sync(struct tree *t)
{
	int has_synced[2];

	sync();
	for (unsigned i = 0; i < w.names; i++)
		if (t->names[i].file && !t->names[i].file->is_kept)
			t->names[i].file->loose = sync_file(&t->names[i]) == 0 ? 0 : MOST_LOOSE;
	has_synced[0] = sync_path(t->halves[0]) == 0;
	has_synced[1] = sync_path(t->halves[1]) == 0;
	for (unsigned i = 0; i < w.names; i++) {
		struct name *n = &t->names[i];

		if (!has_synced[i >= w.names / 2] || (n->file && (n->file->loose > 0 || n->file->is_unknown)))
			continue;
		if (n->file) {
			keep(n);
		} else if (!n->is_gone) {
			n->is_gone = 1;
			say_gone(n);
		}
	}
}
