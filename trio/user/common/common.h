/* common.h: what the test programs share. */
#ifndef COMMON_H
#define COMMON_H

/* Removes a file, or a folder with all below it, whatever their modes. What cannot be removed stays. */
void remove_tree(const char *name);
/* The machine's free pages as Trio's /proc/trio/counters tells them; -1 on another kernel. */
long free_pages(void);
/* The same, once there are so many, or after half a second: what was killed may still have a call to end. */
long free_pages_at_least(long wanted);

#endif
