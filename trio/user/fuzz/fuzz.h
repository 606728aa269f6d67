/* fuzz.h: what the parts of the fuzzer share. Call number `k` of process `p` under seed `s` depends on these three
 * alone, and so do the choices of sequence number `k`, so that any can be repeated (--from). */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <sys/types.h>

/* The memory for arguments of calls. A process reports its progress through the page at SHARED_AT, which calls never
 * get. */
#define SHARED_AT 0x0f0000000000ul
#define ARENA_AT 0x100000000000ul
#define ARENA_PAGES 32
#define FUZZ_PAGE 4096ul

#define DATA_FD 3 /* a file with as many bytes as the arena */
#define PROCESSES_MOST 64
#define ORDINARY 65534 /* the user that root becomes where an ordinary one is needed */

struct call {
	long number;
	unsigned long argument[6];
};

/* The command line, and the kind of system. */
extern struct options {
	uint64_t seed, calls, sequences, from;
	unsigned processes;
	int log, beat, on_trio, root;
	const char *only; /* the only sequence to run; NULL: all in turn */
} o;

/* values.c: random values; random_from() restarts the generator */
void random_from(uint64_t seed);
uint64_t next(void);
unsigned long below(unsigned long n);
unsigned long size_around(void), count_around(void);
unsigned long length(void), wild(void), buffer(void), flags(void), protection(void), mapping(void), path(void),
	any(void);

/* calls.c */
void random_call(struct call *, uint64_t seed, unsigned process, uint64_t k, int on_trio);

/* arena.c: fills the arena with words that calls can use, among them messages and vectors */
void fill_arena(uint64_t seed);
unsigned long message_in_arena(void), vector_in_arena(void);

/* known.c: a letter for each argument, explained there */
const char *kinds_of(long number);
int is_excluded(long number, int on_trio);

/* worker.c: makes the calls from `from` to before `to`, then ends by _exit. `log`: a descriptor for a line about each
 * call, or -1. */
#define ERRORS 136
/* The progress of a process, in memory shared with the supervisor. */
struct progress {
	volatile uint64_t next;           /* the first call that was not started */
	volatile uint64_t errors[ERRORS]; /* calls by errno; 0: no error; the last: any other */
};
struct work {
	uint64_t seed, from, to;
	unsigned process;
	int on_trio, ordinary, log;
	struct progress *progress;
};
void work(const struct work *) __attribute__((noreturn));

/* supervise.c: makes all calls. Returns 0, 1 if pages are missing, 2 if it cannot run. */
int make_calls(void);

/* sequences.c: makes all sequences. Returns 0, or 1 if an invariant does not hold. */
int make_sequences(void);

/* pages.c: helpers for counting free pages. */
void use_all_tasks(void);
long cached_pages(void);
/* Removes sets of semaphores, which outlive their makers. */
void remove_sets(void);

extern volatile int stopped;   /* the signal that asked the program to stop */
extern volatile pid_t at_work; /* the process to pass that signal to; 0: none */

#endif
