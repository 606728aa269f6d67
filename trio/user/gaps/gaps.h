/* gaps.h: what the measured calls share. */
#ifndef GAPS_H
#define GAPS_H

#include <stddef.h>

/* A call with its largest arguments. `begin` and `end` are not measured; both may be NULL. */
struct gap {
	const char *name;
	void (*begin)(void);
	void (*call)(void);
	void (*end)(void);
};

/* Each table ends with a NULL name. */
extern const struct gap memory_calls[], file_calls[], other_calls[];

/* The size of the largest arguments in bytes: a share of free memory. */
extern size_t large;

/* Ends the program with errno's text unless `ok`. */
void must(int ok, const char *what);
/* Anonymous private memory; `touched`: with all its pages. */
char *memory(size_t length, int touched);

#define PAGE 4096ul
/* Less than Linux's limit for a process. */
#define REGIONS 60000ul
/* So many regions, of which every second one is a page with another protection. */
char *regions(void);

#endif
