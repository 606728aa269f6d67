/* image.h: the state of a running execve, one page for each thread that runs one. Addresses are those of the new
 * program. */
#ifndef TRIO_PM_IMAGE_H
#define TRIO_PM_IMAGE_H

#include "abi/elf.h"
#include "processes/processes.h"

/* Bytes of the file's beginning. The program headers must fit into them, wherever they are in the file. */
#define HEAD_BYTES 1536
/* A script's first line counts up to this length (Linux's number), and at most four scripts may name each other. */
#define LINE_BYTES 256
#define SCRIPTS 4
#define WORK_BYTES 1024

/* Programs lie below; the stack ends here. The last page stays free, as the processor requires. */
#define STACK_TOP 0x00007ffffffff000UL

/* The progress. Up to GATHERED: strings are gathered. FOUND: the program was found and can be executed. COMMITTED: the
 * old memory is gone, and a failure can only end the process. */
enum stage { PATH, ARGUMENTS, ENVIRONMENT, GATHERED, FOUND, COMMITTED };

/* The program's strings, `used` bytes: the path, then from `path` on the arguments, then from `environment` on the
 * environment. `next` is the address of the next pointer to gather. */
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
	/* The number of segments that are mapped. */
	uint32_t mapped;
	/* st_mode, owner and group of the file. */
	uint32_t mode, owner, group;
	uint64_t size;
	uint64_t bias, entry, headers, heap;
	/* The most pages, with page tables, that elf_map allocates for the thread. */
	uint64_t need;
	/* The initial size of the stack in bytes. */
	uint64_t stack;
	uint32_t header_count;
	/* The segment that names the interpreter, which runs first; NULL: the program has none. */
	const struct elf_segment *names_interpreter;
	/* The interpreter's own image, in a page of its own. */
	struct image *interpreter;
	/* Points into `head`. */
	const struct elf_segment *segments;
	/* How many scripts led to the program. */
	uint32_t scripts;
	/* `pointed`: the offset of the next string to write a pointer to, once the strings are on the stack. `words`:
	 * how many words in `work` are to be copied to the address `words_to`. */
	uint64_t pointed, words, words_to;
	char head[HEAD_BYTES] __attribute__((aligned(8)));
	char work[WORK_BYTES];
};
_Static_assert(sizeof(struct image) <= PAGE, "one page");

/* Results beside negative errnos: the request waits for other threads, or gives way. In both cases the caller calls
 * again with the same arguments. */
enum { WAITS_FOR_THREADS = -EWAIT - 1, GIVES_WAY = -EWAIT - 2 };

/* strings.c: gathers the strings at the caller's addresses. Returns 0 at the end, GIVES_WAY, or a negative errno. */
int64_t strings_gather(struct image *image, uint32_t task, uint64_t path, uint64_t arguments, uint64_t environment);
/* Inserts an argument before the others; `text` NULL: the path. Returns 0 or a negative errno. */
int64_t strings_prepend(struct strings *s, const char *text, size_t length);
void strings_drop(struct strings *s);
/* Returns 0 if the file is no script, 1 if the first argument is now the file to open instead, or a negative errno. */
int64_t script_take(struct image *image);

/* elf.c: parses `head` and reads program headers that lie elsewhere. Returns 0 or a negative errno, also -EWAIT. */
int64_t elf_check(struct image *image, bool is_interpreter);
/* Gives the path of the interpreter that the program names. Returns as elf_check. */
int64_t elf_interpreter(struct image *image, struct grant *path);
/* The most page tables that `bytes` at one place need. */
uint64_t tables_most(uint64_t bytes);
/* Maps the remaining segments into the thread's new memory. Returns as elf_check. */
int64_t elf_map(struct thread *t, struct image *image);

/* stack.c: writes strings and pointers to them. `sp` becomes the address of argc. Returns 0, -EFAULT or GIVES_WAY. */
int64_t stack_write(struct thread *t, struct image *image, bool secure, uint64_t *sp);

#endif
