/* hostile.h: a service that is wrong on purpose: its own program, linked with these files, which stand between it and
 * the kernel (ld --wrap), so that it works as ever and harms between its real requests. */
#ifndef TRIO_HOSTILE_H
#define TRIO_HOSTILE_H

#include "message.h"
#include "text.h"

/* What a program says, in a name, in bytes that are written, or in a register, for the harm to begin. */
#define WORD_TEXT "HOSTILE!"
#define WORD_NUMBER 0x48535421UL
/* To the console, which sees no bytes: so many of them. */
#define WORD_LENGTH 77

enum { KIND_REFUSED, KIND_RANDOM, KIND_FATAL, KIND_LIES };

/* The test writes it into the kernel's file, where it finds the mark. */
struct orders {
	char mark[16];
	uint64_t kind;
	/* Of fatal ones the name within fatal.c's table; of random ones how many, and from which seed. */
	char which[24];
	uint64_t seed, count;
	/* A bit a call of the kernel's that the service may make: those are not attacks. */
	uint64_t kernel;
	/* Whether a notification is enough for it to begin: nobody calls rs. */
	uint64_t by_notification;
};
extern const volatile struct orders orders;

int64_t __real_trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c);
int64_t __wrap_trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c);
#define TRAP(number, a, b, c) __real_trap_kernel(number, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))
uint64_t __wrap_reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs);
int64_t __wrap_copy_directly(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind);

/* A trap with all registers that may have words in them; they are what comes back. */
int64_t trap_by_registers(uint64_t number, uint64_t words[REGISTER_WORDS]);
/* The same with a wait: what came, if anything did, is the service's next. */
void reply_by_registers(uint64_t whom, int64_t result, const uint64_t outs[REGISTER_WORDS - 2]);

/* A message came, and it is the service's turn; it was answered. */
void refused_came(const struct incoming *in);
void refused_answered(void);
/* It has nothing to do, and would wait. */
void refused_waits(void);
void random_came(const struct incoming *in);
void random_waits(void);
/* Some of its answers are others than it had. */
void lie(uint64_t trap, uint64_t a, uint64_t b);
/* The same of one in registers, that waits; true: it was replied. */
bool lie_waits(uint64_t whom, int64_t result, const uint64_t *words);
void fatal_came(const struct incoming *in);

/* powers.c: with the kernel's calls that the service has a right to. */
void powers_tried(void);

/* What the kernel said to something that it should refuse is a line of the log. */
void outcome(const char *name, int64_t result);
/* What it said to several: the same word, or that all were refused; else what was not. */
#define REFUSED (-4095)
int64_t same(int64_t so_far, int64_t result);
int64_t kernel_call(unsigned call, const uint64_t words[MESSAGE_WORDS], uint64_t *out);

/* The first grant in a message: an entry's id and its length; id 0: there is none. */
struct grant grant_in(const struct message *m);

#endif
