/* spaces.c: sequences about address spaces: odd protections, and mappings that change during a call or an access. */
#include "fuzz.h"
#include "sequences.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE FUZZ_PAGE
#define SOME 5
#define WORDS "words"

/* Checks what the kernel reads from a page with that protection. Whether an execute-only page is readable depends on
 * the processor. */
static int may_be_taken(long got, int prot)
{
	if (got < 0)
		return errno == EFAULT && !(prot & (PROT_READ | PROT_WRITE));
	return got == SOME && prot != PROT_NONE;
}

static void taken_from(char *at, int prot, const int *ends)
{
	char got[SOME];
	long n = write(ends[1], at, SOME);

	HOLDS(may_be_taken(n, prot));
	if (n > 0)
		HOLDS(read(ends[0], got, SOME) == SOME);
}

/* What the kernel cannot write stays in the pipe. */
static void given_to(char *at, int prot, const int *ends)
{
	char got[SOME];
	long n;

	HOLDS(write(ends[1], WORDS, SOME) == SOME);
	n = read(ends[0], at, SOME);
	if (prot & PROT_WRITE) {
		HOLDS(n == SOME);
		HOLDS(write(ends[1], at, SOME) == SOME);
	} else {
		HOLDS(n < 0 && errno == EFAULT);
	}
	HOLDS(read(ends[0], got, SOME) == SOME);
	HOLDS(memcmp(got, WORDS, SOME) == 0);
}

/* Access by a program, which a signal may end. */
static void touched(volatile char *at, int prot)
{
	int store = (int)below(2), status, wanted = store ? prot & PROT_WRITE : prot & (PROT_READ | PROT_WRITE);
	pid_t pid;

	START_CHILD (pid) {
		if (store)
			*at = 1;
		else
			(void)*at;
	}
	HOLDS(waitpid(pid, &status, 0) == pid);
	if (store || prot != PROT_EXEC)
		HOLDS(wanted ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void used_by_all(char *at, int prot, const int *ends)
{
	for (unsigned i = 1 + (unsigned)below(4); i > 0; i--)
		switch (below(4)) {
		case 0:
			touched(at, prot);
			break;
		case 1:
			given_to(at, prot, ends);
			break;
		default:
			taken_from(at, prot, ends);
		}
}

/* Memory of every kind with every protection, used by the kernel and by programs. */
void protections(void)
{
	static const int kinds[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED };
	int fd = file_with("data", 4 * PAGE, 1), ends[2];

	HOLDS(pipe(ends) == 0);
	for (int round = 0; round < 24; round++) {
		int kind = kinds[below(4)], prot = (int)protection();
		size_t size = (1 + below(4)) * PAGE;
		char *at = mmap(NULL, size, prot, kind, kind & MAP_ANONYMOUS ? -1 : fd, 0);

		HOLDS(at != MAP_FAILED);
		used_by_all(at + below(size - SOME), prot, ends);
		prot = (int)protection();
		HOLDS(mprotect(at, size, prot) == 0);
		used_by_all(at + below(size - SOME), prot, ends);
		HOLDS(munmap(at, size) == 0);
	}
}

static struct {
	int fd;
	char *at;
	size_t size;
	volatile long got;
	volatile int stop;
} under; /* what a thread uses while another changes it */

static void *reads(void *with)
{
	under.got = read(under.fd, under.at, under.size);
	if (under.got < 0)
		under.got = -errno;
	return with;
}

static void taken_away(char *at)
{
	switch (below(4)) {
	case 0:
		HOLDS(munmap(at, PAGE) == 0);
		break;
	case 1:
		HOLDS(mprotect(at, PAGE, below(2) ? PROT_READ : PROT_NONE) == 0);
		break;
	case 2:
		HOLDS(mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
		break;
	default:
		HOLDS(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room(PAGE, PROT_NONE, MAP_PRIVATE)) !=
		      MAP_FAILED);
	}
}

/* Bytes that a read cannot store remain for the next one. */
void unmap_under_read(void)
{
	char sent[PAGE], got[PAGE];

	for (int round = 0; round < 6; round++) {
		unsigned long seed = next();
		int ends[2];
		pthread_t reader;

		HOLDS(pipe(ends) == 0);
		under.fd = ends[0];
		under.size = 1 + size_around() % PAGE;
		under.at = room(PAGE, PROT_READ | PROT_WRITE, below(2) ? MAP_PRIVATE : MAP_SHARED);
		fill(sent, under.size, seed);
		reader = thread_of(reads, NULL);
		sleep_us(below(1500));
		taken_away(under.at);
		HOLDS(write(ends[1], sent, under.size) == (long)under.size);
		join(reader);
		HOLDS(under.got == (long)under.size || under.got == -EFAULT);
		if (under.got < 0) {
			HOLDS(read(ends[0], got, sizeof got) == (long)under.size);
			HOLDS(filled(got, under.size, seed));
		}
		close(ends[0]);
		close(ends[1]);
	}
}

static char *volatile place;
static volatile int wrong_byte;
static sigjmp_buf again;

static void missed(int signal)
{
	siglongjmp(again, signal);
}

static void *touches(void *with)
{
	volatile unsigned turn = 0;

	while (!under.stop) {
		const volatile char *at = place;

		if (sigsetjmp(again, 1) == 0)
			for (size_t i = 0; i < 4; i++)
				wrong_byte |= at[i * PAGE] != (char)(i + 1);
		if (++turn % 64 == 0)
			sched_yield();
	}
	return with;
}

/* Pages move, grow and shrink while a thread reads them. It finds what was written, or faults. */
void remap_under_touch(void)
{
	char *other = room(64 * PAGE, PROT_NONE, MAP_PRIVATE);
	struct sigaction action = { .sa_handler = missed };
	size_t size = 8 * PAGE;
	pthread_t toucher;

	HOLDS(sigaction(SIGSEGV, &action, NULL) == 0);
	place = room(size, PROT_READ | PROT_WRITE, below(2) ? MAP_PRIVATE : MAP_SHARED);
	for (size_t i = 0; i < 4; i++)
		place[i * PAGE] = (char)(i + 1);
	toucher = thread_of(touches, NULL);
	for (int round = 0; round < 40; round++) {
		size_t wanted = (4 + below(5)) * PAGE;
		char *to = place == other ? other + 32 * PAGE : other, *got;

		if (below(2))
			got = mremap(place, size, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		else
			got = mremap(place, size, wanted < size ? wanted : size, MREMAP_MAYMOVE);
		HOLDS(got != MAP_FAILED);
		size = got == to || wanted < size ? wanted : size;
		place = got;
		sleep_us(below(300));
	}
	under.stop = 1;
	join(toucher);
	HOLDS(!wrong_byte);
}

static void *copies(void *with)
{
	int *files = with;

	for (int round = 0; round < 30; round++) {
		long got = round % 2 ? pread(files[0], under.at, under.size, 0)
				     : pwrite(files[1], under.at, under.size, 0);

		HOLDS(got > 0 || errno == EFAULT);
	}
	under.stop = 1;
	return with;
}

/* Files are read and written while the memory's protection changes. No wrong byte ever appears. */
void protect_under_copy(void)
{
	unsigned long seed = next();
	int files[] = { file_with("from", 16 * PAGE, seed), file_with("to", 16 * PAGE, seed) };
	static char got[16 * PAGE];
	pthread_t copier;

	under.size = sizeof got;
	under.at = room(under.size, PROT_READ | PROT_WRITE, below(2) ? MAP_PRIVATE : MAP_SHARED);
	fill(under.at, under.size, seed);
	copier = thread_of(copies, files);
	while (!under.stop) {
		size_t first = below(16);

		HOLDS(mprotect(under.at + first * PAGE, (1 + below(16 - first)) * PAGE, (int)protection()) == 0);
		sleep_us(below(200));
	}
	join(copier);
	HOLDS(mprotect(under.at, under.size, PROT_READ) == 0);
	HOLDS(filled(under.at, under.size, seed));
	HOLDS(pread(files[1], got, sizeof got, 0) == sizeof got);
	HOLDS(filled(got, sizeof got, seed));
}

static void *waits(void *with)
{
	struct timespec limit = { 0, 30000000 };

	if (syscall(SYS_futex, with, FUTEX_WAIT, 0, &limit, NULL, 0) < 0)
		HOLDS(errno == ETIMEDOUT || errno == EAGAIN || errno == EFAULT || errno == EINTR);
	return NULL;
}

/* A waiter at a word continues, whatever becomes of its page. */
void futex_unmap(void)
{
	for (int round = 0; round < 4; round++) {
		char *at = room(PAGE, PROT_READ | PROT_WRITE, below(2) ? MAP_PRIVATE : MAP_SHARED);
		pthread_t waiting[6];

		for (int i = 0; i < 6; i++)
			waiting[i] = thread_of(waits, at + 64 * below(2));
		sleep_us(below(2000));
		if (below(2))
			syscall(SYS_futex, at, FUTEX_WAKE, (int)below(4), NULL, NULL, 0);
		taken_away(at);
		syscall(SYS_futex, at + 64, FUTEX_WAKE, (int)below(4), NULL, NULL, 0);
		for (int i = 0; i < 6; i++)
			join(waiting[i]);
	}
}
