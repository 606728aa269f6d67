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

/* struct msghdr as the kernel has it, without libc's changes. */
struct kernel_msghdr {
	void *name;
	unsigned name_length;
	struct iovec *parts;
	size_t part_count;
	void *control;
	size_t room;
	int flags;
};

/* A byte of a local socket with descriptors beside it: sends them, and returns what sendmsg returns; receives them, and
 * returns their number, or -1 without a byte or with more than `most`. */
enum { RIGHTS_MOST = 253 }; /* SCM_MAX_FD */
long send_fds(int socket, const int *fds, size_t count);
long take_fds(int socket, int *fds, size_t most, int flags);

long now_ms(void); /* CLOCK_MONOTONIC */

/* Fills with bytes known from `seed`; checks whether they are these. */
char *fill(char *at, size_t n, unsigned long seed);
int filled(const char *at, size_t n, unsigned long seed);

#endif
