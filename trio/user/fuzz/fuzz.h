/* fuzz.h: what the parts of the fuzzer share. Call number `k` of process `p` under seed `s` is a function of these
 * three alone, and so is what sequence number `k` chooses, so that any can be made again (--from). */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <sys/types.h>

/* The memory that calls are given: never the page through which a process tells how far it is, which lies below. */
#define SHARED_AT 0x0f0000000000ul
#define ARENA_AT 0x100000000000ul
#define ARENA_PAGES 32
#define FUZZ_PAGE 4096ul

#define DATA_FD 3 /* a file with as many bytes as the arena */
#define PROCESSES_MOST 64
#define ORDINARY 65534 /* whom root becomes where an ordinary user is needed */

struct call {
	long number;
	unsigned long argument[6];
};

/* The command line, and where this runs. */
extern struct options {
	uint64_t seed, calls, sequences, from;
	unsigned processes;
	int log, beat, on_trio, root;
	const char *only; /* the one sequence to be made; NULL: each in its turn */
} o;

/* values.c: of the generator, which random_from() starts anew */
void random_from(uint64_t seed);
uint64_t next(void);
unsigned long below(unsigned long n);
unsigned long size_around(void), count_around(void);
unsigned long length(void), wild(void), buffer(void), flags(void), protection(void), mapping(void), path(void),
	any(void);

/* calls.c */
void random_call(struct call *, uint64_t seed, unsigned process, uint64_t k, int on_trio);

/* arena.c: fills it with words that lead on, messages and vectors among them */
void fill_arena(uint64_t seed);
unsigned long message_in_arena(void), vector_in_arena(void);

/* known.c */
/* A letter an argument; known.c tells of them. */
const char *kinds_of(long number);
int is_excluded(long number, int on_trio);

/* worker.c: does the calls from `from` to before `to`; ends by _exit. `log`: a descriptor to tell each call on; or
 * -1. */
#define ERRORS 136
/* How far a process is, in memory shared with the supervisor. */
struct progress {
	volatile uint64_t next;           /* the first call that was not begun */
	volatile uint64_t errors[ERRORS]; /* calls by errno; 0: no error; the last: any other */
};
struct work {
	uint64_t seed, from, to;
	unsigned process;
	int on_trio, ordinary, log;
	struct progress *progress;
};
void work(const struct work *) __attribute__((noreturn));

/* supervise.c: all that was asked for; 0, 1: pages are missing, 2: it cannot. */
int make_calls(void);

/* sequences.c: the same of sequences; 1: an invariant does not hold. */
int make_sequences(void);

/* pages.c: what is free in the end. */
void use_all_tasks(void);
long cached_pages(void);
/* Sets of semaphores outlive who made them. */
void remove_sets(void);
long now_ms(void);

extern volatile int stopped;   /* the signal that asked us to stop */
extern volatile pid_t at_work; /* the process that is told of it; 0: none */

#endif
