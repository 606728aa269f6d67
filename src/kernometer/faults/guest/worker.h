/* worker.h: what the parts of the worker share. worker.c says what it does. */
#ifndef FAULTS_WORKER_H
#define FAULTS_WORKER_H

#define _XOPEN_SOURCE 700 /* POSIX, with sync */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#define LARGEST 65536
#define MOST_LOOSE 16
#define MOST_DIRECTORIES 8
#define MOST_NAMES 256
#define PATH_BYTES 256
#define BLOCK 4096 /* what a pipe takes at once */
#define PROGRESS 100

struct file {
	uint64_t number, version;
	int loose;               /* changes since it was kept */
	int is_kept, is_unknown; /* is_unknown: its removal or an fsync failed, so it must be removed */
	size_t length;
	unsigned char bytes[LARGEST];
};

struct name {
	struct file *file; /* NULL: nothing is there, as far as is known */
	int is_gone;       /* "gone" was told and binds */
	char path[PATH_BYTES];
};

struct tree {
	struct name names[MOST_NAMES]; /* the first half in a/, the others in b/ */
	char folder[PATH_BYTES], halves[2][PATH_BYTES], more[PATH_BYTES];
	int has_more; /* the directory that is made and removed is there */
};

struct worker {
	uint64_t seed, operations, marked, drawn, operation, files_made, errors, wrong, slowest_operation, slowest_ns;
	unsigned directories, names, pace_ms;
	int acknowledge;
	const char *slowest;
	struct tree trees[MOST_DIRECTORIES];
};

extern struct worker w;

uint64_t h(uint64_t a, uint64_t b);

/* worker_events.c. `f` may be NULL: no file is concerned. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *what, const struct file *f, const char *path);
void say_wrong(const char *what, const struct file *f, const char *path, size_t offset);
void say_changes(const char *what, struct name *n, struct name *to);
void say_kept(const struct name *n);
void say_gone(const struct name *n);
void say_progress(const char *event);

/* worker_files.c. An operation on a name needs a file there; op_create needs none. sync_path returns 0, or -1 after it
 * has told the error. */
void op_create(struct name *n);
void op_write(struct name *n);
void op_read(struct name *n);
void op_rename(struct name *n, struct name *to);
void op_unlink(struct name *n);
void op_fsync(const struct tree *t, struct name *n);
void op_sync(struct tree *t);
int sync_path(const char *path);

#endif
