/* memory.c: calls about memory. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gaps.h"

static char *p, *q;

static void touched(void)
{
	p = memory(large, 1);
}

static void untouched(void)
{
	p = memory(large, 0);
}

static void unmap(void)
{
	munmap(p, large);
}

static void populate(void)
{
	p = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(p != MAP_FAILED, "mmap, MAP_POPULATE");
}

static void populate_shared(void)
{
	p = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(p != MAP_FAILED, "mmap, MAP_SHARED and MAP_POPULATE");
}

static void map_over(void)
{
	must(mmap(p, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap, MAP_FIXED");
}

static void lock(void)
{
	must(mlock(p, large) == 0, "mlock");
}

static void lock_all(void)
{
	must(mlockall(MCL_CURRENT) == 0, "mlockall");
}

static void protect(void)
{
	must(mprotect(p, large, PROT_READ) == 0, "mprotect");
}

static void drop(void)
{
	must(madvise(p, large, MADV_DONTNEED) == 0, "madvise");
}

static void release(void)
{
	must(madvise(p, large, MADV_FREE) == 0, "madvise, MADV_FREE");
}

static void resident(void)
{
	unsigned char *bytes = malloc(large / PAGE);

	must(bytes && mincore(p, large, bytes) == 0, "mincore");
	free(bytes);
}

/* Reserved address space, as much as there is. */
#define SPARSE (64ul << 40)
#define SPARSE_BYTES (1ul << 20)
static void sparse(void)
{
	p = mmap(NULL, SPARSE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(p != MAP_FAILED, "mmap, PROT_NONE");
	q = memory(SPARSE_BYTES, 1);
}

static void resident_sparse(void)
{
	must(mincore(p, SPARSE_BYTES * PAGE, (unsigned char *)q) == 0, "mincore, PROT_NONE");
}

static void unmap_sparse(void)
{
	munmap(p, SPARSE);
	munmap(q, SPARSE_BYTES);
}

/* musl's sbrk does not move it. */
static void break_down(void)
{
	must(syscall(SYS_brk, p) == (long)p, "brk, down");
}

static void break_up(void)
{
	p = (char *)((syscall(SYS_brk, 0) + PAGE - 1) & ~(PAGE - 1));
	must(syscall(SYS_brk, p + large) == (long)(p + large), "brk, up");
	for (size_t i = 0; i < large; i += PAGE)
		p[i] = 1;
}

static void move(void)
{
	q = mremap(p, large, large + PAGE, MREMAP_MAYMOVE);
	must(q != MAP_FAILED, "mremap");
}

/* A mapping behind it forces it to move. */
static void move_begin(void)
{
	p = memory(large + PAGE, 1);
	must(mprotect(p + large, PAGE, PROT_NONE) == 0, "mprotect");
}

static void move_end(void)
{
	munmap(q, large + PAGE);
	munmap(p + large, PAGE);
}

static void shrink(void)
{
	must(mremap(p, large, PAGE, 0) == p, "mremap, shorter");
}

char *regions(void)
{
	char *at = mmap(NULL, 2 * REGIONS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(at != MAP_FAILED, "mmap");
	for (size_t i = 0; i < REGIONS / 2; i++)
		must(mprotect(at + 2 * i * PAGE, PAGE, PROT_READ) == 0, "mprotect");
	return at;
}

static void many_regions(void)
{
	p = regions();
}

static void protect_many(void)
{
	must(mprotect(p, 2 * REGIONS * PAGE, PROT_READ) == 0, "mprotect, many regions");
}

static void no_fork_many(void)
{
	must(madvise(p, 2 * REGIONS * PAGE, MADV_DONTFORK) == 0, "madvise, many regions");
}

static void unmap_many(void)
{
	munmap(p, 2 * REGIONS * PAGE);
}

/* A child with that much memory ends, or executes a program first. */
static void in_child(size_t length, const char *program)
{
	pid_t child = fork();

	must(child >= 0, "fork");
	if (child == 0) {
		if (length > 0)
			(void)memory(length, 1);
		if (program)
			execl(program, program, NULL);
		_exit(program != NULL);
	}
	waitpid(child, NULL, 0);
}

static void fork_and_wait(void)
{
	in_child(0, NULL);
}

static void exit_large(void)
{
	in_child(large, NULL);
}

static void exec_large(void)
{
	in_child(large, "/bin/true");
}

const struct gap memory_calls[] = {
	{ "munmap", touched, unmap, NULL },
	{ "mmap-populate", NULL, populate, unmap },
	{ "mmap-populate-shared", NULL, populate_shared, unmap },
	{ "munmap-shared", populate_shared, unmap, NULL },
	{ "mmap-over", touched, map_over, unmap },
	{ "mlock", untouched, lock, unmap },
	{ "mlockall", untouched, lock_all, unmap },
	{ "mprotect", touched, protect, unmap },
	{ "madvise-dontneed", touched, drop, unmap },
	{ "madvise-free", touched, release, unmap },
	{ "mincore", touched, resident, unmap },
	{ "mincore-sparse", sparse, resident_sparse, unmap_sparse },
	{ "brk", break_up, break_down, NULL },
	{ "mremap-move", move_begin, move, move_end },
	{ "mremap-shorter", touched, shrink, NULL },
	{ "mprotect-regions", many_regions, protect_many, unmap_many },
	{ "madvise-regions", many_regions, no_fork_many, unmap_many },
	{ "munmap-regions", many_regions, unmap_many, NULL },
	{ "fork", touched, fork_and_wait, unmap },
	{ "fork-regions", many_regions, fork_and_wait, unmap_many },
	{ "exit", NULL, exit_large, NULL },
	{ "execve", NULL, exec_large, NULL },
	{ NULL, NULL, NULL, NULL },
};
