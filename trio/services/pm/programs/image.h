/* image.h: what an execve under way knows: one page, the thread's, from its start to its end. Its addresses are those
 * of the new program. */
#ifndef TRIO_PM_IMAGE_H
#define TRIO_PM_IMAGE_H

#include "abi/elf.h"
#include "processes/processes.h"

/* Of the file's beginning; program headers must fit into it, wherever they are in the file. */
#define HEAD_BYTES 1536
/* A script's first line counts as far as this (Linux's number), and a script may name a script, four times. */
#define LINE_BYTES 256
#define SCRIPTS 4
#define WORK_BYTES 1024

/* Programs are below; the stack ends here. The last page stays free, as the processor wants it. */
#define STACK_TOP 0x00007ffffffff000UL

/* How far it is: strings are gathered; the program was found, and can be executed; the old memory is gone, so that
 * nothing but the end of the process is left if something fails. */
enum stage { PATH, ARGUMENTS, ENVIRONMENT, GATHERED, FOUND, COMMITTED };

/* The strings that the program is given, `used` bytes: its path; from `path` on its arguments; from `environment` on
 * that. `next`: the address of the next pointer to one. */
struct strings {
	char *bytes;
	size_t pages, used, path, environment;
	uint32_t argc, envc;
	uint64_t next;
};

struct image {
	enum stage stage;
	struct strings given;
	uint32_t file;
	bool open;
	/* How many segments are mapped. */
	uint32_t mapped;
	/* st_mode, owner and group of the file. */
	uint32_t mode, owner, group;
	uint64_t size;
	uint64_t bias, entry, headers, heap;
	/* Pages, with page tables, that elf_map makes the thread's own at most. */
	uint64_t need;
	/* Bytes that the stack has at first. */
	uint64_t stack;
	uint32_t header_count;
	/* The segment that names the program's interpreter, which then runs first; NULL: it has none. */
	const struct elf_segment *names_interpreter;
	/* That one, in a page of its own. */
	struct image *interpreter;
	/* Within `head`. */
	const struct elf_segment *segments;
	/* How many scripts were on the way to the program. */
	uint32_t scripts;
	/* Once its strings are on the stack: which of them the next pointer is to; so many words are in `work` on their
	 * way to where they are to be. */
	uint64_t pointed, words, words_to;
	char head[HEAD_BYTES] __attribute__((aligned(8)));
	char work[WORK_BYTES];
};
_Static_assert(sizeof(struct image) <= PAGE, "one page");

/* In place of a negative errno, as -EWAIT: the request is to wait for other threads, or to give way; then it is called
 * again, the same. */
enum { WAITS_FOR_THREADS = -EWAIT - 1, GIVES_WAY = -EWAIT - 2 };

/* strings.c: those at the caller's addresses. 0 when all are there, GIVES_WAY, or a negative errno. */
int64_t strings_gather(struct image *image, uint32_t task, uint64_t path, uint64_t arguments, uint64_t environment);
/* One more argument before the others; NULL: the path. 0 or a negative errno. */
int64_t strings_prepend(struct strings *s, const char *text, size_t length);
void strings_drop(struct strings *s);
/* 0: the image is no script; 1: the first argument is now what to open instead; or a negative errno. */
int64_t script_take(struct image *image);

/* elf.c: makes sense of `head`; reads what of the program headers is elsewhere. 0 or a negative errno, -EWAIT too. */
int64_t elf_check(struct image *image, bool is_interpreter);
/* The path of the interpreter that the program names. 0 or a negative errno, -EWAIT too. */
int64_t elf_interpreter(struct image *image, struct grant *path);
/* Page tables that so many bytes at one place need at most. */
uint64_t tables_most(uint64_t bytes);
/* Maps the rest of the segments into the thread's new, empty memory. The same results. */
int64_t elf_map(struct thread *t, struct image *image);

/* stack.c: writes the strings and pointers to them; `sp` is where the program finds argc. 0, -EFAULT, or GIVES_WAY. */
int64_t stack_write(struct thread *t, struct image *image, bool secure, uint64_t *sp);

#endif
