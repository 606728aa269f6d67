/* fuzz.h: what the parts of the fuzzer share. Call number `k` of process `p` under seed `s` is a function of these
 * three alone, so that any can be made again (--from). */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>

/* The memory that calls are given: never the page through which a process tells how far it is, which lies below. */
#define SHARED_AT 0x0f0000000000ul
#define ARENA_AT 0x100000000000ul
#define ARENA_PAGES 32
#define FUZZ_PAGE 4096ul

struct call {
	long number;
	unsigned long argument[6];
};

/* How far a process is, in memory shared with the supervisor. */
#define ERRORS 136
struct progress {
	volatile uint64_t next;           /* the first call that was not begun */
	volatile uint64_t errors[ERRORS]; /* calls by errno; 0: no error; the last: any other */
};

/* calls.c */
void random_call(struct call *, uint64_t seed, unsigned process, uint64_t k, int on_trio);
void fill_arena(uint64_t seed);
extern const char *const paths[]; /* relative names; NULL ends them */

/* known.c */
/* A letter an argument; known.c tells of them. */
const char *kinds_of(long number);
int is_excluded(long number, int on_trio);

/* worker.c: does the calls from `from` to before `to`; ends by _exit. `log`: a descriptor to tell each call on; or
 * -1. */
struct work {
	uint64_t seed, from, to;
	unsigned process;
	int on_trio, ordinary, log;
	struct progress *progress;
};
void work(const struct work *) __attribute__((noreturn));

#endif
