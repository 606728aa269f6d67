/* common.h: what the test programs share. */
#ifndef COMMON_H
#define COMMON_H

#include <stddef.h>

/* Removes a file, or a directory with all below it, whatever their modes. What cannot be removed stays. */
void remove_tree(const char *name);
/* The numbers of free pages and of pages promised to programs, from Trio's /proc/trio/counters; -1 on another
 * kernel. */
struct pages {
	long free, promised;
};
struct pages pages_now(void);
/* Whether fewer pages are free than before, or more are promised. */
int pages_missing(struct pages before, struct pages after);
/* Waits until no page is missing, for at most half a second: a killed process may still have to end a call. */
struct pages pages_settled(struct pages before);

long now_ms(void); /* CLOCK_MONOTONIC */

/* Fills with bytes known from `seed`; checks whether they are these. */
char *fill(char *at, size_t n, unsigned long seed);
int filled(const char *at, size_t n, unsigned long seed);

#endif
