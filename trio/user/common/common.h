/* common.h: what the test programs share. */
#ifndef COMMON_H
#define COMMON_H

/* Removes a file, or a folder with all below it, whatever their modes. What cannot be removed stays. */
void remove_tree(const char *name);
/* The machine's pages that are free and that are promised to programs, as Trio's /proc/trio/counters tells them; -1 on
 * another kernel. */
struct pages {
	long free, promised;
};
struct pages pages_now(void);
/* Fewer are free than before, or more promised. */
int pages_missing(struct pages before, struct pages after);
/* As they are once none is missing, or after half a second: what was killed may still have a call to end. */
struct pages pages_settled(struct pages before);

#endif
