/* sequences.h: what sequences share. A sequence makes a few dozen calls by several processes and threads, whose order
 * and sizes are random, and checks its own invariants. It runs in a process and an empty folder of its own. */
#ifndef SEQUENCES_H
#define SEQUENCES_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>
#include "../common/common.h"

/* musl has no header with these. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

struct sequence {
	const char *name;
	void (*run)(void);
};
extern const struct sequence sequences[];
extern const unsigned sequence_count;

/* check.c: prints the sequence's number, its name and a sentence, and ends this process: something does not hold. */
void broken(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define HOLDS(condition)       \
	((condition) ? (void)0 \
		     : broken("%s:%d: %s does not hold (%s)", __FILE__, __LINE__, #condition, strerror(errno)))
#define STATUS_BROKEN 99
extern const char *sequence_now; /* its printed number, name and user */

pid_t fork_one(void);
/* Starts a child that runs a statement, at whose end it leaves with 0. */
#define START_CHILD(pid) for ((pid) = fork_one(); (pid) == 0; _exit((pid) = 0))
/* Waits for the process, which must have left with 0, or was killed if `may_be_killed`. */
void reap(pid_t, int may_be_killed);
void sleep_us(unsigned long);
pthread_t thread_of(void *(*run)(void *), void *with);
void join(pthread_t);
/* Makes a file with known bytes, open for reading and writing. */
int file_with(const char *name, size_t n, unsigned long seed);
char *room(size_t, int prot, int kind); /* an anonymous mapping, private or shared */
unsigned open_descriptors(void);
int send_rights(int to, int fd, size_t count); /* a byte with `fd` beside it, at most 256 times; 0, or -1 and errno */

/* The sequences by file; each has its function's name. */
/* spaces.c */
void protections(void), unmap_under_read(void), remap_under_touch(void), protect_under_copy(void), futex_unmap(void);
/* models.c */
void space_model(void), shared_pages(void);
/* messages.c */
void packets(void), rights(void), cycles(void), chains(void), passing(void);
/* inet.c */
void inet_streams(void), inet_ends(void), inet_datagrams(void);
/* crowds.c */
void exit_of_waiting(void), fork_among_threads(void), flock_waiters(void);
/* kills.c */
void kill_in_pipeline(void), pipe_crowd(void), kill_anywhere(void), semaphore_undo(void);
/* contents.c */
void file_model(void), mapped_file(void), vectors(void), names(void);

#endif
